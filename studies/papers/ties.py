"""Ties between equally good settings: the one in the middle of their range is chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

Place = tuple[int, ...]
ROUNDING = 1e-9  # smaller differences of errors are rounding


def tied(errors: ArrayLike) -> list[Place]:
    """Return the indices of all settings with the least error."""
    errors = np.asarray(errors, float)
    return [tuple(map(int, place)) for place in np.argwhere(errors <= errors.min() + ROUNDING)]


def middle(places: list[Place]) -> Place:
    """Return the index closest to the middle of the range; the higher one of two.

    The range is taken for each axis separately, in steps of its grid.
    """
    table = np.array(places, float)
    centre = (table.min(axis=0) + table.max(axis=0)) / 2
    distance = ((table - centre) ** 2).sum(axis=1)
    nearest = [p for p, d in zip(places, distance, strict=True) if d <= distance.min() + 1e-9]
    return max(nearest)


def best(errors: ArrayLike) -> Place:
    """Return the index of the least error, the middle one of several."""
    return middle(tied(errors))
