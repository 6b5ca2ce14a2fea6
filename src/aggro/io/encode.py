"""Columns to features: numbers, parts of dates, and hashed categories and words of texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.batch import MOST_KEPT_PROBLEMS, Batch, RawRows, Report, Strings, from_entries
from aggro.io.columns import HASHED, Plan
from aggro.io.options import BadLine, Options
from aggro.io.strings import (
    DATE_PARTS,
    MOST_HASH_BITS,
    Column,
    count_words,
    date_numbers,
    hash_names,
    hash_strings,
    looks_like_texts,
    lowered,
)

EXPECTED_LABELS = {
    "text": "a label",
    "bool": "true or false, as before",
    "int": "a number of at most 64 bits, as before",
    "float": "a finite number, as before",
}
NOT_A_NUMBER = (
    "; expected a number, as in the rest of the column; correct the cell"
    "; {skip_bad=True} leaves out such rows"
    "; name the column in {categorical} if its values are names"
)
NAMES_ADVICE = " (class names need {labels=text})"
NOT_A_DATE = (
    "; expected a date such as 2024-01-31 or 2024-01-31 13:05; correct the cell"
    "; {skip_bad=True} leaves out such rows"
    "; name the column in {categorical} if its values are names"
)
TAKEN_AS_ZERO = "pass {missing=zero} to take a missing one as zero"
Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # row, column, value


@dataclasses.dataclass
class NamedEntries:
    """Values of columns that are hashed, by row and name."""

    rows: list[int] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    values: list[float] = dataclasses.field(default_factory=list)

    def add(self, row: int, values: Mapping[str, float]) -> None:
        """Add the values of a row."""
        self.rows += [row] * len(values)
        self.names += values
        self.values += values.values()


class Encoder:
    """Encode the columns of one file into batches."""

    def __init__(
        self, plan: Plan, options: Options, report: Report, path: str, *, unit: str = "line"
    ) -> None:
        self.plan, self.options, self.report = plan, options, report
        self.numeric = plan.numeric
        self.path, self.unit = path, unit

    def encode(
        self,
        columns: Mapping[str, Column],
        lines: NDArray[np.int64],
        others: Sequence[BadLine] = (),
        n_others: int = 0,
        named: NamedEntries | None = None,
    ) -> Iterator[Batch]:
        """Yield the good rows; raise at the first bad one unless they are skipped.

        `lines` says where the rows stand in the file; `others` are the first of `n_others` bad
        lines among them that did not even become rows. `named` are further entries of the rows.
        """
        faults = _Faults(len(lines))
        numbers = self._numbers(columns, faults)
        weights = self._weights(columns, faults)
        y = self._labels(columns, faults)
        self._require(columns, faults)
        good = ~faults.bad if self.options.skip_bad else np.cumsum(faults.bad) == 0
        X = self._features(numbers, columns, named)
        if not good.all():
            X = X[good]
            y, weights = (None if each is None else each[good] for each in (y, weights))
        if good.any():
            self.report.n_rows += X.shape[0]
            self.report.n_features = X.shape[1]
            yield Batch(X, y, weights)
        self._raise_or_count(faults, lines, others, n_others)

    def _numbers(self, columns: Mapping[str, Column], faults: _Faults) -> NDArray[Any]:
        names = self.plan.those("number")
        matrix = np.zeros((faults.n_rows, len(names)), self.options.dtype)
        for place, name in enumerate(names):
            if name not in columns:  # an open plan may have columns that this table lacks
                continue
            column = columns[name]
            values = column.values
            if self.options.missing == "zero":
                values = np.where(column.gaps, 0.0, values)
            with np.errstate(over="ignore"):
                matrix[:, place] = values
            malformed = column.malformed
            faults.add(malformed, column, name, NOT_A_NUMBER)
            faults.add(
                ~np.isfinite(matrix[:, place]) & ~malformed,
                column,
                name,
                f"; expected a finite {self.options.dtype}; {TAKEN_AS_ZERO}",
            )
        parts = [self._dates(name, columns, faults, 0) for name in self.plan.those("date")]
        parts += [self._dates(name, columns, faults, 1) for name in self.plan.those("cycle")]
        return np.hstack([matrix, *parts]).astype(self.options.dtype) if parts else matrix

    def _dates(
        self, name: str, columns: Mapping[str, Column], faults: _Faults, first: int
    ) -> NDArray[np.float64]:
        """Return the numbers of a column of dates, from the first one that is used."""
        if name not in columns:
            return np.zeros((faults.n_rows, len(DATE_PARTS) - first))
        column = columns[name]
        numbers = date_numbers(Column(*column.strings()).tolist())[:, first:]
        wrong, gaps = np.isnan(numbers[:, -1]), column.gaps
        faults.add(wrong & ~gaps, column, name, NOT_A_DATE)
        if self.options.missing == "error":
            faults.add(gaps, column, name, f"; expected a date; {TAKEN_AS_ZERO}")
        return np.where(wrong[:, None], 0.0, numbers)

    def _weights(
        self, columns: Mapping[str, Column], faults: _Faults
    ) -> NDArray[np.float64] | None:
        name = self.plan.weight
        if name is None:
            return None
        values = columns[name].values
        wrong = ~(np.isfinite(values) & (values >= 0))
        faults.add(wrong, columns[name], name, "; expected a finite weight that is not negative")
        return values

    def _labels(self, columns: Mapping[str, Column], faults: _Faults) -> NDArray[Any] | None:
        name = self.plan.label
        if name is None:
            return None
        kind = self.report.found.labels or "float"
        kind = "float" if kind == "number" else kind  # found in a file of another format
        y, wrong = columns[name].labels(kind)
        advice = f"; expected {EXPECTED_LABELS[kind]}{NAMES_ADVICE if kind != 'text' else ''}"
        faults.add(wrong, columns[name], name, advice)
        return y

    def _require(self, columns: Mapping[str, Column], faults: _Faults) -> None:
        """Report infinite hashed numbers, and missing values unless they count as zero."""
        largest = np.finfo(self.options.dtype).max
        for name in self.plan.those("hashed"):
            column = columns[name]
            wrong = column.numeric & ~(np.abs(column.values) <= largest)
            faults.add(wrong, column, name, f"; expected a finite {self.options.dtype}")
        if self.options.missing == "zero":
            return
        for name in self.plan.those(*HASHED):
            missing = columns[name].missing
            advice = "; expected a value; pass {missing=zero} to do without"
            faults.add(missing, columns[name], name, advice)

    def _features(
        self, numbers: NDArray[Any], columns: Mapping[str, Column], named: NamedEntries | None
    ) -> Any:
        if self.options.raw:
            return self._raw(numbers, columns)
        if not self.plan.is_hashed:
            return numbers
        rows, places = np.nonzero(numbers)
        parts: list[Entries] = [(rows, places, numbers[rows, places])]
        parts += [self._one_hot(name, columns[name]) for name in self.plan.those("category")]
        parts += [self._words(name, columns[name]) for name in self.plan.those("text")]
        for name in self.plan.those("hashed"):
            column = columns[name]
            parts.append(self._one_hot(name, column, ~(column.missing | column.numeric)))
            present = np.flatnonzero(column.numeric & np.isfinite(column.values))
            values = column.values[present]
            parts.append((present, self._named([name]).repeat(len(present)), values))
        if named is not None:
            parts.append(
                (np.array(named.rows, np.int64), self._named(named.names), np.array(named.values))
            )
        rows, places, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        shape = (len(numbers), self.plan.width(self.options))
        with np.errstate(over="ignore"):  # in bad rows
            return from_entries(rows, places, values.astype(self.options.dtype), shape)

    def _named(self, names: list[str]) -> NDArray[np.int64]:
        """Return the columns of hashed names, which are kept."""
        keys = hash_names(names, MOST_HASH_BITS)
        self.report.names.add(keys, names.__getitem__)
        return self._hashed(keys)

    def _raw(self, numbers: NDArray[Any], columns: Mapping[str, Column]) -> RawRows:
        def those(kind: str) -> Strings:
            named = {name: columns[name] for name in self.plan.those(kind)}
            return {name: (column.strings(), column.missing) for name, column in named.items()}

        categories, texts = those("category"), those("text")
        numeric = self.plan.those("number", "date", "cycle")
        kinds = {name: self.plan.kinds[name] for name in numeric}
        return RawRows(numbers, kinds, categories, texts, np.arange(len(numbers)))

    def _one_hot(
        self, name: str, column: Column, where: NDArray[np.bool_] | None = None
    ) -> Entries:
        rows = np.flatnonzero(~column.missing if where is None else where)
        strings, found = column.strings(), self.report.found.text_like
        if name not in found:
            found[name] = looks_like_texts(strings)
        keys = hash_strings(strings, f"{name}=", MOST_HASH_BITS)[rows]
        values = Column(*strings)
        self.report.names.add(keys, lambda i: f"{name}={values.text(rows[i])}")
        return rows, self._hashed(keys), np.ones(len(rows))

    def _words(self, name: str, column: Column) -> Entries:
        words = lowered(column.strings())
        indptr, indices, counts = count_words(words, f"{name}=", self.options.hash_bits)
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        there = ~column.missing[rows]  # "NA" is not a word
        return rows[there], self._hashed(indices[there]), counts[there]

    def _hashed(self, keys: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the columns of hashes, which may have more bits than needed."""
        return (keys & (self.options.n_hashed - 1)).astype(np.int64) + self.numeric

    def _raise_or_count(
        self, faults: _Faults, lines: NDArray[np.int64], others: Sequence[BadLine], n_others: int
    ) -> None:
        mine = {  # the first fault of each row
            int(lines[row]): (message, advice)
            for row, _, message, advice in sorted(faults.messages, reverse=True)
        }
        problems = [
            BadLine(self.path, line, message, advice, unit=self.unit)
            for line, (message, advice) in mine.items()
        ]
        problems = sorted([*problems, *others], key=lambda problem: problem.line)
        if problems and not self.options.skip_bad:
            raise problems[0]
        self.report.add_bad(*problems, count=int(faults.bad.sum()) + n_others)


class _Faults:
    """The bad rows of a batch, and the reasons of the first ones."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.bad = np.zeros(n_rows, bool)
        self.messages: list[tuple[int, int, str, str]] = []

    def add(self, wrong: NDArray[np.bool_], column: Column, name: str, advice: str) -> None:
        self.bad |= wrong
        for row in np.flatnonzero(wrong)[:MOST_KEPT_PROBLEMS].tolist():
            value = column.at(row)
            given = "is missing" if value is None else f"is {_short(value)}"
            message = f"column {name!r} {given}"
            self.messages.append((row, len(self.messages), message, advice))


def _short(value: Any, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
