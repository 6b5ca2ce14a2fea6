"""Columns of numbers beside texts: brought to the size of a word by what was seen of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggro.learner import Array


@dataclass(frozen=True)
class Sizes:
    """Sums of squares of the values that were not zero, and how many there were."""

    squares: Array
    counts: Array

    @staticmethod
    def of(columns: int) -> Sizes:
        """Return the sizes of columns of which nothing was seen."""
        return Sizes(np.zeros(columns), np.zeros(columns))

    def scaled(self, numbers: Array, learn: bool) -> tuple[Array, Sizes]:
        """Return numbers over their root mean square so far; to learn a row counts it first.

        Sums are taken row by row, so that they do not depend on calls.
        """
        squares, counts = self.squares[None], self.counts[None]
        known: Sizes = self
        if learn and len(numbers):
            squares = np.cumsum(np.concatenate([squares, numbers**2]), axis=0)[1:]
            counts = np.cumsum(np.concatenate([counts, numbers != 0]), axis=0)[1:]
            known = Sizes(squares[-1].copy(), counts[-1].copy())
        size = np.sqrt(squares / np.maximum(counts, 1.0))
        return numbers / np.where(size > 0, size, 1.0), known
