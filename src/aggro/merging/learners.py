"""Merging learners and model selections of one shape, and one round of distributed training.

A mean of S changes goes as far as one shard went, so each shard learns with √S times C. The limit
in the Euclidean metric is 2 / ‖x‖², above which C changes few steps and only adds the noise of
labels. Newton's metric keeps C, since its precisions are comparable evidence of all shards.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.merging.changes import Blend, Change, add, apply, change_of, check_mergeable
from aggro.selection.candidates import best_of
from aggro.selection.common import AnyLearner, learners_of, progressive_loss
from aggro.selection.drift import NO_ROWS
from aggro.selection.learners import select
from aggro.selection.search_space import STEP
from aggro.selection.selection import ModelSelection
from aggro.settings import METRICS, Settings

WITH_C = (
    *("hinge", "squared_hinge", "least_squares", "scw1", "scw2"),
    *("epsilon_insensitive", "squared_epsilon_insensitive"),
)


# -- other shapes --------------------------------------------------------------------------------


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


def wider(learner: AnyLearner, places: Sequence[Array], widths: Sequence[int]) -> AnyLearner:
    """Return a learner with more features: feature j of representation r is at ``places[r][j]``.

    A feature of place -1 was never used, and is left out.
    """
    learners = []
    for each in learners_of(learner):
        new = like(each, features=widths[each.representation])
        source: Any = each.model  # of the same precision
        own = np.asarray(places[each.representation][: each.features], np.int64)
        new.model.continue_features(source, own)
        learners.append(new)
    changes = {} if getattr(learner, "_encodes", True) else {"features": widths[0]}
    return with_learners(learner, learners, **changes)


def counting_updates(learner: AnyLearner, mergeable: bool) -> AnyLearner:
    """Return the learner that counts the updates of each weight from here on, or no longer."""
    learners = []
    for each in learners_of(learner):
        counting = [replace(s, mergeable=mergeable) for s in each.all_settings]
        learners.append(select(each, range(each.models), counting))
    settings = replace(learner.settings, mergeable=mergeable)
    return with_learners(learner, learners, settings=settings)


# -- rounds --------------------------------------------------------------------------------------


def shard_of(learner: AnyLearner, shards: int, square: float = 1.0) -> AnyLearner:
    """Return a copy that learns one of several shards, with a scaled C.

    ``square`` is the mean of ‖x‖². All shards keep the same candidates until they are merged.
    """
    copies = [copy.deepcopy(each) for each in learners_of(learner)]
    for each in copies:
        each.configure([scaled_C(settings, shards, square) for settings in each.all_settings])
    return with_learners(learner, copies, paused=True)


def scaled_C(settings: Settings, shards: int, square: float = 1.0) -> Settings:
    """Return settings with C times the root of the number of shards, where that matters."""
    metric, C = METRICS[settings.metric], settings.C
    if settings.loss not in WITH_C or metric.prior:
        return settings
    most = 2.0 / max(square, 1e-300) if metric.storage == "euclidean" else math.inf
    return replace(settings, C=max(C, min(C * math.sqrt(shards), most)))


def merge_round(start: AnyLearner, changes: Sequence[Change]) -> AnyLearner:
    """Return the start with the changes of all shards of a round; a selection is evaluated."""
    merged = []
    for each, change in zip(learners_of(start), changes, strict=True):
        metric = METRICS[each.settings.metric]
        prior = 1.0 / change.models if metric.prior else 0.0
        merged.append(apply(each, change, Blend(prior, metric.damping, metric.relaxation)))
    new = with_learners(start, merged)
    if isinstance(new, ModelSelection):
        new.evaluate_if_due()
    return new


# -- models trained separately -------------------------------------------------------------------


def merge_learners(
    learners: Sequence[AnyLearner],
    start: AnyLearner | None = None,
    weights: Sequence[float] | None = None,
) -> AnyLearner:
    """Return one learner from several of one shape that began as ``start``, or untrained."""
    weights = [1.0] * len(learners) if weights is None else weights
    everything = [*learners, *([] if start is None else [start])]
    if len({type(each) for each in everything}) > 1:
        raise ValueError(
            "Some models select settings and others do not; call keep_best() on all or none."
        )
    selections = [each for each in everything if isinstance(each, ModelSelection)]
    if selections:
        origin = selections.pop() if start is not None else None
        return _merge_selections(selections, origin, weights)
    plain = [each for each in everything if isinstance(each, Learner)]
    check_mergeable(plain[0])
    _check_alike(plain)
    if len(learners) == 1:
        return copy.deepcopy(plain[0])
    plain = [copy.deepcopy(each) for each in plain]  # their weights become explicit
    begin = like(plain[0]) if start is None else plain[-1]
    pairs = zip(plain, weights, strict=False)
    changes = [change_of(begin, each, weight) for each, weight in pairs]
    return apply(begin, add(*changes), Blend(prior=float(start is None)))


def _check_alike(learners: Sequence[Learner]) -> None:
    """Raise unless all learners are of the same shape."""
    first = learners[0]
    for each in learners[1:]:
        check_same(_shape(first), _shape(each))
        if first.models != each.models:
            raise ValueError(
                "The models have different numbers of candidates; call keep_best() on them first."
            )


def _shape(learner: Learner) -> dict[str, object]:
    shape = {name: getattr(learner, name) for name in ("features", "classes", "dtype")}
    return vars(learner.settings) | shape


def check_same(
    mine: dict[str, object], other: dict[str, object], free: Sequence[str] = ("C",)
) -> None:
    """Raise and name the setting if two differ; C may, since shards learn with a larger one."""
    for name, value in mine.items():
        if name not in free and value != other.get(name, value):
            raise ValueError(
                f"The models differ in {name}: {value!r} and {other[name]!r}; merge models that "
                "were trained from one start with the same parameters."
            )


def check_labels(mine: bool, others: bool) -> None:
    """Raise if the examples of one model have sets of labels and those of another have not."""
    if mine != others:
        raise ValueError(
            "Some models have learned sets of labels and others one class for each example; merge "
            "models of one kind."
        )


def _merge_selections(
    given: Sequence[ModelSelection], start: ModelSelection | None, weights: Sequence[float]
) -> ModelSelection:
    """Merge the candidates that are left in all selections."""
    begun = [(each, weight) for each, weight in zip(given, weights, strict=True) if each.learners]
    if len(given) == 1 or not begun:
        return copy.deepcopy(given[0])
    selections = [each for each, _ in begun]
    everything = [*selections, *([] if start is None else [start])]
    merged = copy.copy(selections[0])
    merged.__setstate__(selections[0].__getstate__())
    merged.learners = []
    for learner in selections[0].learners:
        found = [_candidate_like(learner, each) for each in everything]
        rivals = [each for each in found if each is not None]
        if len(rivals) < len(everything):
            continue  # it was far behind in some selection
        rivals = common_values_of_C(rivals) if merged.settings.C == "auto" else rivals
        if rivals:
            origin = rivals.pop() if start is not None else None
            one = merge_learners(rivals, origin, [weight for _, weight in begun])
            merged.learners += learners_of(one)
    if not merged.learners:
        raise ValueError(
            "The models have no candidate in common any more, because each followed its own rows; "
            "call keep_best(), or train them with aggro.dask, where all have the same candidates."
        )
    _choose_best(merged, selections, start)
    return merged


def _candidate_like(learner: Learner, selection: ModelSelection) -> Learner | None:
    """Return the learner of a selection that differs from this one in its values of C alone."""
    for each in selection.learners:
        same = each.representation == learner.representation
        if same and replace(each.settings, C=learner.settings.C) == learner.settings:
            return each
    return None


def common_values_of_C(learners: Sequence[Learner]) -> list[Learner]:
    """Return the learners with the values of C that all of them have; none if there is none.

    Grids move by whole steps, so two that have moved apart still share most of their values.
    """
    steps = [[round(math.log(s.C) / STEP, 3) for s in each.all_settings] for each in learners]
    shared = [step for step in steps[0] if all(step in other for other in steps)]
    found = []
    for each, own in zip(learners, steps, strict=True):
        places = [own.index(step) for step in shared]
        if places == list(range(each.models)):
            found.append(each)
        elif places:
            found.append(select(each, places, [each.all_settings[place] for place in places]))
    return found


def _choose_best(
    merged: ModelSelection, selections: Sequence[ModelSelection], start: ModelSelection | None
) -> None:
    """Choose the candidate with the best recent record; mistakes and distances add up."""
    before = np.zeros(2) if start is None else _loss(start)
    loss = before + sum(_loss(each) - before for each in selections)
    merged.leading = best_of(merged.learners)[0]
    best = merged.learners[merged.leading].model
    own = best.chosen_record
    merged.counted = (float(loss[0] - own[0]), float(loss[1] - own[1]))
    merged.drift = replace(merged.drift, origin=best.drift_record, block=NO_ROWS)


def _loss(selection: ModelSelection) -> Array:
    return np.array(progressive_loss(selection))
