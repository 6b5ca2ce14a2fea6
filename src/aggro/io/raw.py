"""Rows of a table as they are: texts not yet words, categories not yet columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.strings import Buffers

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


def joined_rows(parts: Sequence[RawRows]) -> RawRows:
    """Return the rows of several parts of one table, one after another."""
    sizes = [len(part.numbers) for part in parts]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    return RawRows(
        np.concatenate([part.numbers for part in parts]),
        parts[0].names,
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
