"""What a reader yields, and what it learns about the files on the way."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.files.errors import BadLine

MOST_KEPT_PROBLEMS = 10


class Batch(NamedTuple):
    """Some rows of a file: features, labels, and weights where the file has them.

    >>> Batch(np.ones((2, 3)), np.array([1.0, -1.0]), None).n_rows
    2
    """

    X: Any
    y: Any
    weights: NDArray[np.float64] | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])


@dataclasses.dataclass
class Report:
    """How one pass over the files goes.

    >>> report = Report()
    >>> report.add_bad(BadLine("data.svm", 3, "no colon"))
    >>> report.n_bad
    1
    """

    n_rows: int = 0
    n_bad: int = 0
    n_features: int = 0
    zero_based: bool | None = None
    labels: str | None = None
    bad_lines: list[BadLine] = dataclasses.field(default_factory=list)

    def add_bad(self, problem: BadLine) -> None:
        """Count a bad line; the first few are kept."""
        self.n_bad += 1
        if len(self.bad_lines) < MOST_KEPT_PROBLEMS:
            self.bad_lines.append(problem)


def sparse() -> Any:
    """scipy.sparse, imported when it is first needed.

    >>> sparse().csr_matrix((1, 2)).shape
    (1, 2)
    """
    return import_module("scipy.sparse")


def csr(
    values: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    n_features: int,
    *,
    is_sorted: bool,
) -> Any:
    """Make a CSR matrix of these arrays, without copying the large ones.

    >>> csr(np.ones(2), np.array([0, 2], "i4"), np.array([0, 1, 2]), 3, is_sorted=True).toarray()
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    # scipy wants one type for both index arrays and would find it by looking at every index.
    most = max(len(indices), n_features)
    index_type = np.int32 if indices.dtype == np.int32 and most < 2**31 else np.int64
    matrix = sparse().csr_matrix(
        (values, indices.astype(index_type, copy=False), indptr.astype(index_type, copy=False)),
        shape=(len(indptr) - 1, n_features),
    )
    if is_sorted:
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
    return matrix
