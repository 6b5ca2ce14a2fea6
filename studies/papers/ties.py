"""Which of several equally good settings is taken: the one in the middle of their range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

Place = tuple[int, ...]
ROUNDING = 1e-9  # errors are means of counts: less than this is no difference


def tied(errors: ArrayLike) -> list[Place]:
    """Return the places of all settings whose error is the least one."""
    errors = np.asarray(errors, float)
    return [tuple(map(int, place)) for place in np.argwhere(errors <= errors.min() + ROUNDING)]


def middle(places: list[Place]) -> Place:
    """Return the place nearest to the middle of the range of all; of two, the one further up.

    A range is that of each axis by itself, in steps of its grid.
    """
    table = np.array(places, float)
    centre = (table.min(axis=0) + table.max(axis=0)) / 2
    distance = ((table - centre) ** 2).sum(axis=1)
    nearest = [p for p, d in zip(places, distance, strict=True) if d <= distance.min() + 1e-9]
    return max(nearest)


def best(errors: ArrayLike) -> Place:
    """Return the place of the least error, the middle one of several."""
    return middle(tied(errors))
