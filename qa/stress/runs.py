"""A model on its way through the rows, and the copies that may take its place."""

import contextlib
import copy
import pickle
import tempfile
from pathlib import Path

import aggro


class Difference(AssertionError):
    """Something is not as it must be."""


class Run:
    """A model on its way through the rows."""

    def __init__(self, face):
        self.face, self.model, self.at = face, face.setting.make(), 0

    def learn(self, stop):
        self.face.learn(self.model, self.at, stop)
        self.at = stop


# -- copies ----------------------------------------------------------------------------------


def by_pickle(run, rng):
    run.model = pickle.loads(pickle.dumps(run.model))


def by_deepcopy(run, rng):
    old, run.model = run.model, copy.deepcopy(run.model)
    face = run.face  # huge rows may be refused the second time, and so may names of long ago
    refused = ValueError if face.setting.is_narrow or not face.data.tame else ()
    with contextlib.suppress(refused):  # what the old one learns is no business of the new one
        face.learn(old, 0, min(run.at, 3))


def by_file(run, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.aggro"
        aggro.save(run.model, path)
        run.model = aggro.load(path)


COPIES = (by_pickle, by_deepcopy, by_file)
