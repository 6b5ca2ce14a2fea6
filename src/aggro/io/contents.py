"""What the columns of a table hold, by their first rows; the same rules for all formats."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

FEW = 0.1  # a column of numbers has at most this share of cells that are something else
ENOUGH = 50  # values before a column is called a counter, a constant or an identifier
ENOUGH_RISES = 20  # distinct values of a counter
GAPS = frozenset(
    ("", "?", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".", "none", "null", "nan", "na", "n/a")
)
# Numbers as people write them and no parser reads them: 1,000  1_000  12,5  1.234,5  $5  5 %
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
    """The first cells of a column: its numbers, in order, and all other cells but missing ones.

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
        """Whether the numbers only rise or only fall, as those of rows and times do."""
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
        """Whether each cell of a category is a name of its own, of less than three words."""
        if self.kind != "category" or len(self.texts) < ENOUGH:
            return False
        if len(set(self.texts)) < len(self.texts) or len(np.unique(self.numbers)) < len(
            self.numbers
        ):
            return False
        return sum(text.count(" ") for text in self.texts) < 2 * len(self.texts)

    def remarks(self, name: str, *, is_asked_for: bool, is_label: bool) -> Iterator[str]:
        """Yield what a person should know about the column; options stand in braces."""
        if not self.is_mixed or is_asked_for:
            return
        unlike = f" (not {self.example!r})" if self.example else ""
        what = "are read as names of classes" if is_label else "are read as categories"
        way_out = "{labels=text} says so" if is_label else "name it in {categorical}"
        yield (
            f"column {name!r}: most values are numbers{unlike}, but they {what}; correct the "
            f"others if it is a column of numbers; if it is not, {way_out}"
        )

    def reason_to_leave_out(self) -> str | None:
        """Return why a column is no feature unless it was named as one."""
        if self.is_counter:
            return "only rises or only falls, as the numbers of rows and times do"
        if self.is_constant:
            return f"has the value {self.numbers[0]:g} in all rows"
        if self.is_identifier:
            return "has a value of its own in each row, as identifiers do"
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
