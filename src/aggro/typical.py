"""A typical example: the mean of a few recent ones. Its score tells where a model stands just now.

Which examples are taken depends on their number in the stream alone, so that it does not matter in
which calls they come. Estimators hold them as rows, streams as dicts.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro import _core

Array = npt.NDArray[Any]

RECENT = 128  # the most examples whose mean is the typical one
FEWEST = 16  # and how many there are even if
FEATURES = 2048  # they have more features together than this: each of them costs time
EVERY = 64  # the most examples between two that are taken


def next_sample(met: int) -> int:
    """Return which example, from number ``met`` on, is the next that is taken.

    All of the first 32, then 16 whenever their number doubles, until it is every 64th.

    >>> [next_sample(met) for met in (0, 31, 33, 129, 1000, 5000)]
    [0, 31, 34, 136, 1024, 5056]
    """
    step = 1 << max(min(met // 16, EVERY).bit_length() - 1, 0)
    return -(-met // step) * step


def next_change(met: int, batch: int) -> int:
    """Return after how many examples the typical one is another: at the end of a batch.

    >>> next_change(3, 1), next_change(33, 1), next_change(0, 10)
    (1, 2, 10)
    """
    return ((next_sample(met) - met) // batch + 1) * batch


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
    """The rows that were taken, one after another as in a CSR matrix; ``met`` counts examples."""

    met: int
    data: Array
    indices: Array
    ends: Array

    @staticmethod
    def of(rows: Array, met: int = 0) -> Typical:
        """Return the typical example of these rows: a dense matrix."""
        count, features = rows.shape
        indices = np.tile(np.arange(features, dtype=np.int64), count)
        ends = np.arange(1, count + 1, dtype=np.int64) * features
        return Typical(met, rows.astype(np.float64).ravel(), indices, ends)

    def after(self, X: Any, rows: Array) -> Typical:
        """Return the typical example after these rows of X, each an example."""
        taken, next_one = [], next_sample(self.met)
        while next_one < self.met + len(rows):
            taken.append(int(rows[next_one - self.met]))
            next_one = next_sample(next_one + 1)
        met = self.met + len(rows)
        return self._with(X, taken, met) if taken else replace(self, met=met)

    def _with(self, X: Any, rows: list[int], met: int) -> Typical:
        """Return the typical example with some rows in the place of the oldest."""
        ends = [0, *self.ends.tolist()]
        parts = [
            (self.data[start:end], self.indices[start:end])
            for start, end in itertools.pairwise(ends)
        ]
        parts = [*parts[-RECENT:], *(_row(X, row) for row in rows[-RECENT:])]
        parts = parts[-kept([indices.tolist() for _, indices in parts]) :]
        data, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        sizes = [len(values) for values, _ in parts]
        return Typical(met, data, indices.astype(np.int64), np.cumsum(sizes, dtype=np.int64))

    @functools.cached_property
    def _mean(self) -> tuple[Array, Array]:
        features, places = np.unique(self.indices, return_inverse=True)
        values = np.bincount(places, self.data, minlength=len(features)) / max(len(self.ends), 1)
        return values, features

    def rows(self, features: int) -> _core.Rows:
        """Return it as one row for a model of so many features."""
        values, indices = self._mean
        return _core.Rows(values, indices, np.array([0, len(values)]), features)


def _row(X: Any, row: int) -> tuple[Array, Array]:
    """Return the values and the features of a row that are not zero."""
    if hasattr(X, "indptr"):
        part = slice(X.indptr[row], X.indptr[row + 1])
        return X.data[part].astype(np.float64), X.indices[part]
    indices = np.flatnonzero(X[row])
    return X[row][indices].astype(np.float64), indices
