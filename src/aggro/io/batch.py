"""What a reader yields, and what it learns about the files on the way."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.io.errors import BadLine
from aggro.io.matrix import SparseRows
from aggro.io.names import Names

MOST_KEPT_PROBLEMS = 10


class Batch(NamedTuple):
    """Some rows of a file: features, labels, and weights where the file has them.

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
        """How many rows there are."""
        return int(self.X.shape[0])

    def with_scipy(self) -> Batch:
        """Return the same with X as a SciPy matrix, where it is sparse."""
        return self._replace(X=self.X.to_scipy()) if isinstance(self.X, SparseRows) else self


@dataclasses.dataclass
class Findings:
    """What the first rows of some files say about all of them; later files and passes follow."""

    zero_based: bool | None = None  # svmlight
    labels: str | None = None  # text or number; in tables text, bool, int or float
    columns: dict[str, str] | None = None  # tables and JSON: what becomes of each column
    wordy: dict[str, bool] = dataclasses.field(default_factory=dict)  # categories like texts
    notes: list[str] = dataclasses.field(default_factory=list)  # on columns; options in braces


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
    n_initials: int = 0  # initial predictions of Vowpal Wabbit's format
    found: Findings = dataclasses.field(default_factory=Findings)
    bad_lines: list[BadLine] = dataclasses.field(default_factory=list)
    names: Names = dataclasses.field(default_factory=Names)  # of hashed columns

    def add_bad(self, *problems: BadLine, count: int | None = None) -> None:
        """Count bad lines, of which some are given; the first few are kept."""
        self.n_bad += len(problems) if count is None else count
        self.bad_lines += problems[: MOST_KEPT_PROBLEMS - len(self.bad_lines)]
