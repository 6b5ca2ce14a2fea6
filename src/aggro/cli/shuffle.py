"""Rows in random order: within blocks, which are all of the data if they fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from aggro.io import Batch
from aggro.io.batch import RawRows, SparseRows, joined_rows, stacked

BLOCK = 1 << 28  # bytes of rows that are shuffled together
ROWS_AT_ONCE = 8192  # in a batch


class Shuffled:
    """The batches of a reader with their rows shuffled; the same order in every pass."""

    def __init__(self, batches: Iterable[Batch], seed: int, block: int = BLOCK) -> None:
        self.batches, self.seed, self.block = batches, seed, block
        self.blocks = 0  # of the last pass

    def __iter__(self) -> Iterator[Batch]:
        random = np.random.default_rng(self.seed)
        waiting: list[Batch] = []
        size, self.blocks = 0, 0
        for batch in self.batches:
            waiting.append(batch)
            size += _bytes(batch)
            if size >= self.block:
                yield from self._shuffled(waiting, random)
                waiting, size = [], 0
        if waiting:
            yield from self._shuffled(waiting, random)

    def _shuffled(self, batches: Sequence[Batch], random: np.random.Generator) -> Iterator[Batch]:
        self.blocks += 1
        X, y, weights = joined(batches)
        order = random.permutation(X.shape[0])
        for start in range(0, len(order), ROWS_AT_ONCE):
            some = order[start : start + ROWS_AT_ONCE]
            yield Batch(X[some], y[some], None if weights is None else weights[some])


def joined(batches: Sequence[Batch]) -> Batch:
    """Return several batches as one, with all columns of any of them."""
    parts: list[Any] = [batch.X for batch in batches]
    y = np.concatenate([batch.y for batch in batches])
    weights = [batch.weights for batch in batches if batch.weights is not None]
    together = np.concatenate(weights) if weights else None
    if isinstance(parts[0], RawRows):
        return Batch(joined_rows(parts), y, together)
    if not isinstance(parts[0], SparseRows):
        return Batch(np.concatenate(parts), y, together)
    return Batch(stacked(parts), y, together)


def _bytes(batch: Batch) -> int:
    X = batch.X
    if isinstance(X, SparseRows):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)
