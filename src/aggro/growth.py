"""New classes in the middle of a stream: the same learner with more outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.settings import Settings


def grow_classes(
    old: Learner, settings: Settings | Sequence[Settings], position: Array, classes: int
) -> Learner:
    """Return a learner of ``classes`` classes that continues ``old``, which stays as it is.

    ``position[c]`` is the new index of the old class c. A learner of one class has learned it
    against the class to come: the second one finds the model that knew both from the beginning,
    to the last bit. Further classes enter with zero weights (see ``output_map``).
    """
    new = Learner(settings, old.features, classes, old.dtype)
    change = output_map(old.settings, new.settings, position, classes)
    source: Any = old.model  # of the same precision
    new.model.add_classes(source, position.tolist(), change.ravel().tolist())
    return new


def output_map(old: Settings, new: Settings, position: Array, classes: int) -> Array:
    """Return the matrix that turns the outputs of some classes into those of more classes.

    ``position[c]`` is the new index of the old class c. The one output f of a binary model becomes
    the scores -f/2 and +f/2 (one-vs-rest: -f and +f), which keeps its margins; so it is where one
    class is known and f speaks for it, against all that come.
    """
    if len(position) == 1:
        change = np.full((classes, 1), -1.0 if new.multiclass == "ovr" else -1.0 / classes)
        change[position[0]] += 2.0 if new.multiclass == "ovr" else 1.0
        return change if classes > 2 else np.array([[1.0 if position[0] == 1 else -1.0]])
    if old.task == "binary":
        half = 1.0 if new.multiclass == "ovr" else 0.5
        change = np.zeros((classes, 1))
        change[position[0], 0], change[position[1], 0] = -half, half
        return change
    change = np.zeros((classes, len(position)))
    change[position, np.arange(len(position))] = 1.0
    return change
