"""Early stopping: held-out rows, the score on them, and when ``fit`` has made enough passes."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.learner import Array
from aggro.sklearn_api import check_random_state


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
    if weights is None or not weights.any():
        return float(np.mean(numbers))
    return float(np.average(numbers, weights=weights))


def _variance(values: Array, weights: Array | None) -> float:
    """Return the variance, summed over columns; exactly 0 if all rows of positive weight agree."""
    there = values if weights is None or not weights.any() else values[weights > 0]
    if (there == there[0]).all():
        return 0.0  # the mean of equal numbers may be rounded to another one
    centre = np.array([mean_of(column, weights) for column in values.T])
    return mean_of(((values - centre) ** 2).sum(axis=1), weights)


def r2_score(truth: Array, scores: Array, weights: Array | None = None) -> float:
    """Return the mean of R² over the columns; a constant column has 1 if it is met exactly, else 0.

    >>> truth = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> r2_score(truth, truth), r2_score(truth, truth + 1)
    (1.0, -0.25)
    """
    residual = ((truth - scores) ** 2).T
    centre = np.array([mean_of(column, weights) for column in truth.T])
    total = ((truth - centre) ** 2).T
    share = []
    for missed, spread in zip(residual, total, strict=True):
        error, variance = mean_of(missed, weights), mean_of(spread, weights)
        share.append(1 - error / variance if variance else float(error == 0))
    return float(np.mean(share))


def hold_out(count: int, fraction: float, seed: Any, classes: Array | None = None) -> Array:
    """Return the sorted rows to hold out at random, with the shares of the classes if given.

    The rows are those of scikit-learn's ``ShuffleSplit`` and ``StratifiedShuffleSplit``.

    >>> hold_out(10, 0.2, 0).tolist()
    [2, 8]
    >>> hold_out(10, 0.2, 0, np.repeat([0, 1], 5)).tolist()
    [0, 7]
    """
    random, held_out = check_random_state(seed), int(np.ceil(fraction * count))
    kept = count - held_out
    if kept == 0 or (classes is not None and min(held_out, kept) < classes.max() + 1):
        raise ValueError(
            f"validation_fraction={fraction!r} holds {held_out} of {count} rows out; of each class "
            "at least one row must be held out and one learned: give more rows or another fraction."
        )
    if classes is None:
        return np.sort(random.permutation(count)[:held_out]).astype(np.int64)
    sizes = np.bincount(classes)
    if sizes.min() < 2:
        raise ValueError(
            "The least populated class in y has only 1 member, which is too few to hold rows of "
            "each class out; give at least 2 rows of each class, or early_stopping=False."
        )
    members = np.split(np.argsort(classes, kind="mergesort"), np.cumsum(sizes)[:-1])
    learned = _shares(sizes, kept, random)
    tested = _shares(sizes - learned, held_out, random)
    parts = []
    for rows, first, some in zip(members, learned, tested, strict=True):
        parts.append(rows[random.permutation(len(rows))][first : first + some])
    return np.sort(np.concatenate(parts)).astype(np.int64)


def _shares(sizes: Array, draws: int, random: Any) -> Array:
    """Return how many rows of each class to draw, as close as possible to proportional."""
    exact = sizes / sizes.sum() * draws
    counts = np.floor(exact)
    missing = int(draws - counts.sum())
    remainder = exact - counts
    for value in np.sort(np.unique(remainder))[::-1]:
        tied = np.flatnonzero(remainder == value)
        some = min(len(tied), missing)
        counts[random.choice(tied, size=some, replace=False)] += 1
        missing -= some
        if missing == 0:
            break
    rows: Array = counts.astype(int)
    return rows
