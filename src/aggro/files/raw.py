"""Rows of a table as they are: texts not yet words, categories not yet columns."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.files.strings import Buffers

Strings = dict[str, tuple[Buffers, NDArray[np.bool_]]]  # and where there is no value


@dataclasses.dataclass(frozen=True)
class RawRows:
    """Columns of numbers, of categories and of texts; ``rows`` says which of them are meant.

    >>> rows = RawRows(np.ones((3, 1)), ("price",), {}, {}, np.arange(3))
    >>> rows[1:].shape
    (2, 1)
    """

    numbers: NDArray[Any]
    names: tuple[str, ...]  # of the numbers
    categories: Strings
    texts: Strings
    rows: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        columns = self.numbers.shape[1] + len(self.categories) + len(self.texts)
        return len(self.rows), columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.numbers.dtype

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take."""
        strings = (*self.categories.values(), *self.texts.values())
        return self.numbers.nbytes + sum(data.nbytes for (data, _), _ in strings)

    def __getitem__(self, which: Any) -> RawRows:
        """Return some of the rows."""
        return dataclasses.replace(self, rows=self.rows[which])
