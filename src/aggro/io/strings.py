"""A column of strings, as a csv file has it: what its values are, by NumPy and the core alone."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import _core
from aggro.io.columns import FEW, Contents, is_gap
from aggro.io.hashing import Buffers, buffers_of

TEXT, NUMBER, WHOLE, BOOLEAN, MISSING = range(5)  # as the core tells them apart


class StringColumn:
    """Strings as Arrow lays them out: all bytes in one array, string i from offset i to i + 1.

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
        """The number that each string is, 1 or 0 for a boolean, NaN where there is none."""
        return self._read[0]

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """What each string is: TEXT, NUMBER, WHOLE, BOOLEAN or MISSING."""
        return self._read[1]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which strings say that there is no value."""
        return np.equal(self.kinds, MISSING)

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which strings are numbers."""
        return np.isin(self.kinds, (NUMBER, WHOLE, BOOLEAN))

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Which strings say that there is no number: the missing ones, and words such as "?"."""
        gaps = self.missing
        for i in np.flatnonzero(self.kinds == TEXT).tolist():
            gaps[i] = is_gap(self.text(i))
        return gaps

    @property
    def malformed(self) -> NDArray[np.bool_]:
        """Which strings stand for something else than a number or a gap."""
        return np.asarray((self.kinds == TEXT) & ~self.gaps)

    def contents(self, type: str | None = None) -> Contents:
        """Return what the column holds; ``type`` is the kind that its format gives it."""
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
        """Return the strings as labels of a type, and which of them are none."""
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
        """Which values a double may have rounded."""
        return np.abs(self.values) >= 2**53

    def strings(self) -> Buffers:
        """Return the bytes and the offsets."""
        return self.data, self.offsets

    def at(self, row: int) -> Any:
        """Return a value as a message shows it; None where there is none."""
        return self.text(row) or None

    def text(self, row: int) -> str:
        """Return a string as Python's."""
        start, stop = self.offsets[row : row + 2].tolist()
        return bytes(self.data[start:stop]).decode("utf-8", "replace")

    def tolist(self) -> list[str]:
        """Return the strings as Python's."""
        data = self.data.tobytes()
        return [data[i:j].decode("utf-8", "replace") for i, j in pairwise(self.offsets.tolist())]


def wordy(strings: Buffers) -> bool:
    """Tell whether strings look like texts: almost all are different, and of several words.

    >>> wordy(StringColumn.of([f"this is text {i}" for i in range(60)]).strings())
    True
    >>> wordy(StringColumn.of(["New York City", "San Juan"] * 30).strings())
    False
    """
    data, offsets = strings
    whole = data.tobytes()
    values = [whole[i:j] for i, j in pairwise(offsets.tolist())]
    blanks = sum(value.count(b" ") for value in values)
    return len(values) >= 50 and len(set(values)) > 0.8 * len(values) and blanks >= 2 * len(values)


def settled(kind: str | None, wanted: str) -> str:
    """Return the type of labels that look like a kind, where text, number or either is wanted.

    >>> settled("int", "auto"), settled("int", "text"), settled("text", "number")
    ('int', 'text', 'float')
    """
    if wanted == "text":
        return "text"
    if kind is None or (wanted == "number" and kind == "text"):
        return "float"
    return kind
