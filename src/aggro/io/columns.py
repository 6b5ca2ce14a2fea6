"""The contents of a table's columns and the kind of each; the same rules for all formats."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.batch import Findings
from aggro.io.errors import ReadingError
from aggro.io.options import KINDS, Options

FEW = 0.1  # the largest share of other cells in a column of numbers
ENOUGH = 50  # values needed to call a column a counter, a constant or an identifier
ENOUGH_RISES = 20  # distinct values of a counter
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


@dataclasses.dataclass(frozen=True)
class Contents:
    """The first cells of a column: its numbers, in order, and all other cells that are not missing.

    ``type`` is the kind that the format gives the column, if it gives one.

    >>> Contents(np.arange(9.0), ["1_000", "oops"]).kind
    'number'
    >>> Contents(np.arange(2.0), ["3a"]).kind
    'category'
    """

    numbers: NDArray[np.float64]
    texts: list[str]
    type: str | None = None

    @property
    def kind(self) -> str:
        """The kind of the column: its type, else number if 90 % of its cells are numbers.

        Cells in a notation for people count as numbers, and gaps do not count.
        """
        if self.type is not None:
            return self.type
        if not self.texts:
            return "number"
        likes, others = self._counts()
        numbers = len(self.numbers) + likes
        return "number" if numbers and others <= FEW * (numbers + others) else "category"

    def _counts(self) -> tuple[int, int]:
        """Return the counts of cells that look like numbers, and of other texts."""
        likes = sum(map(is_number_like, self.texts))
        return likes, len(self.texts) - likes - sum(map(is_gap, self.texts))

    @property
    def is_mixed(self) -> bool:
        """Whether most cells of a category are numbers."""
        if self.kind != "category":
            return False
        likes, others = self._counts()
        numbers = len(self.numbers) + likes
        return numbers > others and numbers + others >= 1 / FEW

    @property
    def example(self) -> str | None:
        """A cell that is no number."""
        others = (text for text in self.texts if not is_gap(text) and not is_number_like(text))
        return next(others, None)

    @property
    def is_counter(self) -> bool:
        """Whether the numbers only rise or only fall, as row numbers and times do."""
        if self.kind != "number" or len(self.numbers) < ENOUGH:
            return False
        steps = np.diff(self.numbers)
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            return False
        return int(np.count_nonzero(steps)) >= ENOUGH_RISES

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are the same, and not zero."""
        numbers = self.numbers
        if self.kind != "number" or len(numbers) < ENOUGH:
            return False
        return bool(numbers[0] != 0 and np.all(numbers == numbers[0]))

    @property
    def is_identifier(self) -> bool:
        """Whether all cells of a category are different, and have less than three words."""
        if self.kind != "category" or len(self.texts) < ENOUGH:
            return False
        if len(set(self.texts)) < len(self.texts) or len(np.unique(self.numbers)) < len(
            self.numbers
        ):
            return False
        return sum(text.count(" ") for text in self.texts) < 2 * len(self.texts)

    def remarks(self, name: str, *, is_requested: bool, is_label: bool) -> Iterator[str]:
        """Yield warnings about the column; options stand in braces."""
        if not self.is_mixed or is_requested:
            return
        unlike = f" (not {self.example!r})" if self.example else ""
        what = "are read as names of classes" if is_label else "are read as categories"
        way_out = "{labels=text} says so" if is_label else "name it in {categorical}"
        yield (
            f"column {name!r}: most values are numbers{unlike}, but they {what}; correct the "
            f"others if it is a column of numbers; if it is not, {way_out}"
        )

    def reason_to_leave_out(self) -> str | None:
        """Return why a column is omitted unless it is requested, or None."""
        if self.is_counter:
            return "only rises or only falls, as row numbers and times do"
        if self.is_constant:
            return f"has the value {self.numbers[0]:g} in all rows"
        if self.is_identifier:
            return "has a different value in each row, as identifiers do"
        return None


def contents_of_cells(cells: Iterable[object]) -> Contents:
    """Return the contents of the values of a JSON key.

    >>> contents_of_cells([1, True, "x", None]).texts
    ['x']
    """
    values = [cell for cell in cells if isinstance(cell, (str, bool, int, float))]
    texts = [value for value in values if isinstance(value, str)]
    numbers = np.array([_as_float(value) for value in values if not isinstance(value, str)])
    return Contents(numbers, texts, "category" if texts and not len(numbers) else None)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


OTHERS = "*"  # with "hashed": all columns that are not named


