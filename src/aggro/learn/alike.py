"""What is asked alike of one learner and of a race of several."""

from __future__ import annotations

from aggro.learn.learner import Learner
from aggro.learn.race import AutoLearner

AnyLearner = Learner | AutoLearner


def learners_of(learner: AnyLearner) -> list[Learner]:
    """Return the learner alone, or all that race; none before the first example."""
    return [learner] if isinstance(learner, Learner) else learner.learners


def grow_features(learner: AnyLearner, features: int) -> None:
    """Let features enter that were never seen, with zero weights."""
    for each in learners_of(learner):
        each.model.grow(features)
    if isinstance(learner, AutoLearner):
        learner.features = max(learner.features, features)


def suffered(learner: AnyLearner) -> tuple[float, float]:
    """Return the mistakes, and the distance, of what predicted, each before it was learned."""
    if not isinstance(learner, Learner):
        return learner.mistakes, learner.distance
    mistakes, distance = learner.model.chosen_record
    return mistakes, distance
