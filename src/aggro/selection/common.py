"""One interface to a learner and to a model selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, selected_axes

AnyLearner = Learner | ModelSelection
SMALLER = 2  # values of C below the best one that ``fit`` keeps in addition


def make_learner(
    settings: Settings, features: int, outputs: int, dtype: Any = np.float64, seed: int = 0
) -> AnyLearner:
    """Return a learner, or a model selection if some settings are "auto"."""
    kind = ModelSelection if selected_axes(settings) else Learner
    return kind(settings, features, outputs, dtype, seed)


def learners_of(learner: AnyLearner) -> list[Learner]:
    """Return the learner alone, or all of a selection: none before the first example."""
    return [learner] if isinstance(learner, Learner) else learner.learners


def grow_features(learner: AnyLearner, features: int) -> None:
    """Add features, with zero weights."""
    for each in learners_of(learner):
        each.model.grow(features)
    if isinstance(learner, ModelSelection):
        learner.features = max(learner.features, features)


def progressive_loss(learner: AnyLearner) -> tuple[float, float]:
    """Return the mistakes, and the sum of absolute errors, before each example was learned."""
    if not isinstance(learner, Learner):
        return learner.mistakes, learner.distance
    mistakes, distance = learner.model.chosen_record
    return mistakes, distance


def candidate_scores(learner: AnyLearner, rows: _core.Rows) -> dict[int, Array]:
    """Return the scores of the candidates that ``fit`` considers in every pass."""
    if isinstance(learner, ModelSelection):
        return learner.candidate_scores(rows)
    return {0: learner.scores(rows)}


def choose(learner: AnyLearner, candidate: int) -> None:
    """Let this candidate predict."""
    if isinstance(learner, ModelSelection):
        learner.choose(candidate)


def keep_smaller_C(learner: AnyLearner) -> None:
    """Keep some values of C below the best one, which may be better in several passes."""
    if isinstance(learner, ModelSelection):
        learner.below = SMALLER
