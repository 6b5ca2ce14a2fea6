"""Sparse rows in NumPy arrays alone, so that reading and learning need no SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.extras import optional


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
        """Of the values."""
        return self.data.dtype

    def __getitem__(self, rows: slice | NDArray[Any]) -> SparseRows:
        """Return some of the rows: a slice of them, a mask, or their numbers."""
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
        """Return the same rows in arrays of their own."""
        arrays = self.data.copy(), self.indices.copy(), self.indptr.copy()
        return SparseRows(*arrays, self.shape, is_sorted=self.is_sorted)

    def resize(self, shape: tuple[int, int]) -> None:
        """Give the rows more columns, which are empty."""
        if shape[0] != self.shape[0] or shape[1] < self.shape[1]:
            raise ValueError(f"Rows of shape {self.shape} cannot become {shape}.")
        self.shape = shape

    def sort_indices(self) -> None:
        """Put the columns of each row in order."""
        if self.is_sorted:
            return
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        order = np.lexsort((self.indices, row))
        self.data, self.indices, self.is_sorted = self.data[order], self.indices[order], True

    def toarray(self) -> NDArray[Any]:
        """Return all the zeros too."""
        full = np.zeros(self.shape, self.dtype)
        row = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        np.add.at(full, (row, self.indices), self.data)
        return full

    def to_scipy(self) -> Any:
        """Return a scipy.sparse.csr_matrix of the same arrays."""
        arrays = (self.data, self.indices, self.indptr)
        matrix = optional("scipy.sparse", "A sparse matrix").csr_matrix(arrays, shape=self.shape)
        if self.is_sorted:
            matrix.has_sorted_indices = True
            matrix.has_canonical_format = True
        return matrix


def from_entries(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]
) -> SparseRows:
    """Return the sparse rows of entries in any order; those at one place are summed.

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
