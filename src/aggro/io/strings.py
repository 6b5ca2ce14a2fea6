"""Columns of strings: hashes, notations of numbers, gaps and dates, and the values of cells."""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import _core

MOST_HASH_BITS = 30

MOST_NAMES = 1 << 16
LONGEST_NAME = 100  # letters
Buffers = tuple[NDArray[np.uint8], NDArray[Any]]


def hash_names(names: Sequence[str], bits: int = 18) -> NDArray[np.int32]:
    """Return the column of each name among 2**bits: MurmurHash3, but digits are their own number.

    >>> from aggro.io import hash_names
    >>> hash_names(["price", "7"]).tolist()
    [229902, 7]
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return hash_strings(buffers_of(encoded), "", bits)


def hash_strings(strings: Buffers, prefix: str, bits: int) -> NDArray[np.int32]:
    """Return the column of prefix + string for each string."""
    indices: NDArray[np.int32] = _core.hash_strings(*strings, prefix, bits)
    return indices


def count_words(
    strings: Buffers, prefix: str, bits: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count prefix + word in each string: indptr, indices, counts."""
    indptr, indices, counts = _core.hash_words(*strings, prefix, bits)
    return indptr, indices, counts


def lowered(strings: Buffers) -> Buffers:
    """Return strings in lower case, each letter independently of its position.

    >>> data, offsets = lowered(buffers_of(["ÀB".encode(), b"c"]))
    >>> data.tobytes().decode(), offsets.tolist()
    ('àbc', [0, 3, 4])
    """
    data, offsets = strings
    used = data[offsets[0] : offsets[-1]] if len(offsets) else data[:0]
    if not np.any(used & 0x80):
        capital = (data >= ord("A")) & (data <= ord("Z"))
        return data + (capital * np.uint8(32)), offsets
    whole = data.tobytes()
    return buffers_of(
        [
            lower(whole[i:j].decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
            for i, j in pairwise(offsets.tolist())
        ]
    )


def lower(text: str) -> str:
    """Return a text in lower case, each letter independently; str.lower depends on the position.

    >>> lower("ΟΔΟΣ"), len(lower("İ"))
    ('οδοσ', 1)
    """
    return text.replace("Σ", "σ").replace("İ", "i").lower()


def buffers_of(encoded: list[bytes]) -> Buffers:
    """Return encoded strings in the layout of Arrow: all bytes, and offsets.

    >>> buffers_of([b"a", b"bc"])[1].tolist()
    [0, 1, 3]
    """
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


class Names:
    """The first 65,536 names that were hashed, by their hashes of 30 bits.

    >>> names = Names()
    >>> names.add(hash_names(["city=Oslo"], MOST_HASH_BITS), lambda i: "city=Oslo")
    >>> list(names), by_column(names, bits=18, first=2)
    (['city=Oslo'], {223139: 'city=Oslo'})
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        listed = list(names)
        keys = hash_names(listed, MOST_HASH_BITS).tolist() if listed else []
        self.known = dict(zip(keys, listed, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.known.values())

    def add(self, keys: NDArray[np.int32], name_of: Callable[[int], str]) -> None:
        """Keep the names of new keys; ``name_of(i)`` returns the name of ``keys[i]``."""
        if len(self.known) >= MOST_NAMES:
            return
        distinct, places = np.unique(keys, return_index=True)
        for key, place in zip(distinct.tolist(), places.tolist(), strict=True):
            if key not in self.known and len(self.known) < MOST_NAMES:
                name = name_of(place)
                if len(name) <= LONGEST_NAME:
                    self.known[key] = name


def by_column(names: Iterable[str], bits: int, first: int) -> dict[int, str]:
    """Return the names by their columns, of which the ``first`` is that of hash 0.

    Names that share a column are joined by " | ".
    """
    listed = list(names)
    found: dict[int, list[str]] = defaultdict(list)
    if listed:
        columns = hash_names(listed, bits).tolist()
        for column, name in zip(columns, listed, strict=True):
            found[first + column].append(name)
    return {column: " | ".join(each) for column, each in found.items()}


# -- notations -----------------------------------------------------------------------------------

GAPS = frozenset(
    ("", "?", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".", "none", "null", "nan", "na", "n/a")
)
# Numbers in notations for people: 1,000  1_000  12,5  1.234,5  $5  5 %
_NUMBER_LIKE = re.compile(
    r"[-+]?[$€£¥]?\s?[-+]?"
    r"(\d{1,3}([,'_\u00a0\u202f]\d{3})+(\.\d+)?|\d+,\d+|\d{1,3}(\.\d{3})+,\d+|\d+(\.\d+)?)"
    r"([eE][-+]?\d+)?\s?[%$€£¥]?"
)


def is_gap(text: str) -> bool:
    """Return True if a cell says that a number is missing.

    >>> is_gap("?"), is_gap(" - "), is_gap("0")
    (True, True, False)
    """
    return text.strip().lower() in GAPS


def is_number_like(text: str) -> bool:
    """Return True if a cell is a number in a notation for people.

    >>> [is_number_like(text) for text in ("1,000", "12,5", "5 %", "3a", "2020-01-01")]
    [True, True, True, False, False]
    """
    return _NUMBER_LIKE.fullmatch(text.strip()) is not None


# -- dates ---------------------------------------------------------------------------------------

_DATE = re.compile(
    r"(\d{4})([-/])(\d{1,2})\2(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?\s?(?:Z|UTC|[-+]\d\d:?\d\d)?)?"
)
EPOCH = datetime.date(2000, 1, 1).toordinal()
YEAR, WEEK = 365.2425, 7.0  # days
#: Numbers that a date becomes. Each angle begins at 0 (1 January, Monday, midnight), where its sine
#: and one minus its cosine are 0.
CYCLES = tuple(f"{cycle}, {part}" for cycle in ("year", "week", "day") for part in ("sin", "cos"))
DATE_PARTS = ("years", *CYCLES)


def is_date(text: str) -> bool:
    """Return True if a cell is a date, with or without a time of day.

    >>> [is_date(text) for text in ("2024-02-29", "2024/1/5 13:05", "2023-02-29", "1.5")]
    [True, True, False, False]
    """
    return not math.isnan(_days(text)[0])


def _days(text: str) -> tuple[float, float]:
    """Return the day, counted from year 1, and the time as a share of it; NaN if it is no date."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return math.nan, 0.0
    year, _, month, day, *time = found.groups()
    hours, minutes, seconds = (int(part or 0) for part in time)
    try:
        date = datetime.date(int(year), int(month), int(day)).toordinal()
        datetime.time(hours, minutes, min(seconds, 59))
    except ValueError:
        return math.nan, 0.0
    return float(date), (hours + (minutes + seconds / 60) / 60) / 24


def date_numbers(texts: Iterable[str]) -> NDArray[np.float64]:
    """Return dates as numbers, one row for each: see ``DATE_PARTS``. Zones are ignored.

    The first number is the time since the year 2000 in years. Rows of other texts are NaN.

    >>> date_numbers(["2001-01-01", "?"]).round(2).tolist()[0]
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    days, times = np.array([_days(text) for text in texts], np.float64).reshape(-1, 2).T
    firsts = [
        datetime.date.fromordinal(int(day)).replace(month=1, day=1).toordinal() if day == day else 0
        for day in days.tolist()
    ]
    turns = ((days - firsts + times) / YEAR, ((days - 1) % WEEK + times) / WEEK, times + 0 * days)
    angles = 2 * np.pi * np.array(turns)
    parts = np.stack([np.sin(angles), 1 - np.cos(angles)], axis=1).reshape(6, -1)
    return np.column_stack([(days - EPOCH + times) / YEAR, *parts])


# -- columns -------------------------------------------------------------------------------------

TEXT, NUMBER, WHOLE, BOOLEAN, MISSING = range(5)  # the types of the core
NUMERIC = (NUMBER, WHOLE, BOOLEAN)


class Column:
    """Some cells of a column: strings, and the number that each of them stands for.

    The strings are in the layout of Arrow: all bytes in one array, string i from offset i to i + 1.

    >>> column = Column.of(["1.5", "", "true"])
    >>> column.values
    array([1.5, nan, 1. ])
    """

    type: str | None = None  # the kind that the format gives the column, if it gives one
    label_type: str | None = None  # the type that it gives labels

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[Any]) -> None:
        self._buffers: Buffers = data, offsets

    @classmethod
    def of(cls, strings: list[str]) -> Column:
        """Return the column of some strings."""
        return cls(*buffers_of([string.encode("utf-8", "surrogatepass") for string in strings]))

    def __len__(self) -> int:
        return len(self.strings()[1]) - 1

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        values, kinds = _core.read_values(*self.strings())
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
        return np.isin(self.kinds, NUMERIC)

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Which strings say that a number is missing: also words such as "?"."""
        gaps = np.equal(self.kinds, MISSING)
        for i in np.flatnonzero(self.kinds == TEXT).tolist():
            gaps[i] = is_gap(self.text(i))
        return gaps

    @property
    def malformed(self) -> NDArray[np.bool_]:
        """Which strings are neither a number nor a gap."""
        return np.asarray((self.kinds == TEXT) & ~self.gaps)

    @property
    def texts(self) -> list[str]:
        """The strings that are no numbers and not missing."""
        return [self.text(i) for i in np.flatnonzero(self.kinds == TEXT).tolist()]

    def labels(self, kind: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the strings as labels of a type, and which of them are invalid."""
        if kind == "text":
            return np.array(self.tolist(), dtype=np.str_), self.missing
        if kind == "bool":
            return self.values == 1, self.kinds != BOOLEAN
        wrong = ~np.isfinite(self.values) | (self.kinds == BOOLEAN)
        if kind == "int" and np.all((self.kinds == WHOLE) | wrong):
            wrong |= self.beyond_64_bits()
            return self._whole(wrong), wrong
        return self.values, wrong

    def beyond_64_bits(self) -> NDArray[np.bool_]:
        """Return which strings are whole numbers that 64 bits cannot represent."""
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
        return self._buffers

    def at(self, row: int) -> Any:
        """Return a value for a message; None if it is empty."""
        return self.text(row) or None

    def text(self, row: int) -> str:
        """Return one string."""
        data, offsets = self.strings()
        start, stop = offsets[row : row + 2].tolist()
        return bytes(data[start:stop]).decode("utf-8", "replace")

    def tolist(self) -> list[str]:
        """Return all strings."""
        data, offsets = self.strings()
        whole = data.tobytes()
        return [whole[i:j].decode("utf-8", "replace") for i, j in pairwise(offsets.tolist())]


def looks_like_texts(strings: Buffers) -> bool:
    """Return True if strings look like texts: most are different and have several words.

    >>> looks_like_texts(Column.of([f"this is text {i}" for i in range(60)]).strings())
    True
    >>> looks_like_texts(Column.of(["New York City", "San Juan"] * 30).strings())
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
