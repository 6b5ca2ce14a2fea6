"""Models that learn side by side, taken out, doubled or put in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggro.learn.learner import Array, Learner
from aggro.rules import Settings

TALLIES = ("mistakes", "updates", "last_update", "loss")
PER_GROUP = (*TALLIES, "ring_fill", "ring_next", "pool_fill")
PER_MODEL = (
    *("joint_mistakes", "recent_mistakes", "recent_loss"),
    *("turned_mistakes", "turned_recent"),
)
SHARED = (  # by all models
    *("class_", "record", "counters", "late_weight"),
    *("scale_", "target_", "unit", "turned_chosen"),
)
PER_OUTPUT = (
    *("bias", "bias_prior", "bias_variance", "bias_sum", "bias_news"),
    *("ring_bias", "pool_bias", "pool_mean_bias"),
)


def select(learner: Learner, models: Sequence[int], settings: Sequence[Settings]) -> Learner:
    """Return a learner whose model i continues model ``models[i]`` of this one."""
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.model.set_memory(learner.model.memory)
    before, after = learner.state(), new.state()
    source = np.asarray(models)
    outputs = (source[:, None] * learner.outputs + np.arange(learner.outputs)).ravel()
    each = len(before["updates"]) // learner.models
    groups = (source[:, None] * each + np.arange(each)).ravel()
    after.update({name: before[name] for name in after if name.startswith(SHARED)})
    for name in PER_MODEL:
        if name in after:
            after[name] = before[name].reshape(learner.models, -1)[source].ravel()
    for name in PER_GROUP:
        if name in after:
            after[name] = before[name][groups]
    for name in PER_OUTPUT:
        if name in after:
            after[name] = _columns(before[name], learner, outputs).ravel()
    after["mixture"] = before["mixture"].reshape(-1, 6)[outputs].ravel()
    if "pool_key" in after:
        after["pool_key"] = (
            before["pool_key"].reshape(-1, learner.settings.reservoir_size)[groups].ravel()
        )
    for place, group in enumerate(groups):
        if f"full_{group}" in before:
            after[f"full_{place}"] = before[f"full_{group}"]
    _select_lanes(before, after, learner, new, outputs)
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
    after.update({name: before[name] for name in after if name.startswith(SHARED)})
    for name in PER_MODEL:
        if name in after:
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


def _columns(array: Array, learner: Learner, outputs: Array) -> Array:
    return array.reshape(-1, learner.outputs * learner.models)[:, outputs]


def _select_lanes(
    before: dict[str, Array], after: dict[str, Array], old: Learner, new: Learner, outputs: Array
) -> None:
    """Lanes of weights (then sums, then variances), averages, queue and reservoir."""
    had, has = old.outputs * old.models, new.outputs * new.models
    for name in ("weights", "trail", "pool_mean", "news"):
        if name not in after:
            continue
        source = before[name].reshape(old.features, -1)
        target = after[name].reshape(new.features, -1)
        target[:, :has] = source[:, outputs]
        if name != "weights":
            continue
        _copy_sums(source, target, old, new)
        if new.settings.metric == "diagonal":
            target[:, new.model.lanes :][:, :has] = source[:, old.model.lanes :][:, outputs]
    for name in ("ring", "pool"):
        if name in after:
            slots = before[name].reshape(old.features, -1, had)[:, :, outputs]
            after[name] = slots.reshape(-1)


def _copy_sums(source: Array, target: Array, old: Learner, new: Learner) -> None:
    """Class sums lie behind the outputs."""
    had, has = old.outputs * old.models, new.outputs * new.models
    sums = min(old.model.lanes - had, new.model.lanes - has)
    target[:, has : has + sums] = source[:, had : had + sums]
