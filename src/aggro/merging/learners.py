"""Learners and races put together: the same start, the same shape, one result."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.changes import Change, add, apply, change_of, check_mergeable
from aggro.selection.candidates import best_of
from aggro.selection.common import AnyLearner
from aggro.selection.drift import NO_ROWS
from aggro.selection.learners import select
from aggro.selection.search_space import STEP
from aggro.selection.selection import ModelSelection

INFORMATION = 1.0  # the prior of one merge from a blank start


def blank_like(learner: Learner) -> Learner:
    """Return a learner of the same shape that knows nothing: what most models began as."""
    blank = Learner(learner.all_settings, learner.features, learner.classes, learner.dtype)
    blank.representation = learner.representation
    blank.model.set_memory(learner.model.memory)
    if learner.models > 1:
        blank.model.set_unit(learner.model.unit[-1])
    return blank


def merge_learners(
    learners: Sequence[AnyLearner],
    start: AnyLearner | None = None,
    weights: Sequence[float] | None = None,
) -> AnyLearner:
    """Return one learner from several of one shape that began as ``start``, or as nothing."""
    weights = [1.0] * len(learners) if weights is None else weights
    first = learners[0]
    if isinstance(first, ModelSelection):
        return _merge_races([_race(each) for each in learners], start, weights)
    plain = [each for each in learners if isinstance(each, Learner)]
    check_mergeable(first)
    check_alike(plain)
    if start is not None:
        check_alike([first, _learner(start)])
    if len(plain) == 1:
        return copy.deepcopy(plain[0])
    begin = blank_like(plain[0]) if start is None else _learner(start)
    changes = [change_of(begin, each, w) for each, w in zip(plain, weights, strict=True)]
    return apply(begin, total(changes), INFORMATION if start is None else 0.0)


def total(changes: Sequence[Change]) -> Change:
    """Return several changes as one, added in a tree."""
    while len(changes) > 1:
        pairs = [changes[i : i + 2] for i in range(0, len(changes), 2)]
        changes = [reduce(add, pair) for pair in pairs]
    return changes[0]


def check_alike(learners: Sequence[Learner]) -> None:
    """Raise unless all learners are of the same shape."""
    first = learners[0]
    for each in learners[1:]:
        for name in ("features", "classes", "dtype"):
            was, found = getattr(first, name), getattr(each, name)
            if was != found:
                raise ValueError(
                    f"The models differ in their {name}: {was} and {found}; merge models that were "
                    "learned from one start with the same parameters."
                )
        for mine, other in zip(first.all_settings, each.all_settings, strict=False):
            check_same_settings(mine, other)
        if first.models != each.models:
            raise ValueError(
                "The models race different numbers of lanes; call keep_best() on them first."
            )


def check_same_settings(mine: object, other: object) -> None:
    """Raise and name the setting if two differ; the price may: shards learn at a higher one."""
    for name, value in vars(mine).items():
        if name not in ("C",) and value != getattr(other, name):
            raise ValueError(
                f"The models differ in {name}: {value!r} and {getattr(other, name)!r}; merge "
                "models that were learned from one start with the same parameters."
            )


def _learner(start: AnyLearner) -> Learner:
    if not isinstance(start, Learner):
        raise ValueError("The start races lanes and the models do not; give the start they had.")
    return start


def _race(learner: AnyLearner) -> ModelSelection:
    if not isinstance(learner, ModelSelection):
        raise ValueError(
            "Some models select settings and others do not; call keep_best() on all or none."
        )
    return learner


def _merge_races(
    races: Sequence[ModelSelection], start: AnyLearner | None, weights: Sequence[float]
) -> ModelSelection:
    """Merge lane by lane what is still in all races."""
    begun = [race for race in races if race.learners]
    if not begun:
        return copy.deepcopy(races[0])
    if len(begun) == 1 and len(races) == 1:
        return copy.deepcopy(begun[0])
    begin = None if start is None else _race(start)
    votes = [w for race, w in zip(races, weights, strict=True) if race.learners]
    merged = copy.copy(begun[0])
    merged.__setstate__(begun[0].__getstate__())
    merged.learners = []
    for learner in begun[0].learners:
        found = [_place_like(learner, race) for race in begun]
        origin = None if begin is None else _place_like(learner, begin)
        rivals = [each for each in (*found, origin) if each is not None]
        if len(rivals) < len(begun) + (begin is not None):
            continue  # it has left some race: it was far behind
        rivals = common_lanes(rivals) if merged.settings.C == "auto" else rivals
        if rivals:
            start_lanes = rivals.pop() if begin is not None else None
            one = merge_learners(rivals, start_lanes, votes)
            assert isinstance(one, Learner)
            merged.learners.append(one)
    if not merged.learners:
        raise ValueError(
            "The models have no candidate in common any more, because each followed its own rows; "
            "call keep_best(), or train them with aggro.dask, where all have the same candidates."
        )
    _count_again(merged, begun, begin)
    return merged


def _place_like(learner: Learner, race: ModelSelection) -> Learner | None:
    """Return the learner of a race that differs from this one in its values of C alone."""
    for each in race.learners:
        same = each.representation == learner.representation
        if same and replace(each.settings, C=learner.settings.C) == learner.settings:
            return each
    return None


def common_lanes(learners: Sequence[Learner]) -> list[Learner]:
    """Return the learners with the values of C alone that all of them race; none if there is none.

    Grids move by whole steps, so two that have moved apart still share most of their values.
    """
    steps = [[round(math.log(s.C) / STEP, 3) for s in each.all_settings] for each in learners]
    shared = [step for step in steps[0] if all(step in other for other in steps)]
    if not shared:
        return []
    lanes = []
    for each, own in zip(learners, steps, strict=True):
        places = [own.index(step) for step in shared]
        whole = places == list(range(each.models))
        lanes.append(
            each if whole else select(each, places, [each.all_settings[p] for p in places])
        )
    return lanes


def _count_again(
    merged: ModelSelection, races: Sequence[ModelSelection], start: ModelSelection | None
) -> None:
    """Choose the candidate with the best recent record; mistakes and distances add up."""
    before = np.zeros(2) if start is None else _made(start)
    made = before + sum(_made(race) - before for race in races)
    merged.leading = best_of(merged.learners)[0]
    own = merged.learners[merged.leading].model.chosen_record
    merged.counted = (float(made[0] - own[0]), float(made[1] - own[1]))
    sums = merged.learners[merged.leading].model.drift_record
    merged.drift = replace(merged.drift, origin=sums, block=NO_ROWS)


def _made(race: ModelSelection) -> Array:
    return np.array([race.mistakes, race.distance])
