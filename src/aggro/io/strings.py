"""A column of strings, as in a csv file, and the types of its values."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import _core
from aggro.io.columns import FEW, Contents, is_gap
from aggro.io.hashing import Buffers, buffers_of

TEXT, NUMBER, WHOLE, BOOLEAN, MISSING = range(5)  # the types of the core


class StringColumn:
    """Strings in the layout of Arrow: all bytes in one array, string i from offset i to i + 1.

    >>> column = StringColumn.of(["1.5", "", "true"])
    >>> column.values, column.contents().kind
    (array([1.5, nan, 1. ]), 'number')
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[Any]) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, strings: list[str]) -> StringColumn:
        """Return the column of some strings."""
        return cls(*buffers_of([string.encode("utf-8", "surrogatepass") for string in strings]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        values, kinds = _core.read_values(self.data, self.offsets)
        return values, kinds

    @property
    def values(self) -> NDArray[np.float64]:
        """Each string as a number: 1 or 0 for a boolean, NaN for other texts."""
        return self._read[0]

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """The type of each string: TEXT, NUMBER, WHOLE, BOOLEAN or MISSING."""
        return self._read[1]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which strings say that a value is missing."""
        return np.equal(self.kinds, MISSING)

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which strings are numbers."""
        return np.isin(self.kinds, (NUMBER, WHOLE, BOOLEAN))

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Which strings say that a number is missing: also words such as "?"."""
        gaps = self.missing
        for i in np.flatnonzero(self.kinds == TEXT).tolist():
            gaps[i] = is_gap(self.text(i))
        return gaps

    @property
    def malformed(self) -> NDArray[np.bool_]:
        """Which strings are neither a number nor a gap."""
        return np.asarray((self.kinds == TEXT) & ~self.gaps)

    def contents(self, type: str | None = None) -> Contents:
        """Return the contents of the column; ``type`` is its kind in the file's format."""
        texts = [self.text(i) for i in np.flatnonzero(self.kinds == TEXT).tolist()]
        return Contents(self.values[self.numeric], texts, type)

    @property
    def label_kind(self) -> str | None:
        """Return the type of such labels: text, bool, int or float; None if there are none.

        Whole numbers beyond 64 bits are names, since a float would make several of them one. A few
        labels of another type do not count: they are errors.
        """
        present = self.kinds[~self.missing]
        if len(present) == 0:
            return None
        if self.contents().kind == "category":
            return "text"
        present = present[present != TEXT]
        if np.all(present == BOOLEAN):
            return "bool"
        if not np.all(present == WHOLE):
            return "float"
        return "text" if np.mean(self._beyond_64_bits()) > FEW else "int"

    def labels(self, kind: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the strings as labels of a type, and which of them are invalid."""
        if kind == "text":
            return np.array(self.tolist(), dtype=np.str_), self.missing
        if kind == "bool":
            return self.values == 1, self.kinds != BOOLEAN
        wrong = ~np.isfinite(self.values) | (self.kinds == BOOLEAN)
        if kind == "int" and np.all((self.kinds == WHOLE) | wrong):
            wrong |= self._beyond_64_bits()
            return self._whole(wrong), wrong
        return self.values, wrong

    def _beyond_64_bits(self) -> NDArray[np.bool_]:
        large = np.flatnonzero(self._large & (self.kinds == WHOLE))
        beyond = np.zeros(len(self), bool)
        beyond[large] = [not -(2**63) <= int(self.at(i)) < 2**63 for i in large.tolist()]
        return beyond

    def _whole(self, wrong: NDArray[np.bool_]) -> NDArray[np.int64]:
        numbers = np.where(wrong | self._large, 0, self.values).astype(np.int64)
        for i in np.flatnonzero(self._large & ~wrong).tolist():
            numbers[i] = int(self.at(i))
        return numbers

    @property
    def _large(self) -> NDArray[np.bool_]:
        """Which values may be rounded in a double."""
        return np.abs(self.values) >= 2**53

    def strings(self) -> Buffers:
        """Return the bytes and the offsets."""
        return self.data, self.offsets

    def at(self, row: int) -> Any:
        """Return a value for a message; None if it is empty."""
        return self.text(row) or None

    def text(self, row: int) -> str:
        """Return one string."""
        start, stop = self.offsets[row : row + 2].tolist()
        return bytes(self.data[start:stop]).decode("utf-8", "replace")

    def tolist(self) -> list[str]:
        """Return all strings."""
        data = self.data.tobytes()
        return [data[i:j].decode("utf-8", "replace") for i, j in pairwise(self.offsets.tolist())]


def looks_like_texts(strings: Buffers) -> bool:
    """Return True if strings look like texts: most are different and have several words.

    >>> looks_like_texts(StringColumn.of([f"this is text {i}" for i in range(60)]).strings())
    True
    >>> looks_like_texts(StringColumn.of(["New York City", "San Juan"] * 30).strings())
    False
    """
    data, offsets = strings
    whole = data.tobytes()
    values = [whole[i:j] for i, j in pairwise(offsets.tolist())]
    blanks = sum(value.count(b" ") for value in values)
    return len(values) >= 50 and len(set(values)) > 0.8 * len(values) and blanks >= 2 * len(values)


def label_type(kind: str | None, wanted: str) -> str:
    """Return the type of labels of a kind, for labels="text", "number" or "auto".

    >>> label_type("int", "auto"), label_type("int", "text"), label_type("text", "number")
    ('int', 'text', 'float')
    """
    if wanted == "text":
        return "text"
    if kind is None or (wanted == "number" and kind == "text"):
        return "float"
    return kind
