"""A learner for given settings: one alone, or a race; and the same with more classes."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from aggro.kernel_learner import KernelLearner
from aggro.learner import Array, Learner
from aggro.selection import ensemble as joint
from aggro.selection.candidates import chosen_of
from aggro.selection.common import AnyLearner
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, selected_axes

Kind = TypeVar("Kind", bound=Learner | ModelSelection | KernelLearner)


def make_learner(
    settings: Settings, features: int, outputs: int, dtype: Any = np.float64, seed: int = 0
) -> AnyLearner:
    """Return a learner, or a race of them when something is left to be chosen."""
    kind = ModelSelection if selected_axes(settings) else Learner
    return kind(settings, features, outputs, dtype, seed)


def grown(learner: Kind, settings: Any, position: Array, classes: int) -> Kind:
    """Return the same learner, of any kind, with more classes (see ``Learner.add_classes``).

    ``settings`` are those of the learner, or of each of its lanes.
    """
    if isinstance(learner, ModelSelection):
        more: Any = _grown_race(learner, settings, position, classes)
    elif isinstance(learner, Learner):
        more = learner.add_classes(settings, position, classes)
    else:
        more = learner.add_classes(settings, position, classes)
    return cast("Kind", more)


def _grown_race(
    race: ModelSelection, settings: Any, position: Array, classes: int
) -> ModelSelection:
    new = type(race)(settings, race.features, classes, race.dtype, race.seed)
    for name in ("fixed", "frozen", "left", "leading", "counted", "drift"):
        setattr(new, name, getattr(race, name))
    new.learners = race.learners
    new.fit_into_memory()  # before they grow
    grown = []
    for old in new.learners:
        lanes = [chosen_of(each, settings) for each in old.all_settings]
        grown.append(old.add_classes(lanes, position, classes))
    new.learners = grown
    new.margin_unit = race.margin_unit if joint.answers(grown) else race.winner_unit
    return new
