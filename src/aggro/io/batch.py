"""The output of a reader: batches of sparse, dense or raw rows with labels, and its report."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.extras import optional
from aggro.io.options import BadLine
from aggro.io.strings import Buffers, Names


class SparseRows:
    """Rows in compressed sparse form (CSR), as the core reads them.

    >>> rows = SparseRows(np.ones(2), np.array([0, 2]), np.array([0, 1, 2]), (2, 3))
    >>> rows[1:].toarray()
    array([[0., 0., 1.]])
    """

    def __init__(
        self,
        data: NDArray[Any],
        indices: NDArray[Any],
        indptr: NDArray[Any],
        shape: tuple[int, int],
        *,
        is_sorted: bool = False,
    ) -> None:
        # One type for both index arrays, as SciPy wants it.
        narrow = indices.dtype == np.int32 and max(len(indices), shape[1]) < 2**31
        index_type = np.int32 if narrow else np.int64
        self.data = data
        self.indices = indices.astype(index_type, copy=False)
        self.indptr = indptr.astype(index_type, copy=False)
        self.shape = shape
        self.is_sorted = is_sorted  # every row strictly increasing

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def __getitem__(self, rows: slice | NDArray[Any]) -> SparseRows:
        """Return some of the rows, given as a slice, a mask or row numbers."""
        if isinstance(rows, slice):
            begin, end, _ = rows.indices(self.shape[0])
            end = max(begin, end)
            part = slice(int(self.indptr[begin]), int(self.indptr[end]))
            indptr = self.indptr[begin : end + 1] - self.indptr[begin]
            return self._like(self.data[part], self.indices[part], indptr)
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        sizes = np.diff(self.indptr)[numbers]
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        places = np.arange(indptr[-1]) + np.repeat(self.indptr[numbers] - indptr[:-1], sizes)
        return self._like(self.data[places], self.indices[places], indptr)

    def _like(self, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any]) -> SparseRows:
        shape = (len(indptr) - 1, self.shape[1])
        return SparseRows(data, indices, indptr, shape, is_sorted=self.is_sorted)

    def copy(self) -> SparseRows:
        """Return a copy."""
        arrays = self.data.copy(), self.indices.copy(), self.indptr.copy()
        return SparseRows(*arrays, self.shape, is_sorted=self.is_sorted)

    def resize(self, shape: tuple[int, int]) -> None:
        """Append empty columns."""
        if shape[0] != self.shape[0] or shape[1] < self.shape[1]:
            raise ValueError(f"Rows of shape {self.shape} cannot become {shape}.")
        self.shape = shape

    def sort_indices(self) -> None:
        """Sort the columns of each row."""
        if self.is_sorted:
            return
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        order = np.lexsort((self.indices, row))
        self.data, self.indices, self.is_sorted = self.data[order], self.indices[order], True

    def toarray(self) -> NDArray[Any]:
        """Return a dense array."""
        full = np.zeros(self.shape, self.dtype)
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        np.add.at(full, (row, self.indices), self.data)
        return full

    def to_scipy(self) -> Any:
        """Return a scipy.sparse.csr_matrix that shares the arrays."""
        arrays = (self.data, self.indices, self.indptr)
        matrix = optional("scipy.sparse", "A sparse matrix").csr_matrix(arrays, shape=self.shape)
        if self.is_sorted:
            matrix.has_sorted_indices = True
            matrix.has_canonical_format = True
        return matrix


def from_entries(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]
) -> SparseRows:
    """Return the sparse rows of entries in any order; entries at the same place are summed.

    >>> from_entries(np.array([1, 1, 0]), np.array([2, 2, 0]), np.ones(3), (2, 3)).toarray()
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    place = rows.astype(np.int64) * shape[1] + columns
    order = np.argsort(place, kind="stable")
    place, values = place[order], values[order]
    first = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1]))[: len(place)])
    if len(first) < len(place):
        place, values = place[first], np.add.reduceat(values, first)
    row, column = np.divmod(place, shape[1])
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=shape[0]))))
    index_type = np.int32 if shape[1] < 2**31 else np.int64
    return SparseRows(values, column.astype(index_type), indptr, shape, is_sorted=True)


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows of one type below each other; sparse ones get all columns of any of them."""
    if isinstance(parts[0], RawRows):
        return joined_rows(parts)
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if not isinstance(parts[0], SparseRows):
        return optional("scipy.sparse", "A sparse matrix").vstack(parts, format="csr")
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    return SparseRows(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate(([0], np.cumsum(sizes))),
        (len(sizes), max(part.shape[1] for part in parts)),
        is_sorted=all(part.is_sorted for part in parts),
    )


Strings = dict[str, tuple[Buffers, NDArray[np.bool_]]]  # with the places of missing values


@dataclasses.dataclass(frozen=True)
class RawRows:
    """Columns of numbers, categories and texts, of which ``rows`` selects some rows.

    >>> rows = RawRows(np.ones((3, 1)), {"price": "number"}, {}, {}, np.arange(3))
    >>> rows[1:].shape
    (2, 1)
    """

    numbers: NDArray[Any]
    kinds: dict[str, str]  # of the columns behind the numbers: "number", "date" or "cycle"
    categories: Strings
    texts: Strings
    rows: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        columns = len(self.kinds) + len(self.categories) + len(self.texts)
        return len(self.rows), columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.numbers.dtype

    @property
    def nbytes(self) -> int:
        """The approximate memory of the rows."""
        strings = (*self.categories.values(), *self.texts.values())
        return self.numbers.nbytes + sum(data.nbytes for (data, _), _ in strings)

    def __getitem__(self, which: Any) -> RawRows:
        """Return some of the rows."""
        return dataclasses.replace(self, rows=self.rows[which])


def joined_rows(parts: Sequence[RawRows]) -> RawRows:
    """Concatenate the rows of several parts of one table."""
    sizes = [len(part.numbers) for part in parts]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    return RawRows(
        np.concatenate([part.numbers for part in parts]),
        parts[0].kinds,
        {name: _joined([part.categories[name] for part in parts]) for name in parts[0].categories},
        {name: _joined([part.texts[name] for part in parts]) for name in parts[0].texts},
        np.concatenate([part.rows + start for part, start in zip(parts, starts, strict=True)]),
    )


def _joined(
    columns: Sequence[tuple[Buffers, NDArray[np.bool_]]],
) -> tuple[Buffers, NDArray[np.bool_]]:
    data = [each[int(offsets[0]) : int(offsets[-1])] for (each, offsets), _ in columns]
    lengths = np.concatenate([np.diff(offsets) for (_, offsets), _ in columns])
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    missing = np.concatenate([missing for _, missing in columns])
    return (np.concatenate(data), offsets), missing


MOST_KEPT_PROBLEMS = 10


class Batch(NamedTuple):
    """Some rows of a file: features, and labels and weights if the file has them.

    >>> import numpy as np
    >>> from aggro.io import Batch
    >>> Batch(np.ones((2, 3)), np.array([1.0, -1.0]), None).n_rows
    2
    """

    X: Any
    y: Any
    weights: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def with_scipy(self) -> Batch:
        """Return the batch with a sparse X converted to SciPy."""
        return self._replace(X=self.X.to_scipy()) if isinstance(self.X, SparseRows) else self

    def rows(self, which: Any) -> Batch:
        """Return some of the rows."""
        X, y, weights = self
        return Batch(X[which], y[which], None if weights is None else weights[which])

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """Return several batches as one."""
        weights = [batch.weights for batch in batches if batch.weights is not None]
        return cls(
            stacked([batch.X for batch in batches]),
            np.concatenate([batch.y for batch in batches]),
            np.concatenate(weights) if weights else None,
        )


@dataclasses.dataclass
class Findings:
    """Properties of the files, found in the first rows and kept for later files and passes."""

    zero_based: bool | None = None  # svmlight
    labels: str | None = None  # text or number; in tables text, bool, int or float
    columns: dict[str, str] | None = None  # tables and JSON: the kind of each column
    text_like: dict[str, bool] = dataclasses.field(default_factory=dict)  # of categories
    notes: list[str] = dataclasses.field(default_factory=list)  # about columns; options in braces


@dataclasses.dataclass
class Report:
    """Counts and findings of one pass over the files.

    >>> report = Report()
    >>> report.add_bad(BadLine("data.svm", 3, "no colon"))
    >>> report.n_bad
    1
    """

    n_rows: int = 0
    n_bad: int = 0
    n_features: int = 0
    n_initials: int = 0  # initial predictions of Vowpal Wabbit's format
    found: Findings = dataclasses.field(default_factory=Findings)
    bad_lines: list[BadLine] = dataclasses.field(default_factory=list)
    names: Names = dataclasses.field(default_factory=Names)  # of hashed columns

    def add_bad(self, *problems: BadLine, count: int | None = None) -> None:
        """Add to the number of bad lines; keep the first few."""
        self.n_bad += len(problems) if count is None else count
        self.bad_lines += problems[: MOST_KEPT_PROBLEMS - len(self.bad_lines)]


# -- classes or values --

MOST_INSPECTED = 10_000  # labels
MOST_BYTES_HELD = 64 << 20  # of rows, while their labels are collected
FEW_CLASSES = 20
ROWS_PER_CLASS = 10


def looks_continuous(y: NDArray[Any]) -> bool:
    """Return True if labels are targets of a regression: fractions, or integers that rarely repeat.

    >>> looks_continuous(np.array([1.0, 2.0, 1.0])), looks_continuous(np.array([1.0, 2.5]))
    (False, True)
    >>> looks_continuous(np.arange(150) % 15), looks_continuous(np.arange(150))
    (False, True)
    """
    y = np.asarray(y)[:MOST_INSPECTED]
    if y.dtype.kind not in "iuf" or not np.isfinite(y).all():
        return False
    if y.dtype.kind == "f" and bool(np.any(y % 1 != 0)):
        return True
    return len(np.unique(y)) > max(FEW_CLASSES, len(y) // ROWS_PER_CLASS)


def first_labels(batches: Iterable[Batch]) -> tuple[NDArray[Any] | None, Iterator[Batch]]:
    """Return the first labels, which determine the task, and all batches.

    The labels are None if there are none or several in a row. Their number is the same for any size
    of the batches, unless rows are very large.

    >>> batch = Batch(np.ones((2, 1)), np.array([1.0, 0.0]), None)
    >>> y, batches = first_labels(iter([batch, batch]))
    >>> y, sum(batch.n_rows for batch in batches)
    (array([1., 0., 1., 0.]), 4)
    """
    rest = iter(batches)
    held: list[Batch] = []
    labels: list[NDArray[Any]] = []
    count = size = 0
    for batch in rest:
        held.append(batch)
        if not isinstance(batch.y, np.ndarray):  # no labels, or several in a row
            return None, chain(held, rest)
        labels.append(batch.y)
        count += batch.n_rows
        size += sum(getattr(batch.X, name, batch.X).nbytes for name in ("data", "indices"))
        if count >= MOST_INSPECTED or size >= MOST_BYTES_HELD:
            break
    together = np.concatenate(labels)[:MOST_INSPECTED] if labels else None
    return together, chain(held, rest)
