"""A model that learns step by step, and copies that replace it."""

import contextlib
import copy
import pickle
import tempfile
from pathlib import Path
from typing import NamedTuple

import aggro

NOTHING = "nothing"  # no fault


class Difference(AssertionError):
    """A requirement that does not hold."""


class Step(NamedTuple):
    """Learning up to row ``stop`` by ``action``, with a fault before or during it."""

    stop: int
    fault: str
    seed: int
    action: str = "partial_fit"  # or "fit", "warm fit": of all rows up to ``stop``

    def __str__(self):
        return f"{self.action} up to row {self.stop}: {self.fault}"


class Run:
    """A model that learns step by step; ``at`` is the next row of its stream."""

    def __init__(self, adapter, params=None):
        self.adapter, self.at = adapter, 0
        self.model = adapter.setting.make(**(params or {}))

    def perform(self, step):
        """Perform a step."""
        if step.action == "partial_fit":
            self.adapter.learn(self.model, self.at, step.stop)
        else:
            self.adapter.fit(self.model, step.stop, warm=step.action == "warm fit")
        self.at = step.stop


# -- copies ----------------------------------------------------------------------------------


def by_pickle(run, rng):
    run.model = pickle.loads(pickle.dumps(run.model))


def by_deepcopy(run, rng):
    old, run.model = run.model, copy.deepcopy(run.model)
    adapter = run.adapter  # huge rows and old names may be rejected the second time
    rejected = ValueError if adapter.setting.is_narrow or not adapter.data.well_scaled else ()
    with contextlib.suppress(rejected):  # learning with the original must not change the copy
        adapter.learn(old, 0, min(run.at, 3))


def by_file(run, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.aggro"
        aggro.save(run.model, path)
        run.model = aggro.load(path)


COPIES = (by_pickle, by_deepcopy, by_file)


def copies_for(setting):
    """Return the ways to copy a model; a callable kernel cannot be saved."""
    code = callable(setting.params.get("kernel"))
    return [copier for copier in COPIES if not (code and copier is by_file)]
