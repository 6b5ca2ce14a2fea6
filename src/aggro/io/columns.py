"""The contents of a table's columns and the kind of each; the same rules for all formats."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.batch import Findings
from aggro.io.options import KINDS, Options, ReadingError
from aggro.io.strings import (
    BOOLEAN,
    CYCLES,
    DATE_PARTS,
    NUMERIC,
    TEXT,
    WHOLE,
    Column,
    date_numbers,
    is_date,
    is_gap,
    is_number_like,
    label_type,
)

FEW = 0.1  # the largest share of other cells in a column of numbers
ENOUGH = 50  # values needed to call a column a counter, a constant or an identifier
ENOUGH_RISES = 20  # distinct values of a counter


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

    @functools.cached_property
    def kind(self) -> str:
        """The kind of the column: its type, else number or date if 90 % of its cells are such.

        Cells in a notation for people count as numbers, and gaps do not count. A category of dates
        is a column of dates.
        """
        if self.type not in (None, "category"):
            return str(self.type)
        if not self.texts:
            return self.type or "number"
        likes, others = self._counts
        numbers = len(self.numbers) + likes
        if others and sum(map(is_date, self.texts)) >= (1 - FEW) * (numbers + others):
            return "date"
        if self.type is not None:
            return self.type
        return "number" if numbers and others <= FEW * (numbers + others) else "category"

    @functools.cached_property
    def _counts(self) -> tuple[int, int]:
        """The counts of cells that look like numbers, and of other texts."""
        likes = sum(map(is_number_like, self.texts))
        return likes, len(self.texts) - likes - sum(map(is_gap, self.texts))

    @property
    def is_mixed(self) -> bool:
        """Whether most cells of a category are numbers."""
        if self.kind != "category":
            return False
        likes, others = self._counts
        numbers = len(self.numbers) + likes
        return numbers > others and numbers + others >= 1 / FEW

    @property
    def example(self) -> str | None:
        """A cell that is no number."""
        others = (text for text in self.texts if not is_gap(text) and not is_number_like(text))
        return next(others, None)

    @property
    def is_counter(self) -> bool:
        """Whether the numbers or dates only rise or only fall, as row numbers and times do."""
        values = self.numbers if self.kind == "number" else self._years
        if len(values) < ENOUGH:
            return False
        steps = np.diff(values)
        if not (np.all(steps >= 0) or np.all(steps <= 0)):
            return False
        return int(np.count_nonzero(steps)) >= ENOUGH_RISES

    @property
    def _years(self) -> NDArray[np.float64]:
        if self.kind != "date":
            return np.empty(0)
        years = date_numbers(self.texts)[:, 0]
        return years[~np.isnan(years)]

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


def contents_of(column: Column) -> Contents:
    """Return the contents of a column."""
    return Contents(column.values[np.isin(column.kinds, NUMERIC)], column.texts, column.type)


def label_kind(column: Column) -> str | None:
    """Return the type of such labels: text, bool, int or float; None if there are none.

    Whole numbers beyond 64 bits are names, since a float would make several of them one. A few
    labels of another type do not count: they are errors.
    """
    if column.label_type is not None:
        return column.label_type
    present = column.kinds[~column.missing]
    if len(present) == 0:
        return None
    if contents_of(column).kind != "number":
        return "text"
    present = present[present != TEXT]
    if np.all(present == BOOLEAN):
        return "bool"
    if not np.all(present == WHOLE):
        return "float"
    return "text" if np.mean(column.beyond_64_bits()) > FEW else "int"


def numeric_names(kinds: Mapping[str, str]) -> list[str]:
    """Return the names of the columns of X that are not hashed: numbers, then parts of dates.

    >>> numeric_names({"since": "cycle", "age": "number"})[:2]
    ['age', 'since (year, sin)']
    """

    def those(kind: str) -> list[str]:
        return [name for name, each in kinds.items() if each == kind]

    parts = {"date": DATE_PARTS, "cycle": CYCLES}
    dates = [f"{name} ({part})" for kind in parts for name in those(kind) for part in parts[kind]]
    return those("number") + dates


OTHERS = "*"  # with "hashed": all columns that are not named


HASHED = ("category", "text", "hashed")  # kinds without columns of their own


@dataclasses.dataclass(frozen=True)
class Plan:
    """The kind of each column, and the columns of label and weight."""

    label: str | None
    weight: str | None
    kinds: Mapping[str, str]
    is_open: bool = False  # other columns are hashed, and named ones may be absent

    @classmethod
    def of(cls, kinds: Mapping[str, str], options: Options) -> Plan:
        """Return the plan of a mapping from names to kinds."""
        named = {name: kind for name, kind in kinds.items() if (name, kind) != (OTHERS, "hashed")}
        return cls(options.label, options.weight, named, len(named) < len(kinds))

    def those(self, *kinds: str) -> list[str]:
        """Return the columns of some kinds, one kind after another."""
        return [name for kind in kinds for name, each in self.kinds.items() if each == kind]

    @property
    def is_hashed(self) -> bool:
        """Whether any column is hashed."""
        return self.is_open or bool(self.those(*HASHED))

    @property
    def numeric(self) -> int:
        """The number of columns of X that are not hashed, which come first."""
        return len(numeric_names(self.kinds))

    def width(self, options: Options) -> int:
        """Return the number of columns of X."""
        return self.numeric + (options.n_hashed if self.is_hashed else 0)

    @property
    def features(self) -> list[str]:
        """All columns that are features."""
        return [name for name, kind in self.kinds.items() if kind != "ignored"]

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
        check_present(needed, present, path)
        if not self.is_open:
            return self
        kinds = {
            name: kind
            for name, kind in self.kinds.items()
            if name in present or kind not in HASHED  # others keep their columns of X
        }
        known = {*self.kinds, self.label, self.weight}
        kinds |= {name: "hashed" for name in present if name not in known}
        return dataclasses.replace(self, kinds=kinds)

    def without_hashed(self, *, is_open: bool) -> Plan:
        """Return the plan of the other columns."""
        kinds = {name: kind for name, kind in self.kinds.items() if kind != "hashed"}
        return dataclasses.replace(self, kinds=kinds, is_open=is_open)


def plan_of(
    names: list[str],
    sample: Callable[[list[str]], dict[str, Column]],
    options: Options,
    path: str,
    found: Findings,
) -> Plan:
    """Return the plan of a table's columns: of earlier files, as requested, or by their contents.

    ``sample`` returns the first cells of some columns.
    """
    check_names(names, path)
    first: dict[str, Column] = {}
    if found.columns is None and options.kinds is not None:
        found.columns = dict(options.kinds)
    elif found.columns is None:
        first = sample(names)
        contents = {name: contents_of(column) for name, column in first.items()}
        found.columns = requested_kinds(contents, options, path, found)
    plan = Plan.of(found.columns, options).for_table(names, path)
    if found.labels is None and plan.label is not None:
        first = first or sample([plan.label])
        found.labels = label_type(label_kind(first[plan.label]), options.labels)
    return plan


def check_present(wanted: Iterable[str | None], present: Iterable[str], path: str) -> None:
    """Raise if one of the columns is absent."""
    known = list(present)
    absent = [name for name in wanted if name is not None and name not in known]
    if absent:
        listed = ", ".join(map(repr, known))
        raise ReadingError(path, f"no column {absent[0]!r}; its columns are {listed}")


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
    check_present(wanted, contents, path)
    kinds = with_requested({name: contents[name].kind for name in chosen}, contents, options, found)
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise ReadingError(
                path,
                f"column {name!r} is of type {kind}; expected numbers, strings or dates",
                "; leave it out by naming the others in {columns}",
            )
    return kinds


def with_requested(
    kinds: dict[str, str], contents: Mapping[str, Contents], options: Options, found: Findings
) -> dict[str, str]:
    """Return the kinds with the requested ones, and note suspicious columns.

    If the options say so, columns without information about a row are ignored, unless they are
    named. If all columns are like that, constants remain, or all if there are none.
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
        constants = {name for name in useless if contents[name].is_constant}
        useless = {name: useless[name] for name in useless.keys() - constants if constants}
    for name, reason in useless.items():
        way = "only its cycles count" if kinds[name] == "date" else "it is omitted"
        found.notes.append(
            f"column {name!r} {reason}; {way}; name it in {{columns}} to learn from it"
        )
    kinds |= {name: "cycle" if kinds[name] == "date" else "ignored" for name in useless}
    return kinds
