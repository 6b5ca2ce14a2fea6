"""The reference row: the mean of some recent rows, whose score measures a shift of all scores.

Which rows are sampled, and when their mean is recomputed, depends only on their position in the
stream, not on how the stream is divided into calls. Estimators store rows, streams store dicts.
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

RECENT = 128  # maximum number of samples in the mean
FEWEST = 16  # samples that are used even if they have more than FEATURES features
FEATURES = 1024  # maximum number of features of the mean, to limit its cost
EVERY = 8  # after RECENT samples, one of EVERY examples is a sample
LONGEST = 1024  # maximum number of examples between updates of the mean
ENTRIES_AT_ONCE = 1 << 20  # entries of dense rows per block


def is_sample(number: Any) -> Any:
    """Return whether the example with this number (from zero) is a sample."""
    return (number < RECENT) | (number % EVERY == 0)


def next_change(met: int, batch: int) -> int:
    """Return the number of examples until the next mean, which is computed at the end of a batch.

    It is computed when the number of examples has doubled, and later after every 1024.

    >>> [next_change(met, 1) for met in (0, 1, 5, 1000, 1024, 1500)]
    [1, 1, 3, 24, 1024, 548]
    >>> next_change(0, 10), next_change(20, 10)
    (10, 20)
    """
    point = 1 << met.bit_length() if met < LONGEST else (met // LONGEST + 1) * LONGEST
    return -(-(point - met) // batch) * batch


def kept(samples: Iterable[Iterable[Any]]) -> int:
    """Return the number of samples in the mean, given the features of each, the last one first."""
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
    """The mean and the samples, as values and their features; ``met`` is the number of examples."""

    met: int
    mean: Array
    features: Array
    samples: tuple[tuple[Array, Array], ...] = ()

    @staticmethod
    def of(row: Array, met: int = 0) -> ReferenceRow:
        """Return a reference row equal to this row, as the mean of ``met`` examples."""
        (one,) = _rows(row.reshape(1, -1), np.zeros(1, np.int64))
        return ReferenceRow(met, *one, (one,) if met else ())

    def after(self, X: Any, rows: Array, batch: int) -> ReferenceRow:
        """Return the reference row after these rows of X."""
        changed = 0  # rows before the last update of the mean
        while (next_one := changed + next_change(self.met + changed, batch)) <= len(rows):
            changed = next_one
        new = self._met(X, rows[:changed])._renewed() if changed else self
        return new._met(X, rows[changed:])

    def _met(self, X: Any, rows: Array) -> ReferenceRow:
        """Return the reference row with the samples of these rows and the same mean."""
        numbers = np.arange(self.met, self.met + len(rows))
        taken = _rows(X, rows[is_sample(numbers)][-RECENT:])
        return replace(self, met=self.met + len(rows), samples=(*self.samples, *taken)[-RECENT:])

    def _renewed(self) -> ReferenceRow:
        """Return the reference row with the mean of its samples."""
        samples = self.samples
        values, indices = (np.concatenate(part) for part in zip(*samples, strict=True))
        highest = int(indices.max(initial=0))
        if min(highest + 1, len(indices)) > FEATURES:  # otherwise there cannot be too many features
            samples = samples[-kept(part.tolist() for _, part in reversed(samples)) :]
            first = len(indices) - sum(len(part) for _, part in samples)
            values, indices = values[first:], indices[first:]
        if highest < 16 * len(indices):
            features = np.flatnonzero(np.bincount(indices))
            sums = np.bincount(indices, values)[features]
        else:  # few of many features
            features, places = np.unique(indices, return_inverse=True)
            sums = np.bincount(places, values, minlength=len(features))
        return replace(self, mean=sums / len(samples), features=features)

    def places(self) -> list[Array]:
        """Return the features of the mean and of each sample."""
        return [self.features, *(indices for _, indices in self.samples)]

    def fits(self, features: int) -> bool:
        """Return whether it has no feature beyond this number."""
        return all(int(part.max(initial=0)) < features for part in self.places())

    def rows(self, features: int) -> _core.Rows:
        """Return the mean as one row for a model with this number of features."""
        return _core.Rows(self.mean, self.features, np.array([0, len(self.mean)]), features)


def _rows(X: Any, rows: Array) -> list[tuple[Array, Array]]:
    """Return the non-zero values of each row, and their features."""
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
    """Return the entries of some rows: number of the row, feature and value of each."""
    if not hasattr(X, "indptr"):
        part = X[rows]
        numbers, indices = np.nonzero(part)
        return numbers, indices, part[numbers, indices]
    starts = X.indptr[rows].astype(np.int64)
    lengths = X.indptr[rows + 1] - starts
    numbers = np.repeat(np.arange(len(rows)), lengths)
    places = np.arange(len(numbers)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return numbers, X.indices[places], X.data[places]