@dataclasses.dataclass(frozen=True)
class Plan:
    """The kind of each column, and the columns of label and weight."""

    label: str | None
    weight: str | None
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    hashed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    is_open: bool = False  # other columns are hashed, and named ones may be absent

    @classmethod
    def of(cls, kinds: Mapping[str, str], options: Options) -> Plan:
        """Return the plan of a mapping from names to kinds."""

        def those(kind: str) -> tuple[str, ...]:
            return tuple(n for n, k in kinds.items() if k == kind and (n, k) != (OTHERS, "hashed"))

        is_open = kinds.get(OTHERS) == "hashed"
        numbers, categories, texts, hashed, ignored = map(those, KINDS)
        ends = (options.label, options.weight)
        return cls(*ends, numbers, categories, texts, hashed, ignored, is_open)

    @property
    def is_hashed(self) -> bool:
        """Whether any column is hashed."""
        return bool(self.categories or self.texts or self.hashed or self.is_open)

    def width(self, options: Options) -> int:
        """Return the number of columns of X: numbers first, then hashed columns."""
        return len(self.numbers) + (options.n_hashed if self.is_hashed else 0)

    @property
    def features(self) -> tuple[str, ...]:
        """All columns that are features."""
        return self.numbers + self.categories + self.texts + self.hashed

    @property
    def used(self) -> list[str]:
        """The columns that must be read."""
        wanted = [self.label, self.weight, *self.features]
        return [name for name in dict.fromkeys(wanted) if name is not None]

    def for_table(self, present: Iterable[str], path: str) -> Plan:
        """Return the plan for a table with these columns; raise if a needed one is absent.

        In an open plan, columns that are not named are hashed, and absent ones count as zero.
        """
        present = list(present)
        needed = [self.label, self.weight] if self.is_open else self.used
        absent = [name for name in needed if name is not None and name not in present]
        if absent:
            listed = ", ".join(map(repr, present))
            raise ReadingError(path, f"no column {absent[0]!r}; its columns are {listed}")
        if not self.is_open:
            return self

        def those(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if name in present)

        new = tuple(name for name in present if name not in (*self.used, *self.ignored))
        return dataclasses.replace(
            self,
            categories=those(self.categories),
            texts=those(self.texts),
            hashed=those(self.hashed) + new,
        )


def check_names(names: list[str], path: str) -> None:
    """Raise if two columns have the same name."""
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ReadingError(path, f"two columns are called {twice[0]!r}; rename one of them")


def requested_kinds(
    contents: Mapping[str, Contents], options: Options, path: str, found: Findings
) -> dict[str, str]:
    """Return the kinds of the requested columns of a table; raise if one is absent."""
    chosen: Iterable[str] | None = options.columns
    if chosen is None:
        chosen = [name for name in contents if name not in (options.label, options.weight)]
    named = (*chosen, *options.text, *options.categorical)
    wanted: list[Any] = [options.label, options.weight, *named]
    absent = [name for name in wanted if name is not None and name not in contents]
    if absent:
        listed = ", ".join(map(repr, contents))
        raise ReadingError(path, f"no column {absent[0]!r}; its columns are {listed}")
    kinds = with_requested(
        {name: contents[name].kind for name in chosen}, contents, options, found
    )
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ReadingError(
                path,
                f"column {name!r} is of type {kind}; expected numbers or strings",
                "; leave it out by naming the others in {columns}",
            )
    return kinds


def with_requested(
    kinds: dict[str, str], contents: Mapping[str, Contents], options: Options, found: Findings
) -> dict[str, str]:
    """Return the kinds with the requested ones, and note suspicious columns.

    If the options say so, columns without information about a row are ignored, unless they are
    named or all columns are like that.
    """
    kinds = {
        **kinds,
        **dict.fromkeys(options.text, "text"),
        **dict.fromkeys(options.categorical, "category"),
    }
    for name, each in contents.items():
        is_label = name == options.label
        is_requested = name in (*options.text, *options.categorical) or kinds.get(name) == "ignored"
        if name in kinds or (is_label and options.labels == "auto"):
            found.notes += each.remarks(name, is_requested=is_requested, is_label=is_label)
    if options.uninformative == "keep" or options.columns is not None:
        return kinds
    reasons = {
        name: contents[name].reason_to_leave_out()
        for name in kinds
        if name in contents and name not in (*options.text, *options.categorical)
    }
    useless = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(useless) == len([name for name in kinds if name != OTHERS]):
        return kinds
    for name, reason in useless.items():
        found.notes.append(
            f"column {name!r} {reason}; it is omitted; name it in {{columns}} to learn from it"
        )
    return {**kinds, **dict.fromkeys(useless, "ignored")}
