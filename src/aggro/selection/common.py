"""One interface to a learner and to a model selection."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner
from aggro.selection.feature_maps import FeatureMaps, growth_of, kinds_of
from aggro.selection.search_space import MAPPED_SEARCH_SPACE
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, selected_axes

AnyLearner = Learner | ModelSelection
Place = tuple[int, int]  # learner, and its candidate
Kind = tuple[int, int]  # representation, and place below the best C, of a candidate of ``fit``
SMALLER = 2  # values of C below the best one that ``fit`` keeps in addition


def make_learner(
    settings: Settings,
    features: int,
    outputs: int,
    dtype: Any = np.float64,
    seed: int = 0,
    rows: int = 0,
    mapped: int | None = None,
) -> AnyLearner:
    """Return a learner, or a model selection if some settings are "auto" or features are mapped.

    ``rows`` is the number of rows that are learned in several passes. Only the first ``mapped``
    columns may be mapped, by default all.
    """
    shape = (settings, features, outputs, dtype, seed)
    kinds = kinds_of(settings, features if mapped is None else mapped)
    if kinds != ("linear",):
        growth = growth_of(rows, 1 if settings.task == "binary" else outputs)
        maps = FeatureMaps(kinds, features, dtype, seed, growth, mapped)
        selection = ModelSelection(*shape, representations=maps, space=MAPPED_SEARCH_SPACE)
        grow_features(selection, features)  # of a learner that is there before the first example
        return selection
    return ModelSelection(*shape) if selected_axes(settings) else Learner(*shape)


def features_of(learner: AnyLearner) -> str:
    """Return the setting ``features`` of the model that predicts."""
    if isinstance(learner, Learner):
        return learner.settings.features
    about = learner.representations.descriptions[learner.representation]
    return str(about.get("features", "linear"))


def is_mapped(learner: AnyLearner) -> bool:
    """Return whether some candidates learn non-linear features."""
    return isinstance(learner, ModelSelection) and isinstance(learner.representations, FeatureMaps)


def check_coef(learner: AnyLearner, name: str) -> None:
    """Raise unless the model that predicts has weights of columns, of which ``name`` is one."""
    features = features_of(learner)
    if features != "linear":
        raise AttributeError(
            f"{name} does not exist: the best candidate has features={features!r}, and no weights "
            "of columns. Use features='linear' for a linear model, explain(x) for the "
            "contributions of columns to a prediction, or "
            "sklearn.inspection.permutation_importance for their importance."
        )


def best_alone(selection: ModelSelection) -> AnyLearner:
    """Return the best candidate alone: a learner, with its feature map if it has one."""
    if features_of(selection) == "linear":
        return selection.best_learner()
    alone = copy.copy(selection)
    alone.keep_best()
    return alone


def learners_of(learner: AnyLearner) -> list[Learner]:
    """Return the learner alone, or all of a selection: none before the first example."""
    return [learner] if isinstance(learner, Learner) else learner.learners


def grow_features(learner: AnyLearner, features: int) -> None:
    """Add features, with zero weights."""
    if isinstance(learner, Learner):
        learner.model.grow(features)
        return
    learner.features = max(learner.features, features)
    maps = learner.representations
    if isinstance(maps, FeatureMaps):
        mapped = maps.mapped_of(features)
        if "linear" in maps.kinds and kinds_of(learner.settings, mapped) == ("linear",):
            learner.keep_only(maps.kinds.index("linear"))
        maps = learner.representations
    if isinstance(maps, FeatureMaps):
        maps.grow(features)
        for each in learner.learners:
            each.model.grow(maps.width(each.representation))
        return
    for each in learner.learners:
        each.model.grow(features)


def widened(selection: ModelSelection, features: int) -> ModelSelection:
    """Return a selection with more features.

    With a feature map it is a copy: columns that stay after a failed call would change predictions.
    Without one, the selection itself grows, since features of weight zero have no effect.
    """
    wide = selection
    if is_mapped(selection):
        wide = copy.copy(selection)
        wide.representations = copy.copy(selection.representations)
        wide.learners = copy.deepcopy(selection.learners)
    try:
        grow_features(wide, features)
    except BaseException:  # an interrupt: candidates are of one width
        grow_features(wide, features)
        raise
    return wide


def progressive_loss(learner: AnyLearner) -> tuple[float, float]:
    """Return the mistakes, and the errors of a regression, before each example was learned."""
    if not isinstance(learner, Learner):
        return learner.mistakes, learner.distance
    mistakes, distance = learner.model.chosen_record
    return mistakes, distance


def candidate_scores(learner: AnyLearner, rows: _core.Rows) -> dict[Any, Array]:
    """Return the scores of the candidates that ``fit`` considers in every pass."""
    if isinstance(learner, ModelSelection):
        return learner.candidate_scores(rows)
    return {None: learner.scores(rows)}


def kinds_considered(selection: ModelSelection) -> dict[Kind, Place]:
    """Return the candidates that ``fit`` considers, the one that predicts first.

    Between passes there is one learner of each representation.
    """
    kinds: dict[Kind, Place] = {}
    for place in selection.considered():
        which = selection.learners[place[0]].representation
        kinds[which, sum(known == which for known, _ in kinds)] = place
    return kinds


def choose(learner: AnyLearner, candidate: Any) -> None:
    """Let this candidate predict."""
    if isinstance(learner, ModelSelection):
        learner.choose(candidate)


def keep_smaller_C(learner: AnyLearner) -> None:
    """Keep some values of C below the best one, which may be better in several passes."""
    if isinstance(learner, ModelSelection):
        learner.below = SMALLER


def keep_promising(learner: AnyLearner, qualities: dict[Any, float]) -> Any:
    """Remove candidates that more passes will not make the best; return the place of the best.

    Passes over linear candidates are cheap, and all of them remain.
    """
    if isinstance(learner, ModelSelection) and is_mapped(learner):
        return learner.keep_promising(qualities)
    return max(qualities, key=qualities.__getitem__)
