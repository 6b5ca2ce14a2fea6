"""Tables of texts, categories and numbers, from frames, dicts and rows of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from aggro import _core
from aggro.io.batch import RawRows
from aggro.io.strings import Buffers, Column, date_numbers, is_gap
from aggro.learner import Array
from aggro.selection.feature_maps import SIZES
from aggro.text.sources import Laid, Listed, Texts, texts_of

KINDS = ("text", "category", "number", "date", "cycle")
LARGEST = 1e18  # of a number, whose square must be one, too


@dataclass(frozen=True)
class Table:
    """Some rows, column by column."""

    texts: list[Texts]
    categories: Texts | None = None
    numbers: Array | None = None
    count: int = 0

    def __len__(self) -> int:
        return self.count

    def take(self, order: Any) -> Table:
        """Return the rows of these numbers, or of a slice."""
        count = len(range(*order.indices(self.count))) if isinstance(order, slice) else len(order)
        return Table(
            [texts.take(order) for texts in self.texts],
            None if self.categories is None else self.categories.take(order),
            None if self.numbers is None else self.numbers[order],
            count,
        )


def check_columns(columns: Any) -> None:
    """Raise unless ``columns`` maps names to kinds."""
    if columns is None:
        return
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(
            f"columns={columns!r} is not valid; give a mapping such as "
            "{'title': 'text', 'price': 'number', 'shop': 'category'}."
        )
    for name, kind in columns.items():
        if kind not in KINDS:
            raise ValueError(
                f"columns={{{name!r}: {kind!r}}} is not valid; a column is 'text', 'category', "
                "'number', 'date', or 'cycle' for a date without its year."
            )


def table_of(X: Any, columns: Mapping[str, str] | None) -> Table:
    """Return X as a table: texts alone, or the named columns of a frame or of dicts."""
    if columns is None:
        texts = _checked(X)
        return Table([texts], count=len(texts))
    names = {kind: [n for n, k in columns.items() if k == kind] for kind in KINDS}
    found = {name: _column(X, name) for name in columns}
    count = len(next(iter(found.values())))
    documents = [_named(found[name], name) for name in names["text"]]
    categories = [_category(found[name], name) for name in names["category"]]
    numbers = [_number(found[name], name) for name in names["number"]]
    numbers += [_dates(found[name], name) for name in names["date"]]
    numbers += [_dates(found[name], name)[:, 1:] for name in names["cycle"]]
    return Table(
        documents,
        Listed([" ".join(row) for row in zip(*categories, strict=True)]) if categories else None,
        np.column_stack(numbers) if numbers else None,
        count,
    )


def _column(X: Any, name: str) -> Any:
    """Return a column of a frame, of a mapping of columns or of dicts."""
    if isinstance(X, Sequence) and all(isinstance(row, Mapping) for row in X):
        absent = next((i for i, row in enumerate(X) if name not in row), None)
        if absent is not None:
            raise ValueError(f"row {absent} has no {name!r}; give every column in every row.")
        return [row[name] for row in X]
    present = list(getattr(X, "columns", X if isinstance(X, Mapping) else ()))
    if name not in present:
        listed = ", ".join(map(repr, present)) or "none"
        raise ValueError(f"X has no column {name!r}; its columns are {listed}.")
    return X[name]


def _named(column: Any, name: str) -> Texts:
    """Return a column of texts; missing ones are empty."""
    try:
        return _checked(column)
    except ValueError as error:
        values = _values(column)
        if None in values:
            return _named(["" if value is None else value for value in values], name)
        raise ValueError(f"column {name!r}: {error}") from error


def _checked(column: Any) -> Texts:
    texts = texts_of(column)
    texts.check()
    return texts


def _category(column: Any, name: str) -> list[str]:
    """Return a word "name=value" for each value; missing values have no word."""
    prefix = quote(name, safe="")
    return [
        "" if value is None else f"{prefix}={quote(str(value), safe='')}"
        for value in _values(column)
    ]


def _values(column: Any) -> list[Any]:
    """Return the values of a column, with None for missing ones."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return [None if _is_missing(value) else value for value in values]


def _is_missing(value: Any) -> bool:
    """Return True for None, NaN, and the missing values of pandas."""
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def _number(column: Any, name: str) -> Array:
    """Return numbers, with NaN for missing ones.

    Strings are read as in files: NumPy reads "1_000" as a number, too.
    """
    if getattr(getattr(column, "dtype", None), "kind", None) in tuple("biuf"):
        numbers = np.array(column, np.float64)
    else:
        values = _values(column)
        strings = Column.of([each if isinstance(each, str) else "0" for each in values])
        wrong = strings.malformed | np.isinf(strings.values)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"column {name!r} must hold numbers, but row {row} is {values[row]!r}; put a "
                f"number there, leave the row out, or take the column as {{{name!r}: 'category'}}."
            )
        read = zip(values, strings.values.tolist(), strict=True)
        try:
            numbers = np.array(
                [each if isinstance(value, str) else value for value, each in read], np.float64
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"column {name!r} must hold numbers: {error}.") from None
    wrong = np.abs(numbers) >= LARGEST
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"column {name!r}, row {row}: {numbers[row]} is no number below {LARGEST:g}; put a "
            "number there, or leave the row out."
        )
    return numbers


def _dates(column: Any, name: str) -> Array:
    """Return the numbers of dates, with NaN for missing ones."""
    values = _values(column)
    numbers = date_numbers(["" if each is None else str(each) for each in values])
    for row in np.flatnonzero(np.isnan(numbers[:, 0])).tolist():
        if values[row] is not None and not is_gap(str(values[row])):
            raise ValueError(
                f"column {name!r} must hold dates, but row {row} is {values[row]!r}; give dates "
                f"such as 2024-01-31, or take the column as {{{name!r}: 'category'}}."
            )
    return numbers


