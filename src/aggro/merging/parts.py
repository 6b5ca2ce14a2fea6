"""The state of a learner as named parts, each of which merges by one rule.

The core keeps several things in one array, and weights as a mixture. Here every part has one
meaning: weights are explicit, class sums include their rounding error, variances are precisions.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.rules import DERIVED
from aggro.selection.common import AnyLearner, learners_of
from aggro.settings import DIAGONAL, Settings

NAMES = {"average_shift": "average", "bias_sum": "bias_average"}  # of arrays, as parts
PIECES = {  # parts that share an array
    "examples": ("counters", slice(0, 1)),
    "averaged": ("counters", slice(1, 2)),
    "frozen": ("counters", slice(2, 3)),
    "random": ("counters", slice(3, 4)),
    "recent_examples": ("record", slice(0, 1)),
    "chosen_mistakes": ("record", slice(1, 2)),
    "chosen_error": ("record", slice(2, 3)),
    "drift_sums": ("drift", slice(0, -1)),
    "drift_scale": ("drift", slice(-1, None)),
    "unit_seen": ("unit", slice(0, -1)),
    "unit_place": ("unit", slice(-1, None)),
    "class_total_seen": ("class_total", slice(0, 1)),
}
MOMENTS = ("rows", "mean", "spread")
MIXTURE = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)  # of explicit weights


@dataclass
class Parts:
    """The parts of a state by name: ``tables`` have one line per feature."""

    tables: dict[str, Array] = field(default_factory=dict)
    rest: dict[str, Array] = field(default_factory=dict)


def like(
    learner: Learner, settings: Sequence[Settings] | None = None, features: int | None = None
) -> Learner:
    """Return an untrained learner of the same shape, or with other settings or features."""
    features = learner.features if features is None else features
    new = Learner(settings or learner.all_settings, features, learner.classes, learner.dtype)
    new.representation = learner.representation
    new.model.set_memory(learner.model.memory)
    if learner.models > 1:
        new.model.set_unit(learner.model.unit[-1])
    return new


def with_learners(learner: AnyLearner, learners: Sequence[Learner], **changes: Any) -> AnyLearner:
    """Return a copy that consists of other learners."""
    if isinstance(learner, Learner):
        return learners[0]
    selection = copy.copy(learner)
    selection.__dict__.update(changes, learners=list(learners))
    return selection


def take_apart(learner: Learner, own: bool = False) -> Parts:
    """Return the parts of a learner, which is not changed.

    ``own``: the caller owns the learner, whose weights may become explicit; this saves a copy.
    """
    learner = learner if own else copy.deepcopy(learner)
    learner.model.fold()
    state, outputs, parts = learner.state(), learner.outputs * learner.models, Parts()
    kinds, features = learner.model.layout(), learner.features
    cells = state.pop("weights").reshape(features, -1).astype(np.float64, copy=False)
    parts.tables["weights"] = cells[:, :outputs]
    if sums := _sums(learner):
        rounding = state.pop("class_sum_rest", np.zeros(features * sums)).reshape(features, -1)
        parts.tables["class_sums"] = cells[:, outputs : outputs + sums] + rounding
    power, prior = DIAGONAL.get(learner.settings.metric, 1.0), _bias_prior(state)
    if learner.settings.metric in DIAGONAL:
        first = learner.model.columns
        parts.tables["precision"] = cells[:, first : first + outputs] ** -power
    shrunk = state.pop("bias_variance") / prior
    parts.rest["bias_precision"] = (shrunk**-power - 1.0) / prior + 1.0
    for part, (name, piece) in PIECES.items():
        if name in state:
            parts.rest[part] = state[name][piece]
    for name, home in (("scale", parts.tables), ("target", parts.rest)):
        if f"{name}_rows" in state:
            rows, *moments = (state.pop(f"{name}_{each}") for each in MOMENTS)
            count = np.full(len(moments[0]), rows[0])
            home[f"{name}_moments"] = np.column_stack([count, *moments])
    taken = {*DERIVED, *(array for array, _ in PIECES.values())}
    for name, array in state.items():
        part = NAMES.get(name, name)
        if name in taken:
            continue
        if kinds[name] == "column":
            table = array.reshape(features, -1)[:, :outputs]
            parts.tables[part] = table.astype(np.float64, copy=False)
        elif kinds[name] in ("slot", "feature"):
            parts.tables[part] = array.reshape(features, *(-1,) * (kinds[name] == "slot"))
        elif kinds[name] == "matrix":
            parts.rest[part] = np.linalg.inv(square(array))
            _add_prior(parts.rest[part], 1.0 - 1.0 / prior[0], learner)
        else:
            parts.rest[part] = array
    return parts


def put_together(learner: Learner, parts: Parts) -> Learner:
    """Return a learner of the same shape with these parts."""
    new = like(learner)
    state, outputs = new.state(), learner.outputs * learner.models
    power = DIAGONAL.get(learner.settings.metric, 1.0)
    given = parts.tables | parts.rest
    cells = state["weights"].reshape(learner.features, -1)
    cells[:, :outputs] = given.pop("weights")
    for part, (name, piece) in PIECES.items():
        if part in given:
            state[name][piece] = given.pop(part)
    if "class_sums" in given:
        _put_sums(state, cells[:, outputs : outputs + _sums(learner)], given.pop("class_sums"))
    if "precision" in given:
        first = learner.model.columns
        cells[:, first : first + outputs] = given.pop("precision") ** (-1.0 / power)
    prior = _bias_prior(given)
    growth = 1.0 + (given.pop("bias_precision") - 1.0) * prior
    state["bias_variance"] = prior * growth ** (-1.0 / power)
    for name in ("scale", "target"):
        if f"{name}_moments" in given:
            rows, state[f"{name}_mean"], state[f"{name}_spread"] = given.pop(f"{name}_moments").T
            state[f"{name}_rows"][:] = rows[:1]
    state["mixture"] = np.tile(MIXTURE, outputs)
    for name, kind in new.model.layout().items():
        array = given.get(NAMES.get(name, name))
        if array is None:
            continue
        if kind == "column":
            state[name].reshape(learner.features, -1)[:, :outputs] = array
        elif kind == "matrix":
            information = array.copy()
            _add_prior(information, 1.0 / prior[0] - 1.0, learner)
            triangle = np.linalg.inv(information)[np.tril_indices(len(information))]
            state[name] = triangle.astype(learner.dtype)
        else:
            state[name] = array.ravel()
    new.load_state({name: np.ascontiguousarray(array) for name, array in state.items()})
    return new


def _bias_prior(numbers: dict[str, Array]) -> Array:
    """Return the prior variance of each intercept, where it depends on the first row.

    Parts have the precision for a prior of one: each model had a first row of its own, and the
    prior must not be counted once for each of them.
    """
    prior = numbers.get("bias_prior", np.ones(1))
    return np.asarray(np.where(prior > 0, prior, 1.0))


def _add_prior(information: Array, precision: float, learner: Learner) -> None:
    if learner.settings.fit_intercept:
        information[-1, -1] += precision


def square(lower: Array) -> Array:
    """Return the symmetric matrix with this lower triangle, given row by row."""
    size = int((8 * len(lower) + 1) ** 0.5) // 2
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = lower
    return np.asarray(matrix + np.tril(matrix, -1).T)


def _sums(learner: Learner) -> int:
    """Return the number of class sums, their total included."""
    if not any(each.class_mean > 0 for each in learner.all_settings):
        return 0
    return learner.outputs + learner.model.keeps_total


def _put_sums(state: dict[str, Array], cells: Array, sums: Array) -> None:
    """Write the class sums and what follows from them: norms, products, rounding errors."""
    cells[:] = sums
    if "class_sum_rest" in state:
        state["class_sum_rest"] = (sums - cells).astype(cells.dtype).ravel()
    classes = len(state["class_weight_seen"])
    own, total = sums[:, :classes], sums[:, -1]
    if sums.shape[1] == classes:
        total = own.sum(axis=1)
    state["class_sum_norm"] = (own**2).sum(axis=0)
    state["class_sum_cross"] = total @ own
    state["class_total"][1] = total @ total


# -- other shapes --------------------------------------------------------------------------------


def wider(learner: AnyLearner, places: Sequence[Array], widths: Sequence[int]) -> AnyLearner:
    """Return a learner with more features: feature j of representation r is at ``places[r][j]``.

    A feature of place -1 was never used, and is left out.
    """
    learners = [
        _wider(each, places[each.representation][: each.features], widths[each.representation])
        for each in learners_of(learner)
    ]
    changes = {} if getattr(learner, "_encodes", True) else {"features": widths[0]}
    return with_learners(learner, learners, **changes)


def _wider(learner: Learner, places: Array, features: int) -> Learner:
    used = np.flatnonzero(places >= 0)
    if np.array_equal(places[used], used):  # all features keep their places
        wide = copy.deepcopy(learner)
        wide.model.grow(features)
        return wide
    parts, wide = take_apart(learner), like(learner, features=features)
    fresh = take_apart(wide)
    for name, table in parts.tables.items():
        if name == "scale_moments":  # a feature of later rows was zero before
            fresh.tables[name][:, 0] = table[:1, 0]
        fresh.tables[name][places[used]] = table[used]
    every = np.append(places, features)  # the intercept comes last
    for name in [name for name in parts.rest if name.startswith("full_")]:
        inner = every[: len(parts.rest[name])]
        old = np.flatnonzero(inner >= 0)
        fresh.rest[name][np.ix_(inner[old], inner[old])] = parts.rest[name][np.ix_(old, old)]
        parts.rest[name] = fresh.rest[name]
    return put_together(wide, Parts(fresh.tables, parts.rest))


def counting_updates(learner: AnyLearner, mergeable: bool) -> AnyLearner:
    """Return the learner that counts the updates of each weight from here on, or no longer."""
    learners = [_counting_updates(each, mergeable) for each in learners_of(learner)]
    settings = replace(learner.settings, mergeable=mergeable)
    return with_learners(learner, learners, settings=settings)


def _counting_updates(learner: Learner, mergeable: bool) -> Learner:
    if learner.settings.mergeable == mergeable:
        return learner
    new = like(learner, [replace(each, mergeable=mergeable) for each in learner.all_settings])
    known = learner.state()
    new.load_state({name: known.get(name, array) for name, array in new.state().items()})
    return new
