"""A typical example: the mean of some recent ones. Its score tells where a model stands just now.

Which examples are taken, and when their mean is made anew, depends on their number in the stream
alone, so that it does not matter in which calls they come. Estimators hold them as rows, streams as
dicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
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
ENTRIES_AT_ONCE = 1 << 20  # of dense rows that are looked through


def is_sample(number: Any) -> Any:
    """Tell whether the example of this number, counted from zero, is taken; also of many."""
    return (number < RECENT) | (number % EVERY == 0)


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


def kept(samples: Iterable[Iterable[Any]]) -> int:
    """Return how many samples make the typical one, by the features of each, the last one first."""
    features: set[Any] = set()
    count = 0
    for sample in samples:
        features.update(sample)
        if count >= FEWEST and len(features) > FEATURES:
            break
        count += 1
    return count


@dataclass(frozen=True)
class ReferenceRow:
    """The mean, as values and their features, and the samples likewise; ``met`` counts examples."""

    met: int
    mean: Array
    features: Array
    samples: tuple[tuple[Array, Array], ...] = ()

    @staticmethod
    def of(row: Array, met: int = 0) -> ReferenceRow:
        """Return a typical example that is this row, as if it were the mean of so many."""
        (one,) = _rows(row.reshape(1, -1), np.zeros(1, np.int64))
        return ReferenceRow(met, *one, (one,) if met else ())

    def after(self, X: Any, rows: Array, batch: int) -> ReferenceRow:
        """Return the typical example after these rows of X."""
        changed = 0  # after how many of them there was a new mean for the last time
        while (next_one := changed + next_change(self.met + changed, batch)) <= len(rows):
            changed = next_one
        new = self._met(X, rows[:changed])._renewed() if changed else self
        return new._met(X, rows[changed:])

    def _met(self, X: Any, rows: Array) -> ReferenceRow:
        """Return it after these rows, of which some are samples, with the same mean."""
        numbers = np.arange(self.met, self.met + len(rows))
        taken = _rows(X, rows[is_sample(numbers)][-RECENT:])
        return replace(self, met=self.met + len(rows), samples=(*self.samples, *taken)[-RECENT:])

    def _renewed(self) -> ReferenceRow:
        """Return it with the mean of its samples."""
        samples = self.samples
        values, indices = (np.concatenate(part) for part in zip(*samples, strict=True))
        highest = int(indices.max(initial=0))
        if min(highest + 1, len(indices)) > FEATURES:  # else there cannot be too many features
            samples = samples[-kept(part.tolist() for _, part in reversed(samples)) :]
            first = len(indices) - sum(len(part) for _, part in samples)
            values, indices = values[first:], indices[first:]
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


def _rows(X: Any, rows: Array) -> list[tuple[Array, Array]]:
    """Return the values of each row that are not zero, and their features."""
    most = RECENT if hasattr(X, "indptr") else max(1, ENTRIES_AT_ONCE // X.shape[1])
    found: list[tuple[Array, Array]] = []
    for start in range(0, len(rows), most):
        some = rows[start : start + most]
        numbers, indices, values = _entries(X, some)
        used = values != 0
        ends = np.cumsum(np.bincount(numbers[used], minlength=len(some))).tolist()
        values, indices = values[used].astype(np.float64), indices[used].astype(np.int64)
        found += [(values[i:j], indices[i:j]) for i, j in pairwise([0, *ends])]
    return found


def _entries(X: Any, rows: Array) -> tuple[Array, Array, Array]:
    """Return the entries of some rows: the number of the row among them, the feature, the value."""
    if not hasattr(X, "indptr"):
        part = X[rows]
        numbers, indices = np.nonzero(part)
        return numbers, indices, part[numbers, indices]
    starts = X.indptr[rows].astype(np.int64)
    lengths = X.indptr[rows + 1] - starts
    numbers = np.repeat(np.arange(len(rows)), lengths)
    places = np.arange(len(numbers)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return numbers, X.indices[places], X.data[places]
