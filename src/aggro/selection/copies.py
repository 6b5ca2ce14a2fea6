"""Models that learn side by side, taken out, doubled or put in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.settings import Settings

TALLIES = ("mistakes", "updates", "last_update", "loss")


def select(learner: Learner, models: Sequence[int], settings: Sequence[Settings]) -> Learner:
    """Return a learner whose model i continues model ``models[i]`` of this one."""
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    source: Any = learner.model  # of the same precision
    new.model.continue_models(source, list(models))
    return new


def begin_anew(learner: Learner, settings: Sequence[Settings]) -> Learner:
    """Return a learner whose weights know nothing, while all that was counted goes on.

    Every model takes over the record of the best one: it is as good as any to begin with.
    """
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    new.model.set_memory(learner.model.memory)
    before, after = learner.state(), new.state()
    best, each = learner.model.chosen, len(before["updates"]) // learner.models
    for name, kind in new.model.layout().items():
        if kind in ("shared", "feature"):
            after[name] = before[name]
        elif kind == "model":
            of_best = before[name].reshape(learner.models, -1)[best]
            after[name].reshape(new.models, -1)[:] = of_best
    for name in TALLIES:
        after[name] = np.tile(before[name][best * each : (best + 1) * each], new.models)
    begin_intercepts(before, after)
    lanes = after["weights"].reshape(new.features, -1)
    _copy_sums(before["weights"].reshape(learner.features, -1), lanes, learner, new)
    new.load_state(after)
    return new


def begin_intercepts(before: dict[str, Array], after: dict[str, Array]) -> None:
    """Let new outputs begin with the constant feature that the first row has told, if it has."""
    if "bias_prior" not in before or before["bias_prior"][0] == 0.0:
        return
    prior = before["bias_prior"][0]  # all outputs have met the same rows
    after["bias_prior"][:] = after["bias_variance"][:] = prior
    for name in after:
        if name.startswith("full_"):
            after[name][-1] = prior


def _copy_sums(source: Array, target: Array, old: Learner, new: Learner) -> None:
    """Class sums lie behind the outputs."""
    had, has = old.outputs * old.models, new.outputs * new.models
    sums = min(old.model.lanes - had, new.model.lanes - has)
    target[:, has : has + sums] = source[:, had : had + sums]
