"""Blocks: the rows of one partition as an estimator takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.learner import Array
from aggro.text.sources import Laid, Listed
from aggro.text.table import Table

LETTERS = 6  # of a word and the space behind it, about


@dataclass(frozen=True)
class Block:
    """Rows, targets and weights: dense, CSR, a data frame, or a table of texts."""

    X: Any
    y: Any
    weights: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def check(self) -> None:
        """Raise unless there is one target for each row."""
        if len(self.y) != len(self):
            raise ValueError(
                f"X has {len(self)} rows but y has {len(self.y)}; give one target for each."
            )

    def take(self, order: Array) -> Block:
        """Return some rows; all of them, as they are, are not copied."""
        if len(order) and order[-1] - order[0] == len(order) - 1 and (np.diff(order) == 1).all():
            if len(order) == len(self):
                return self
            some: Any = slice(int(order[0]), int(order[-1]) + 1)
        else:
            some = order
        weights = None if self.weights is None else self.weights[some]
        if isinstance(self.X, Table):
            return Block(self.X.take(some), self.y[some], weights)
        X = self.X.iloc[some] if hasattr(self.X, "iloc") else self.X[some]
        return Block(X, self.y[some], weights)


@dataclass(frozen=True)
class Failed:
    """A partition that could not be read, and why."""

    message: str


@dataclass(frozen=True)
class Summary:
    """The size of a block, and what a model must know before it learns the block."""

    rows: int = 0
    entries: float = 0.0  # per row, absent zeros not counted
    nbytes: int = 0
    width: int = 0
    classes: Any = None
    error: str | None = None


def summarise(block: Block | Failed) -> Summary:
    """Return the size of a block, its classes and the width of its rows."""
    if isinstance(block, Failed):
        return Summary(error=block.message)
    try:
        block.check()
    except ValueError as error:
        return Summary(error=str(error))
    rows, X = len(block), block.X
    if isinstance(X, Table):
        nbytes = sum(map(_letters, X.texts)) + (0 if X.numbers is None else X.numbers.nbytes)
        return Summary(rows, nbytes / LETTERS / max(rows, 1), nbytes, 1, classes_in(block.y))
    if hasattr(X, "indptr"):
        filled, nbytes = X.nnz, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    else:
        filled, nbytes = rows * X.shape[1], 8 * rows * X.shape[1]
    return Summary(rows, filled / max(rows, 1), nbytes, int(X.shape[1]), classes_in(block.y))


def classes_in(y: Any) -> Any:
    """Return the classes among targets; None for an indicator matrix of several labels."""
    array = np.asarray(y)
    return np.unique(array) if array.ndim == 1 else None


def joined(blocks: Sequence[Block]) -> Block:
    """Return the rows of several blocks, in order, as one."""
    blocks = [block for block in blocks if len(block)] or list(blocks[:1])
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate(
            [np.ones(len(b)) if b.weights is None else b.weights for b in blocks]
        )
    return Block(
        _joined_rows([block.X for block in blocks]),
        np.concatenate([np.asarray(block.y) for block in blocks]),
        weights,
    )


def _joined_rows(parts: list[Any]) -> Any:
    if isinstance(parts[0], Table):
        return _joined_tables(parts)
    if hasattr(parts[0], "indptr"):
        from scipy.sparse import vstack

        width = max(part.shape[1] for part in parts)
        return vstack([wider_rows(part, width) for part in parts], format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


def wider_rows(X: Any, width: int) -> Any:
    """Return sparse rows with as many columns, the same where they have them; others as they are.

    The rows that were given are not changed: they may be shared with other tasks.
    """
    if not hasattr(X, "indptr") or X.shape[1] >= width:
        return X
    return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _joined_tables(tables: list[Table]) -> Table:
    first = tables[0]
    texts: list[Any] = [
        Listed([text for table in tables for text in _documents(table.texts[i])])
        for i in range(len(first.texts))
    ]
    categories, numbers = None, None
    if first.categories is not None:
        categories = Listed([c for table in tables for c in _documents(table.categories)])
    if first.numbers is not None:
        numbers = np.concatenate([table.numbers for table in tables])
    return Table(texts, categories, numbers, sum(map(len, tables)))


def _documents(texts: Any) -> list[Any]:
    """Return the documents of a column as a list."""
    listed = texts if isinstance(texts, Listed) else texts.take(np.arange(len(texts)))
    return list(listed.documents)


def _letters(texts: Any) -> int:
    if isinstance(texts, Laid):
        return int(texts.offsets[-1] - texts.offsets[0])
    return sum(map(len, _documents(texts)))
