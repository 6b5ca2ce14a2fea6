"""What models have learned since a common start, as numbers that add up.

The change of a weight is weighted by its *update count*: the number of steps that moved it, or the
precision that it gained. A model that never met a feature then has no influence on its weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.parts import Parts, put_together, take_apart
from aggro.merging.rules import (
    NOT_MERGEABLE,
    Since,
    add_parts,
    apply_part,
    change_of_part,
    is_summed,
    rule_of,
)

COUNTS = {  # the part with the update counts of a part, in any metric
    "weights": ("update_counts", "precision"),
    "average": ("update_counts", "precision"),
    "bias": ("bias_update_counts", "bias_precision"),
    "bias_average": ("bias_update_counts", "bias_precision"),
}
AVERAGE_OF = {"average": "weights", "bias_average": "bias"}
NARROW = 8  # numbers of a line that are added column by column


@dataclass
class Change:
    """What one or several models add to their common start.

    ``tables`` have lines for the features in ``touched`` alone, in rising order. A weighted change
    is four numbers: the change times its update count, the plain change, the count, and the number
    of models with a positive count. While ``counts`` is given, the change is of one model and the
    tables hold plain changes, which takes less than half as many bytes.
    """

    since: Since
    features: int
    touched: Array
    tables: dict[str, Array] = field(default_factory=dict)
    rest: dict[str, Array] = field(default_factory=dict)
    counts: Array | None = None

    @property
    def nbytes(self) -> int:
        """The size when sent."""
        counts = [] if self.counts is None else [self.counts]
        arrays = (self.touched, *self.tables.values(), *self.rest.values(), *counts)
        return int(sum(array.nbytes for array in arrays))

    def lines(self, name: str, weight: float = 1.0) -> Array:
        """Return a table in the form that adds up."""
        table = self.tables[name]
        if self.counts is None or rule_of(name) != "weighted":
            return table
        return _weighted(table, self.counts, weight)

    def renumbered(self, numbers: Array, features: int) -> Change:
        """Return the same change where the touched features have other numbers."""
        order = np.argsort(numbers, kind="stable")
        tables = {name: table[order] for name, table in self.tables.items()}
        counts = None if self.counts is None else self.counts[order]
        return Change(self.since, features, numbers[order], tables, self.rest, counts)


def _weighted(moved: Array, counts: Array, weight: float) -> Array:
    """Return the four numbers of each weighted change; in memory, each of the four is one block."""
    four = np.stack([counts * moved, weight * moved, counts, counts > 0])
    return np.moveaxis(four, 0, -1)


def check_mergeable(learner: Learner) -> None:
    """Raise if a part of a learner cannot be merged, or its updates were not counted."""
    state, s = learner.state(), learner.settings
    for name, why in NOT_MERGEABLE.items():
        if name in state:
            why = why.format(queue=s.queue, forgetting=s.forgetting)
            raise ValueError(f"Such models cannot be merged: {why}.")
    if s.metric == "euclidean" and not s.mergeable:
        raise ValueError(
            "These models did not count the updates of each weight, and a plain mean of weights "
            "learns little from many models; make them with mergeable=True."
        )


# -- one model -----------------------------------------------------------------------------------


def change_of(start: Learner, end: Learner, weight: float = 1.0) -> Change:
    """Return what a learner has learned since the start, its influence multiplied by a weight."""
    check_mergeable(end)
    return change_between(take_apart(start), take_apart(end), end, weight)


def change_between(before: Parts, after: Parts, end: Learner, weight: float = 1.0) -> Change:
    """Return the change between the parts of two learners of the shape of ``end``."""
    old, new = before.rest, after.rest
    examples = float(new["examples"][0] - old["examples"][0])
    averaged = _averaged(new) - _averaged(old)
    since = Since(1.0, examples, averaged, _averaged(old), end.model.memory)
    touched = _touched(before.tables, after.tables)
    was, now = ({n: table[touched] for n, table in p.tables.items()} for p in (before, after))
    change = Change(since, end.features, touched)
    change.tables = _changes(was, now, since)
    change.counts = _counts(was, now, "weights", weight)
    if weight != 1.0:
        change.tables = {name: change.lines(name, weight) for name in change.tables}
        change.counts = None
    change.rest = _changes(old, new, since)
    for name in COUNTS.keys() & change.rest.keys():
        counts = _counts(old, new, name, weight)
        change.rest[name] = _weighted(change.rest[name], counts, weight)
    if end.settings.metric == "full":
        _add_full(change, (before, after), end, weight)
    return change


def _averaged(counters: dict[str, Array]) -> float:
    """Return the weight of all rounds in the average."""
    return float(counters.get("late_weight", counters["averaged"])[0])


def _touched(before: dict[str, Array], after: dict[str, Array]) -> Array:
    """Return the features that changed; the average of others follows from their weights."""
    changed = np.zeros(len(after["weights"]), bool)
    for name, table in after.items():
        if name != "average":
            differs = table != before[name]
            changed |= differs.any(axis=1) if differs.ndim > 1 else differs
    return np.flatnonzero(changed)


def _counts(before: dict[str, Array], after: dict[str, Array], name: str, weight: float) -> Array:
    """Return the update counts since the start of each number of a part."""
    for counts in COUNTS[name]:
        if counts in after:
            return np.asarray(weight * np.maximum(after[counts] - before[counts], 0.0))
    return np.full(after[name].shape, weight)  # a full metric: see below


def _changes(before: dict[str, Array], after: dict[str, Array], since: Since) -> dict[str, Array]:
    """Return the change of each part; of an average, its mean over the rounds since the start."""
    changes = {}
    for name, end in after.items():
        if rule_of(name) == "information":
            continue
        changes[name] = change_of_part(name, before[name], end, since)
        if name in AVERAGE_OF:
            mean = changes[name] / (since.averaged or math.inf)
            changes[name] = mean - before[AVERAGE_OF[name]] * (since.averaged > 0)
    return changes


# -- the sum -------------------------------------------------------------------------------------


def add(*changes: Change) -> Change:
    """Return changes since the same start as one."""
    known = np.zeros(changes[0].features, bool)
    for each in changes:
        known[each.touched] = True
    touched, place_of = np.flatnonzero(known), np.cumsum(known) - 1
    since = reduce(Since.plus, (each.since for each in changes))
    total = Change(since, changes[0].features, touched)
    places = [place_of[each.touched] for each in changes]
    for name in changes[0].tables:
        lines = [each.lines(name) for each in changes]
        total.tables[name] = _add_lines(name, lines, places, len(touched))
    for name in changes[0].rest:
        rest = (each.rest[name] for each in changes)
        total.rest[name] = reduce(partial(add_parts, name), rest)
    return total


def add_in_tree(changes: Sequence[Any], add: Callable[..., Any] = add) -> Any:
    """Return several changes as one, added in pairs."""
    while len(changes) > 1:
        changes = [add(*changes[i : i + 2]) for i in range(0, len(changes), 2)]
    return changes[0]


def _add_lines(name: str, lines: list[Array], places: list[Array], count: int) -> Array:
    """Return the sum of the lines of a table, each at its place; absent lines are zero."""
    columns = list(np.ndindex(lines[0].shape[1:]))
    narrow = lines[0].ndim > 1 and len(columns) <= NARROW
    total = np.zeros((count, *lines[0].shape[1:]), lines[0].dtype, "F" if narrow else "C")
    for each, place in zip(lines, places, strict=True):
        if not is_summed(name):
            wide = np.zeros_like(total)
            wide[place] = each
            total = add_parts(name, total, wide)
        elif narrow:  # much faster
            for column in columns:
                at: Any = (slice(None), *column)
                total[at][place] += each[at]
        else:
            total[place] += each
    return total


# -- applying it ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blend:
    """How weighted changes are applied.

    Parameters
    ----------
    prior : float
        Share of the precision at the start that counts as evidence, too: 0 is the mean by update
        counts, 1 the information form, which adds independent samples and suits one merge from an
        untrained start.
    damping : float
        Shortens the change of weights that few models have updated: by their share, to this power.
    relaxation : float
        Extends the change of weights that r models have updated: by r (1 - 1 / n).
    """

    prior: float = 0.0
    damping: float = 0.0
    relaxation: float = 0.0

    def change(self, four: Array, shards: float, precision: Any = 0.0) -> Array:
        """Return the common change: the mean by update counts, or the plain mean without any."""
        weighted, plain, counts, models = np.moveaxis(four, -1, 0)
        known = self.prior * precision
        total, none = counts + known, plain / shards
        mean = np.divide(weighted + known * plain, total, out=none, where=total > 0)
        if self.damping:
            mean *= (np.maximum(models, 1.0) / shards) ** self.damping
        mean *= 1.0 + self.relaxation * (1.0 - 1.0 / np.maximum(models, 1.0))
        return np.asarray(mean)


MEAN = Blend()


def apply(start: Learner, change: Change, blend: Blend = MEAN) -> Learner:
    """Return the start with the changes of all models."""
    parts, touched = take_apart(start), change.touched
    lines = {name: table[touched] for name, table in parts.tables.items()}
    changes = {name: change.lines(name) for name in change.tables}
    if "average" in parts.tables:  # weights without updates were the same in all rounds
        still = np.ones((start.features, 1))
        still[touched] = 0.0
        parts.tables["average"] += change.since.averaged * parts.tables["weights"] * still
    for name, table in _applied(lines, changes, change.since, blend).items():
        parts.tables[name][touched] = table
    rest = _applied(parts.rest, change.rest, change.since, blend)
    if start.settings.metric == "full":
        _apply_full(parts, rest, change, start, blend.prior)
    parts.rest = rest
    return put_together(start, parts)


def _applied(
    start: dict[str, Array], changes: dict[str, Array], since: Since, blend: Blend
) -> dict[str, Array]:
    """Return parts with their changes."""
    result = dict(start)
    for name, change in changes.items():
        if rule_of(name) == "information":
            continue
        if name not in COUNTS:
            value = apply_part(name, start[name], change, since)
        elif name in AVERAGE_OF:
            mean = start[AVERAGE_OF[name]] + blend.change(change, since.shards)
            value = start[name] + since.averaged * mean
        else:
            counts, precision = COUNTS[name]
            known = 0.0 if counts in start else start.get(precision, 0.0)
            value = start[name] + blend.change(change, since.shards, known)
        result[name] = value.astype(start[name].dtype)
    return result


# -- the full metric -----------------------------------------------------------------------------


def _groups(learner: Learner) -> list[tuple[str, slice]]:
    """Return the name and the outputs of each group of a full metric."""
    count = sum(name.startswith("full_") for name in learner.state())
    each = learner.outputs * learner.models // count
    return [(f"full_{i}", slice(i * each, (i + 1) * each)) for i in range(count)]


def _vectors(parts: Parts, outputs: slice, size: int) -> Array:
    """Return the weights of a group with the intercept, if it has one."""
    both = np.vstack([parts.tables["weights"][:, outputs], parts.rest["bias"][None, outputs]])
    return np.asarray(both[:size])


def _add_full(change: Change, parts: tuple[Parts, Parts], end: Learner, weight: float) -> None:
    """Add the matrices, and the weights of each group multiplied by the precision it gained."""
    before, after = parts
    for name, outputs in _groups(end):
        gained = weight * (after.rest[name] - before.rest[name])
        moved = _vectors(after, outputs, len(gained)) - _vectors(before, outputs, len(gained))
        change.rest[name] = gained
        change.rest[f"{name}_votes"] = np.stack([gained @ moved, weight * moved], axis=-1)
    del change.tables["weights"], change.rest["bias"]


def _apply_full(
    parts: Parts, rest: dict[str, Array], change: Change, start: Learner, prior: float
) -> None:
    """Apply the change that fits all models best, each measured by the precision it gained.

    In directions without updates, a small share of the precision at the start is the prior.
    """
    share = prior or 1.0 / change.since.shards
    for name, outputs in _groups(start):
        votes, gained = change.rest[f"{name}_votes"], change.rest[name]
        known = share * parts.rest[name]
        moved = np.linalg.solve(known + gained, votes[..., 0] + known @ votes[..., 1])
        parts.tables["weights"][:, outputs] += moved[: start.features]
        if len(moved) > start.features:
            rest["bias"][outputs] += moved[start.features]
        rest[name] = parts.rest[name] + gained
