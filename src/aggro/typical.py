"""A typical example: the mean of some recent ones. Its score tells where a model stands just now.

Which examples are taken, and when their mean is made anew, depends on their number in the stream
alone, so that it does not matter in which calls they come. Estimators hold them as rows, streams as
dicts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro import _core

Array = npt.NDArray[Any]

RECENT = 128  # the most examples whose mean is the typical one
FEWEST = 16  # and how many there are even if
FEATURES = 1024  # they have more features together than this: each of them costs time
EVERY = 8  # examples between two that are taken, once there are enough
LONGEST = 1024  # examples until the mean is made anew


def is_sample(number: int) -> bool:
    """Tell whether the example of this number, counted from zero, is taken."""
    return number < RECENT or number % EVERY == 0


def next_change(met: int, batch: int) -> int:
    """Return after how many examples there is a new mean: at the end of a batch.

    So it is whenever their number has doubled, and later every 1024.

    >>> [next_change(met, 1) for met in (0, 1, 5, 1000, 1024, 1500)]
    [1, 1, 3, 24, 1024, 548]
    >>> next_change(0, 10), next_change(20, 10)
    (10, 20)
    """
    point = 1 << met.bit_length() if met < LONGEST else (met // LONGEST + 1) * LONGEST
    return -(-(point - met) // batch) * batch


def kept(samples: Sequence[Collection[Any]]) -> int:
    """Return how many of the last samples make the typical one, by the features of each."""
    features: set[Any] = set()
    for count, sample in enumerate(reversed(samples[-RECENT:])):
        features.update(sample)
        if count >= FEWEST and len(features) > FEATURES:
            return count
    return min(len(samples), RECENT)


@dataclass(frozen=True)
class Typical:
    """The mean, as values and their features, and the samples likewise; ``met`` counts examples."""

    met: int
    mean: Array
    features: Array
    samples: tuple[tuple[Array, Array], ...] = ()

    @staticmethod
    def of(row: Array, met: int = 0) -> Typical:
        """Return a typical example that is this row, as if it were the mean of so many."""
        one = _row(row.reshape(1, -1), 0)
        return Typical(met, *one, (one,) if met else ())

    def after(self, X: Any, rows: Array, batch: int) -> Typical:
        """Return the typical example after these rows of X, at most until there is a new mean."""
        numbers = range(self.met, self.met + len(rows))
        taken = [row for row, number in zip(rows, numbers, strict=True) if is_sample(number)]
        samples = (*self.samples, *(_row(X, row) for row in taken[-RECENT:]))[-RECENT:]
        new = replace(self, met=self.met + len(rows), samples=samples)
        return new._renewed() if len(rows) == next_change(self.met, batch) else new

    def _renewed(self) -> Typical:
        """Return it with the mean of its samples."""
        samples = self.samples
        highest = max(int(part.max(initial=0)) for part in self.places())
        if highest >= FEATURES:  # else there cannot be too many
            samples = samples[-kept([indices.tolist() for _, indices in samples]) :]
        values, indices = (np.concatenate(part) for part in zip(*samples, strict=True))
        if highest < 16 * len(indices):
            features = np.flatnonzero(np.bincount(indices))
            sums = np.bincount(indices, values)[features]
        else:  # few features of many
            features, places = np.unique(indices, return_inverse=True)
            sums = np.bincount(places, values, minlength=len(features))
        return replace(self, mean=sums / len(samples), features=features)

    def places(self) -> list[Array]:
        """Return the features of the mean and of each sample."""
        return [self.features, *(indices for _, indices in self.samples)]

    def rows(self, features: int) -> _core.Rows:
        """Return the mean as one row for a model of so many features."""
        return _core.Rows(self.mean, self.features, np.array([0, len(self.mean)]), features)


def _row(X: Any, row: int) -> tuple[Array, Array]:
    """Return the values of a row that are not zero, and their features."""
    if hasattr(X, "indptr"):
        part = slice(X.indptr[row], X.indptr[row + 1])
        values, indices = X.data[part], X.indices[part]
        values, indices = values[values != 0], indices[values != 0]
    else:
        indices = np.flatnonzero(X[row])
        values = X[row][indices]
    return values.astype(np.float64), indices.astype(np.int64)
