"""A learner for given settings: one alone, or a race where something is left to be chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.learn.growth import grow_classes
from aggro.learn.lanes import chosen_of
from aggro.learn.learner import Array, Learner
from aggro.learn.race import AutoLearner
from aggro.rules import Settings, left_open

AnyLearner = Learner | AutoLearner


def make_learner(
    settings: Settings, features: int, outputs: int, dtype: Any = np.float64, seed: int = 0
) -> AnyLearner:
    """Return a learner, or a race of them when something is left to be chosen."""
    kind = AutoLearner if left_open(settings) else Learner
    return kind(settings, features, outputs, dtype, seed)


def grown(learner: AnyLearner, settings: Settings, position: Array, classes: int) -> AnyLearner:
    """Return the same learner, or race, with more classes (see ``grow_classes``)."""
    if isinstance(learner, Learner):
        return grow_classes(learner, settings, position, classes)
    new = AutoLearner(settings, learner.features, classes, learner.dtype, learner.seed)
    for name in ("fixed", "left", "leading", "counted", "next_look"):
        setattr(new, name, getattr(learner, name))
    for old in learner.learners:
        lanes = [chosen_of(s, settings) for s in old.all_settings]
        new.learners.append(grow_classes(old, lanes, position, classes))
    return new
