"""One race inside the race of representations: the same rows, several metrics, averages and C.

Rows of texts have unit length, and on seven of the tasks of docs/text.md the best C lay between 0.3
and 100: a short grid there is enough to begin with, since it follows its leader. It keeps the
tables small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aggro.learner import Learner
from aggro.selection.candidates import record_of
from aggro.selection.common import AnyLearner, grow_features, learners_of
from aggro.selection.copies import select
from aggro.selection.grids import MOST_VALUES, price, tables_of
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, memory_of, selected_axes

TWO_CLASSES, MORE_CLASSES = range(-3, 5), range(-1, 3)  # in steps from the unit of C


class TextRace(ModelSelection):
    """A race with a short grid; all representations begin anew together (see ``TextLearner``)."""

    def affordable(self, places: Sequence[Settings], spent: int = 0) -> tuple[list[Settings], int]:
        """Return all: the memory is that of all representations (see ``TextLearner``)."""
        return list(places), MOST_VALUES

    def grid(self, place: Settings, steps: int, values: int = MOST_VALUES) -> list[float]:
        """Return a short grid."""
        steps_of_C = TWO_CLASSES if self.outputs == 1 else MORE_CLASSES
        return [price(step + steps) for step in steps_of_C]


def make_race(settings: Settings, outputs: int, dtype: str, seed: int) -> AnyLearner:
    """Return a race, or the one learner that there is when nothing is left to choose."""
    if selected_axes(settings):
        return TextRace(settings, 1, outputs, dtype, seed)
    learner = Learner(settings, 1, outputs, dtype, seed)
    learner.model.set_memory(memory_of(settings))
    return learner


def best_of(race: AnyLearner) -> tuple[float, float]:
    """Return the record of whoever leads a race."""
    return min(map(record_of, learners_of(race)), default=(0.0, 0.0))


def share_drift(races: Sequence[AnyLearner], best: int) -> None:
    """Restart the selection of all representations if that of the best one has detected drift.

    Records that begin at different examples could not be compared.
    """
    source = races[best]
    for race in races:
        if isinstance(race, ModelSelection) and isinstance(source, ModelSelection):
            race.drift = race.drift.decided(source.drift.drifted)


def put_back(race: AnyLearner, known: dict[str, Any]) -> None:
    """Restore a race, except for features that have entered: all learners keep these, unknown."""
    race.__dict__.clear()
    race.__dict__.update(known)
    if isinstance(race, ModelSelection) and race.learners:
        grow_features(race, race.learners[0].features)  # the first one grows first


def bytes_of(learner: Learner, features: int) -> int:
    """Return how much memory the tables of a learner take for so many features."""
    tables = tables_of(learner.settings) * learner.models
    return features * learner.outputs * tables * learner.dtype.itemsize


def winner_of(race: AnyLearner) -> Learner:
    """Return the leader alone, as a learner of its own."""
    if isinstance(race, ModelSelection):
        return race.winner()
    return select(race, [0], [race.settings])
