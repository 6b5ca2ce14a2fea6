"""Blocks: the rows of one partition as an estimator takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.labels import plain_labels
from aggro.learner import Array
from aggro.text.sources import Laid, Listed
from aggro.text.table import Table

SAMPLE = 1024  # rows whose mean ‖x‖² limits C
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
        """Return some rows; consecutive rows are not copied."""
        some: Any = order
        if len(order) and (np.diff(order) == 1).all():
            some = slice(int(order[0]), int(order[-1]) + 1)
            if len(order) == len(self):
                return self
        weights = None if self.weights is None else self.weights[some]
        if isinstance(self.X, Table):
            X: Any = self.X.take(some)
        else:
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
    entries: float = 0.0  # per row, without absent zeros
    nbytes: int = 0
    width: int = 0
    square: float = 0.0  # mean ‖x‖² of the first rows, which limits C
    classes: Any = None
    error: str | None = None

    def joined(self, other: Summary) -> Summary:
        """Return the classes and the width of both blocks."""
        classes = self.classes
        if classes is not None and other.classes is not None:
            classes = Classes(classes).admit(other.classes).labels
        return replace(self, classes=classes, width=max(self.width, other.width))


def summarise(block: Block | Failed) -> Summary:
    """Return the size of a block, its classes and the width of its rows."""
    if isinstance(block, Failed):
        return Summary(error=block.message)
    try:
        block.check()
        y = plain_labels(block.y)
    except ValueError as error:
        return Summary(error=str(error))
    rows, X = len(block), block.X
    if isinstance(X, Table):
        nbytes, width = sum(map(_letters, X.texts)), 1
        entries: float = nbytes / LETTERS
        nbytes += 0 if X.numbers is None else X.numbers.nbytes
    elif hasattr(X, "indptr"):
        nbytes, width = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes, X.shape[1]
        entries = X.nnz
    else:
        width = X.shape[1]
        entries, nbytes = rows * width, 8 * rows * width
    classes = np.unique(y) if y.ndim == 1 else None
    return Summary(rows, entries / max(rows, 1), nbytes, int(width), _mean_square(block), classes)


def _mean_square(block: Block) -> float:
    """Return the mean of ‖x‖² of the first rows, the constant feature included."""
    X = block.take(np.arange(min(SAMPLE, len(block)))).X
    if isinstance(X, Table) or not X.shape[0]:
        return 0.0
    values = X.data if hasattr(X, "indptr") else np.ascontiguousarray(X)  # one order of the sum
    if values.dtype.kind not in "fiub":
        return 0.0
    square = float(np.square(values, dtype=np.float64).sum()) / X.shape[0] + 1.0
    return square if np.isfinite(square) else 0.0  # the estimator reports what is wrong


def joined(blocks: Sequence[Block], join: Callable[[list[Any]], Any] | None = None) -> Block:
    """Return the rows of several blocks, in order, as one; ``join`` joins rows of another type."""
    blocks = [block for block in blocks if len(block)] or list(blocks[:1])
    if len(blocks) == 1 and join is None:
        return blocks[0]
    weights = None
    if any(block.weights is not None for block in blocks):
        each = (np.ones(len(b)) if b.weights is None else b.weights for b in blocks)
        weights = np.concatenate(list(each))
    y = np.concatenate([np.asarray(block.y) for block in blocks])
    return Block((join or _joined_rows)([block.X for block in blocks]), y, weights)


def _joined_rows(parts: list[Any]) -> Any:
    if isinstance(parts[0], Table):
        return _joined_tables(parts)
    if hasattr(parts[0], "indptr"):
        from scipy.sparse import vstack

        width = max(part.shape[1] for part in parts)
        return vstack([_wider(part, width) for part in parts], format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


def wider_rows(block: Block, width: int) -> Block:
    """Return a block whose sparse rows have at least this number of columns.

    The given rows are not changed, because they may be shared with other tasks.
    """
    if not hasattr(block.X, "indptr") or block.X.shape[1] >= width:
        return block
    return replace(block, X=_wider(block.X, width))


def _wider(X: Any, width: int) -> Any:
    return type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _joined_tables(tables: list[Table]) -> Table:
    first = tables[0]
    texts: list[Any] = [_listed([t.texts[i] for t in tables]) for i in range(len(first.texts))]
    categories = numbers = None
    if first.categories is not None:
        categories = _listed([table.categories for table in tables])
    if first.numbers is not None:
        numbers = np.concatenate([table.numbers for table in tables])
    return Table(texts, categories, numbers, sum(map(len, tables)))


def _listed(columns: Sequence[Any]) -> Listed:
    """Return the documents of several columns as one."""
    return Listed([text for column in columns for text in _documents(column)])


def _documents(column: Any) -> Sequence[Any]:
    listed = column if isinstance(column, Listed) else column.take(np.arange(len(column)))
    return listed.documents


def _letters(texts: Any) -> int:
    if isinstance(texts, Laid):
        return int(texts.offsets[-1] - texts.offsets[0])
    return sum(map(len, _documents(texts)))
