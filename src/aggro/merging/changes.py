"""What a model has learned since a common start, as numbers that add up.

A weight's change votes with its *news*: how many steps moved it, or the precision that it gained.
So a model that never met a feature has no say in it, and one that met it often has more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.parts import Parts, put_together, take_apart
from aggro.merging.table import INFORMATION, REFUSED, VOTE, Since, Sum, rule_of

NEWS = {
    "weights": "update_counts",
    "average": "update_counts",
    "bias": "bias_update_counts",
    "bias_average": "bias_update_counts",
}
PRECISION = {"update_counts": "precision", "bias_update_counts": "bias_precision"}
STARTS = {"average": "weights", "bias_average": "bias"}
SHORT = 8  # numbers of a line that are added column by column


@dataclass
class Change:
    """What one or several models add to their common start.

    ``tables`` hold the lines of the features in ``touched`` alone, in rising order. A vote is four
    numbers: the change times its news, the plain change, the news, and whether there was any. Of
    one model the tables hold the plain change, and ``news`` the rest: less than half as much
    travels, and votes are made when changes are added.
    """

    since: Since
    features: int
    touched: Array
    tables: dict[str, Array] = field(default_factory=dict)
    rest: dict[str, Array] = field(default_factory=dict)
    news: Array | None = None

    @property
    def nbytes(self) -> int:
        """How much travels."""
        news = [] if self.news is None else [self.news]
        arrays = (self.touched, *self.tables.values(), *self.rest.values(), *news)
        return int(sum(array.nbytes for array in arrays))

    def lines(self, name: str, weight: float = 1.0) -> Array:
        """Return a table as it adds up: of one model alone the votes are made here."""
        table = self.tables[name]
        if self.news is None or rule_of(name) is not VOTE:
            return table
        return _votes(table, self.news, weight)


def _votes(moved: Array, news: Array, weight: float) -> Array:
    """Return the four numbers of each vote; in memory each of the four lies by itself."""
    return np.moveaxis(np.stack([news * moved, weight * moved, news, news > 0]), 0, -1)


def change_of(start: Learner, end: Learner, weight: float = 1.0) -> Change:
    """Return what a learner has learned since the start, its votes multiplied by a weight."""
    check_mergeable(end)
    return change_between(take_apart(start), take_apart(end), end, weight)


def change_between(before: Parts, after: Parts, end: Learner, weight: float = 1.0) -> Change:
    """Return the change from some parts to others, both of learners like ``end``."""
    old, new = before.rest, after.rest
    since = Since(
        1.0,
        float(new["examples"][0] - old["examples"][0]),
        _averaged(new) - _averaged(old),
        _averaged(old),
        end.model.memory,
    )
    touched = _touched(before.tables, after.tables)
    was = {name: table[touched] for name, table in before.tables.items()}
    now = {name: table[touched] for name, table in after.tables.items()}
    change = Change(since, end.features, touched)
    change.tables = _changes(was, now, since)
    change.news = _news(was, now, "weights", weight)
    if weight != 1.0:
        change.tables = {name: change.lines(name, weight) for name in change.tables}
        change.news = None
    change.rest = _changes(old, new, since)
    for name in NEWS.keys() & change.rest.keys():
        change.rest[name] = _votes(change.rest[name], _news(old, new, name, weight), weight)
    if end.settings.metric == "full":
        _inform(change, (before, after), end, weight)
    return change


def _averaged(counters: dict[str, Array]) -> float:
    """Return the weight of all rounds in the average."""
    return float(counters.get("late_weight", counters["averaged"])[0])


def add(*changes: Change) -> Change:
    """Return changes since the same start as one."""
    first, known = changes[0], np.zeros(changes[0].features, bool)
    summed = ("shards", "examples", "averaged")
    since = {name: sum(getattr(each.since, name) for each in changes) for name in summed}
    for each in changes:
        known[each.touched] = True
    touched, place_of = np.flatnonzero(known), np.cumsum(known) - 1
    places = [place_of[each.touched] for each in changes]
    everything = Change(replace(first.since, **since), first.features, touched)
    for name in first.tables:
        lines = (each.lines(name) for each in changes)
        everything.tables[name] = _add_lines(name, lines, places, len(touched))
    for name in first.rest:
        rest = [each.rest[name] for each in changes]
        everything.rest[name] = reduce(partial(_add, name), rest)
    return everything


def _add_lines(name: str, lines: Iterable[Array], places: list[Array], count: int) -> Array:
    """Return the sum of the lines of a table, each at its place; what a change has not is zero."""
    total: Array | None = None
    for each, place in zip(lines, places, strict=True):
        if total is None:
            order: Any = "F" if _is_short(each) else "C"
            total = np.zeros((count, *each.shape[1:]), each.dtype, order)
        if _are_summed(name):
            _add_at(total, place, each)
        else:
            wide = np.zeros_like(total)
            wide[place] = each
            total = _add(name, total, wide)
    assert total is not None  # there is at least one change
    return total


def _add_at(total: Array, place: Array, lines: Array) -> None:
    """Add lines at their places, column by column where they are short: that is much faster."""
    if _is_short(lines):
        for column in np.ndindex(lines.shape[1:]):
            of_column = (slice(None), *column)
            total[of_column][place] += lines[of_column]
    else:
        total[place] += lines


def _is_short(lines: Array) -> bool:
    return lines.ndim > 1 and math.prod(lines.shape[1:]) <= SHORT


def apply(
    start: Learner,
    change: Change,
    prior: float = 0.0,
    damping: float = 0.0,
    relaxation: float = 0.0,
) -> Learner:
    """Return the start with the changes of all models.

    ``prior`` tells how much of the precision at the start votes, too: 0 is the mean by news, 1 the
    information form, which adds what independent samples tell, and is for one merge from a start
    that knows little. ``damping`` shortens the change of weights that few models have news about:
    by the share of those that have, to this power. ``relaxation`` lengthens the change of weights
    that several models have news about: r of n models by r (1 - 1 / n).
    """
    parts = take_apart(start)
    how = (change.since, prior, damping, relaxation)
    lines = {name: table[change.touched] for name, table in parts.tables.items()}
    tables = _applied(lines, {name: change.lines(name) for name in change.tables}, *how)
    _average_untouched(parts, change)
    for name, table in tables.items():
        parts.tables[name][change.touched] = table
    rest = _applied(parts.rest, change.rest, *how)
    if start.settings.metric == "full":
        _apply_full(parts, rest, change, start, prior)
    parts.rest = rest
    return put_together(start, parts)


def check_mergeable(learner: Learner) -> None:
    """Raise if something that a learner is made of cannot be merged, or was not counted."""
    state, s = learner.state(), learner.settings
    for name, why in REFUSED.items():
        if name in state:
            raise ValueError(
                f"Such models cannot be merged: "
                f"{why.format(queue=s.queue, forgetting=s.forgetting)}."
            )
    if s.metric == "euclidean" and not s.mergeable:
        raise ValueError(
            "These models did not count how many steps moved each weight, and a plain mean of "
            "weights learns little from many models; make them with mergeable=True."
        )


# -- the parts -------------------------------------------------------------------------------


def _touched(before: dict[str, Array], after: dict[str, Array]) -> Array:
    """Return the features that changed; the average of others follows from their weights."""
    changed = np.zeros(len(after["weights"]), bool)
    for name, table in after.items():
        if name != "average":
            unlike = table != before[name]
            changed |= unlike.any(axis=1) if unlike.ndim > 1 else unlike
    return np.flatnonzero(changed)


def _news(before: dict[str, Array], after: dict[str, Array], name: str, weight: float) -> Array:
    """Return how much news there is about each number of a part."""
    counted = NEWS[name]
    if counted not in after:
        counted = PRECISION[counted]
    if counted not in after:  # a full metric votes in another way
        return np.full(after[name].shape, weight)
    return np.asarray(weight * np.maximum(after[counted] - before[counted], 0.0))


def _changes(before: dict[str, Array], after: dict[str, Array], since: Since) -> dict[str, Array]:
    """Return how each part has changed; what votes, how far it moved."""
    changes = {}
    for name, end in after.items():
        rule = rule_of(name)
        if rule is VOTE:
            changes[name] = _moved(before, end, name, since)
        elif rule is not INFORMATION:
            changes[name] = rule.change(before[name], end, since)
    return changes


def _moved(before: dict[str, Array], end: Array, name: str, since: Since) -> Array:
    """Return how far a part has moved; an average, its mean over the rounds since the start."""
    if name not in STARTS:
        return np.asarray(end - before[name])
    if not since.averaged:
        return np.zeros_like(end)
    return np.asarray((end - before[name]) / since.averaged - before[STARTS[name]])


def _are_summed(name: str) -> bool:
    rule = rule_of(name)
    return rule in (VOTE, INFORMATION) or isinstance(rule, Sum)


def _add(name: str, some: Array, others: Array) -> Array:
    both: Array = some + others if _are_summed(name) else rule_of(name).add(some, others)
    return both


def _applied(
    start: dict[str, Array],
    changes: dict[str, Array],
    since: Since,
    prior: float,
    damping: float,
    relaxation: float,
) -> dict[str, Array]:
    result, shape = {}, (damping, relaxation)
    for name, change in changes.items():
        rule = rule_of(name)
        if rule is INFORMATION:
            continue
        if rule is not VOTE:
            value = rule.applied(start[name], change, since)
        elif name in STARTS:
            mean = start[STARTS[name]] + elected(change, since.shards, 0.0, *shape)
            value = start[name] + since.averaged * mean
        else:
            known = _prior(start, name, prior)
            value = start[name] + elected(change, since.shards, known, *shape)
        result[name] = value.astype(start[name].dtype)
    return start | result


def _prior(start: dict[str, Array], name: str, prior: float) -> Any:
    counted = NEWS[name]
    known = None if counted in start else start.get(PRECISION[counted])
    return 0.0 if known is None or not prior else prior * known


def elected(
    votes: Array, shards: float, prior: Any = 0.0, damping: float = 0.0, relaxation: float = 0.0
) -> Array:
    """Return the change that the votes agree on: the mean by news, or by plain changes without."""
    weighed, plain, news, met = np.moveaxis(votes, -1, 0)
    total = news + prior
    mean = np.divide(weighed + prior * plain, total, out=plain / shards, where=total > 0)
    if damping:
        mean *= (np.maximum(met, 1.0) / shards) ** damping
    mean *= 1.0 + relaxation * (1.0 - 1.0 / np.maximum(met, 1.0))
    return np.asarray(mean)


def _average_untouched(parts: Parts, change: Change) -> None:
    """Weights that nobody moved were the same in all rounds."""
    if "average" in parts.tables:
        parts.tables["average"] += change.since.averaged * parts.tables["weights"]
        touched = change.touched
        parts.tables["average"][touched] -= change.since.averaged * parts.tables["weights"][touched]


# -- the full metric -------------------------------------------------------------------------


def _groups(learner: Learner) -> list[tuple[str, slice]]:
    """Return the name and the outputs of each group of a full metric."""
    names = sorted(
        (name for name in learner.state() if name.startswith("full_")),
        key=lambda name: int(name.removeprefix("full_")),
    )
    each = learner.outputs * learner.models // len(names)
    return [(name, slice(i * each, (i + 1) * each)) for i, name in enumerate(names)]


def _with_bias(weights: Array, bias: Array, outputs: slice, size: int) -> Array:
    both = np.vstack([weights[:, outputs], bias[None, outputs]])
    return np.asarray(both[:size])


def _inform(change: Change, parts: tuple[Parts, Parts], end: Learner, weight: float) -> None:
    """Matrices add; the weights of a group vote with all that its metric has learned."""
    before, after = parts
    for name, outputs in _groups(end):
        gained = weight * (after.rest[name] - before.rest[name])
        size = len(gained)
        moved = _with_bias(after.tables["weights"], after.rest["bias"], outputs, size)
        moved = moved - _with_bias(before.tables["weights"], before.rest["bias"], outputs, size)
        change.rest[name] = gained
        change.rest[f"{name}_votes"] = np.stack([gained @ moved, weight * moved], axis=-1)
    del change.tables["weights"], change.rest["bias"]


def _apply_full(
    parts: Parts, rest: dict[str, Array], change: Change, start: Learner, prior: float
) -> None:
    """The change that fits all models best, each measured in what its metric has learned.

    Directions in which nobody has learned take a little of the start's precision as prior.
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