# -- rows of files -------------------------------------------------------------------------------


def table_of_rows(raw: RawRows, order: Array | slice = slice(None)) -> Table:
    """Return rows of a file, or some of them, as a table; missing values have no word."""
    rows = raw.rows[order]
    whole = (
        len(rows) > 0 and len(rows) == rows[-1] - rows[0] + 1 and bool((np.diff(rows) > 0).all())
    )
    which = slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows
    return Table(
        [_texts(*column, which) for column in raw.texts.values()],
        _categories(raw, rows) if raw.categories else None,
        raw.numbers[rows].astype(np.float64) if raw.numbers.shape[1] else None,
        len(rows),
    )


def _texts(strings: Buffers, missing: Array, which: Array | slice) -> Texts:
    data, offsets = strings
    texts = Laid(data, np.asarray(offsets, np.int64)).take(which)
    if not missing[which].any():
        return texts
    places = range(*which.indices(len(missing))) if isinstance(which, slice) else which
    listed = Laid(data, np.asarray(offsets, np.int64)).take(places)
    assert isinstance(listed, Listed)
    pairs = zip(listed.documents, missing[which].tolist(), strict=True)
    return Listed([b"" if gone else text for text, gone in pairs])


def _categories(raw: RawRows, rows: Array) -> Listed:
    columns = []
    for name, ((data, offsets), missing) in raw.categories.items():
        prefix, whole = quote(name, safe=""), data.tobytes()
        values = [whole[offsets[i] : offsets[i + 1]] for i in rows.tolist()]
        columns.append(
            [
                "" if gone else f"{prefix}={quote(value, safe='')}"
                for value, gone in zip(values, missing[rows].tolist(), strict=True)
            ]
        )
    return Listed([" ".join(row) for row in zip(*columns, strict=True)])


# -- features of numeric columns -----------------------------------------------------------------

Entries = tuple[Array, Array, Array]  # starts, columns and values of sparse rows


@dataclass(frozen=True)
class Sizes:
    """Numbers by their size: sums of squares of the non-zero values of columns, and their counts.

    A missing number counts as zero.
    """

    squares: Array
    counts: Array

    @staticmethod
    def of(columns: int) -> Sizes:
        """Return the sizes of columns without values."""
        return Sizes(np.zeros(columns), np.zeros(columns))

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.squares)

    def arrays(self) -> dict[str, Array]:
        """Return the state as arrays by name."""
        return {"squares": self.squares, "counts": self.counts}

    def loaded(self, arrays: Mapping[str, Array]) -> Sizes:
        """Return the same features with this state."""
        return Sizes(arrays["squares"], arrays["counts"])

    def entries(self, numbers: Array, learn: bool) -> tuple[Entries, Sizes]:
        """Return the features of some rows, and the state after learning them."""
        scaled, known = self.scaled(np.nan_to_num(numbers), learn)
        return _sparse(scaled), known

    def scaled(self, numbers: Array, learn: bool) -> tuple[Array, Sizes]:
        """Return numbers over their root mean square so far, the row included if it is learned.

        Sums are taken row by row, so that they do not depend on calls.
        """
        squares, counts = self.squares[None], self.counts[None]
        known: Sizes = self
        if learn and len(numbers):
            squares = np.cumsum(np.concatenate([squares, numbers**2]), axis=0)[1:]
            counts = np.cumsum(np.concatenate([counts, numbers != 0]), axis=0)[1:]
            known = Sizes(squares[-1].copy(), counts[-1].copy())
        size = np.sqrt(squares / np.maximum(counts, 1.0))
        return numbers / np.where(size > 0, size, 1.0), known


@dataclass(frozen=True)
class MappedNumbers:
    """Non-linear features of numbers (see ``FeatureMap``); a missing number has its own cells."""

    core: _core.FeatureMap

    @staticmethod
    def of(columns: int, features: str, seed: int) -> MappedNumbers:
        """Return the features of columns without values."""
        core = _core.FeatureMap([SIZES[features]], seed)
        core.grow(columns)
        return MappedNumbers(core)

    @property
    def width(self) -> int:
        """Number of features."""
        return self.core.features(0)

    def arrays(self) -> dict[str, Array]:
        """Return the state as arrays by name."""
        return dict(self.core.state())

    def loaded(self, arrays: Mapping[str, Array]) -> MappedNumbers:
        """Return the same features with this state."""
        core = self.core.copy()
        core.load_state(dict(arrays))
        if core.columns != self.core.columns:
            raise ValueError("the feature map has another number of columns")
        return MappedNumbers(core)

    def entries(self, numbers: Array, learn: bool) -> tuple[Entries, MappedNumbers]:
        """Return the features of some rows, and the state after learning them."""
        core = self.core.copy() if learn else self.core
        rows = _core.Rows(np.ascontiguousarray(numbers))
        (mapped,) = core.map(rows, [0], learn=learn, single=True)
        if len(mapped) == 1:
            return _sparse(mapped[0]), MappedNumbers(core)
        values, columns, starts, _ = mapped
        return (starts, columns, values), MappedNumbers(core)


def numbers_of(columns: int, features: str, seed: int) -> Sizes | MappedNumbers | None:
    """Return the features of numeric columns; None if there are no columns."""
    if columns == 0:
        return None
    return Sizes.of(columns) if features == "linear" else MappedNumbers.of(columns, features, seed)


def _sparse(numbers: Array) -> Entries:
    """Return the entries of a dense matrix that are not zero."""
    rows, columns = np.nonzero(numbers)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(numbers)))])
    return starts.astype(np.int64), columns.astype(np.int32), numbers[rows, columns]
