"""When ``fit`` has made enough passes, and how well a regressor does on rows held out."""

from __future__ import annotations

import numpy as np

from aggro.learner import Array


class Patience:
    """Wait for an improvement; end after so many passes in a row without one.

    A pass improves when its quality is at least the best so far plus ``needed``.

    >>> patience = Patience(needed=0.5, passes=2)
    >>> [patience.ends_with(quality) for quality in (1.0, 1.5, 1.75, 1.875)]
    [False, False, False, True]
    """

    def __init__(self, needed: float, passes: int) -> None:
        self.needed, self.passes = needed, passes
        self.best, self.idle = -np.inf, 0

    def ends_with(self, quality: float) -> bool:
        """Take the quality of a pass; tell whether it was the last one to wait for.

        What is not a finite quality is no improvement.
        """
        improved = quality > -np.inf and quality >= self.best + self.needed
        self.idle = 0 if improved else self.idle + 1
        self.best = max(self.best, quality) if quality == quality else self.best
        return self.idle >= self.passes


class Determination:
    """R² on held-out rows: 1 − mean squared error / variance, both weighted.

    Held-out targets that are all the same have no variance. The unit is then the variance of all
    targets, or, where these are all the same too, the square of the largest.

    >>> quality = Determination(np.array([[2.0], [2.0]]), np.array([[2.0], [2.0], [2.0]]))
    >>> quality(np.array([[2.0], [2.0]])), quality(np.array([[1.0], [1.0]]))
    (1.0, 0.75)
    """

    def __init__(self, truth: Array, values: Array, weights: Array | None = None) -> None:
        self.largest = float(np.abs(values).max()) or 1.0  # squares of huge targets would overflow
        self.truth, everything = truth / self.largest, values / self.largest
        self.weights = weights
        self.unit = _variance(self.truth, weights) or _variance(everything, None) or 1.0

    def __call__(self, scores: Array) -> float:
        """Return the quality of these scores."""
        with np.errstate(over="ignore"):
            errors = ((self.truth - scores / self.largest) ** 2).sum(axis=1)
            return 1 - mean_of(errors, self.weights) / self.unit


def mean_of(numbers: Array, weights: Array | None) -> float:
    """Return the weighted mean; weights that are all zero say nothing.

    >>> mean_of(np.array([1.0, 2.0]), np.array([3.0, 1.0])), mean_of(np.array([1, 2]), np.zeros(2))
    (1.25, 1.5)
    """
    some = None if weights is None or not weights.any() else weights
    return float(np.average(numbers, weights=some))


def _variance(values: Array, weights: Array | None) -> float:
    """Return the variance, summed over columns; exactly 0 if all rows of positive weight agree."""
    there = values if weights is None or not weights.any() else values[weights > 0]
    if (there == there[0]).all():
        return 0.0  # the mean of equal numbers may be rounded to another one
    centre = np.array([mean_of(column, weights) for column in values.T])
    return mean_of(((values - centre) ** 2).sum(axis=1), weights)
