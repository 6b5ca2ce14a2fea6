"""Models that learn side by side, taken out, doubled or put in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggro.learn.learner import Array, Learner
from aggro.rules import Settings

TALLIES = ("mistakes", "updates", "last_update", "loss")


def select(learner: Learner, models: Sequence[int], settings: Sequence[Settings]) -> Learner:
    """Return a learner whose model i continues model ``models[i]`` of this one."""
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.model.set_memory(learner.model.memory)
    before, after = learner.state(), new.state()
    source = np.asarray(models)
    outputs = (source[:, None] * learner.outputs + np.arange(learner.outputs)).ravel()
    each = len(before["updates"]) // learner.models
    groups = (source[:, None] * each + np.arange(each)).ravel()
    for name, kind in new.model.layout().items():
        if kind == "lane":
            _select_lanes(before[name], after[name], learner, new, outputs)
        elif kind in ("slot", "output"):  # several classifiers side by side
            after[name] = before[name].reshape(-1, learner.outputs * learner.models)[:, outputs]
        elif kind == "matrix":
            after[name] = before[f"full_{groups[int(name.removeprefix('full_'))]}"]
        elif kind in ("mixture", "group", "model"):
            lines = {"mixture": outputs, "group": groups, "model": source}[kind]
            count = {"mixture": learner.outputs, "group": each, "model": 1}[kind]
            after[name] = before[name].reshape(count * learner.models, -1)[lines]
        else:  # shared by all outputs
            after[name] = before[name]
        after[name] = after[name].ravel()
    new.load_state(after)
    return new


def begin_anew(learner: Learner, settings: Sequence[Settings]) -> Learner:
    """Return a learner whose weights know nothing, while all that was counted goes on.

    Every model takes over the record of the best one: it is as good as any to begin with.
    """
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
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


def _select_lanes(before: Array, after: Array, old: Learner, new: Learner, outputs: Array) -> None:
    """Fill a table of lanes: those of the outputs and, in that of the weights, sums, variances."""
    source, target = before.reshape(old.features, -1), after.reshape(new.features, -1)
    has = new.outputs * new.models
    target[:, :has] = source[:, outputs]
    if source.shape[1] >= old.model.lanes:
        _copy_sums(source, target, old, new)
    if source.shape[1] > old.model.lanes:  # a diagonal metric
        target[:, new.model.lanes :][:, :has] = source[:, old.model.lanes :][:, outputs]


def _copy_sums(source: Array, target: Array, old: Learner, new: Learner) -> None:
    """Class sums lie behind the outputs."""
    had, has = old.outputs * old.models, new.outputs * new.models
    sums = min(old.model.lanes - had, new.model.lanes - has)
    target[:, has : has + sums] = source[:, had : had + sums]
