"""Arrow tables to features: numbers kept, categories one-hot by hash, texts as hashed words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.files import hashing
from aggro.files.batch import MOST_KEPT_PROBLEMS, Batch, Report, sparse
from aggro.files.columns import Plan
from aggro.files.errors import BadLine, optional
from aggro.files.options import Options


class Encoder:
    """Turns the record batches of one file into batches."""

    def __init__(self, plan: Plan, options: Options, report: Report, path: str) -> None:
        self.plan = plan
        self.options = options
        self.report = report
        self.path = path
        self.row = 0  # rows before this record batch

    def encode(self, table: Any) -> Iterator[Batch]:
        """Yield the good rows; raise at the first bad one unless they are skipped."""
        columns = {name: table.column(name) for name in self.plan.used}
        faults = _Faults(table.num_rows)
        numbers = self._numbers(columns, faults)
        weights = self._weights(columns, faults)
        self._require(columns, faults)
        good = faults.rows_before_first() if not self.options.skip_bad else ~faults.bad
        y = (
            None
            if self.plan.label is None
            else _labels(columns[self.plan.label], self.options.labels, good)
        )
        X = self._features(numbers, columns)
        if not good.all():
            X, weights = X[good], None if weights is None else weights[good]
        if good.any():
            self.report.n_rows += X.shape[0]
            self.report.n_features = X.shape[1]
            yield Batch(X, y, weights)
        self._raise_or_count(faults)
        self.row += table.num_rows

    def _numbers(self, columns: dict[str, Any], faults: _Faults) -> NDArray[Any]:
        matrix = np.empty((faults.n_rows, len(self.plan.numbers)), self.options.dtype)
        for place, name in enumerate(self.plan.numbers):
            values, absent = _to_float(columns[name])
            if self.options.missing == "zero":
                values[absent] = 0.0
            with np.errstate(over="ignore"):
                matrix[:, place] = values
            faults.add(
                ~np.isfinite(matrix[:, place]),
                columns[name],
                name,
                f"a finite {self.options.dtype} (or pass missing='zero')",
            )
        return matrix

    def _weights(self, columns: dict[str, Any], faults: _Faults) -> NDArray[np.float64] | None:
        name = self.plan.weight
        if name is None:
            return None
        values, _ = _to_float(columns[name])
        faults.add(
            ~(np.isfinite(values) & (values >= 0)),
            columns[name],
            name,
            "a finite weight that is not negative",
        )
        return values

    def _require(self, columns: dict[str, Any], faults: _Faults) -> None:
        """Labels are always needed; categories and texts unless missing ones count as nothing."""
        needed = {} if self.plan.label is None else {self.plan.label: "a label"}
        if self.options.missing == "error":
            others = self.plan.categories + self.plan.texts
            needed.update(dict.fromkeys(others, "a string (or pass missing='zero')"))
        for name, expected in needed.items():
            if columns[name].null_count:
                faults.add(_is_null(columns[name]), columns[name], name, expected)

    def _features(self, numbers: NDArray[Any], columns: dict[str, Any]) -> Any:
        if not self.plan.is_hashed:
            return numbers
        bits, n_rows, first = self.options.hash_bits, len(numbers), numbers.shape[1]
        row, column = np.nonzero(numbers)
        parts = [(row, column, numbers[row, column])]
        for name in self.plan.categories:
            strings = _to_strings(columns[name])
            present = np.flatnonzero(~_is_null(strings))
            indices = hashing.hash_strings(strings, f"{name}=", bits)[present]
            parts.append((present, indices.astype(np.int64) + first, np.ones(len(present))))
        for name in self.plan.texts:
            lowered = optional("pyarrow.compute", "Reading texts").utf8_lower(
                _to_strings(columns[name])
            )
            indptr, indices, counts = hashing.count_words(lowered, f"{name}=", bits)
            parts.append(
                (
                    np.repeat(np.arange(n_rows), np.diff(indptr)),
                    indices.astype(np.int64) + first,
                    counts,
                )
            )
        rows, places, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        shape = (n_rows, self.plan.width(self.options))
        return sparse().csr_matrix((values.astype(self.options.dtype), (rows, places)), shape=shape)

    def _raise_or_count(self, faults: _Faults) -> None:
        problems = [
            BadLine(self.path, self.row + row + 1, message, unit="row")
            for row, message in sorted(faults.messages)
        ]
        if problems and not self.options.skip_bad:
            raise problems[0]
        one_per_row = {problem.line: problem for problem in reversed(problems)}
        kept = [*self.report.bad_lines, *reversed(one_per_row.values())]
        self.report.bad_lines = kept[:MOST_KEPT_PROBLEMS]
        self.report.n_bad += int(faults.bad.sum())


class _Faults:
    """Which rows of a record batch are bad, and why the first of them are."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.bad = np.zeros(n_rows, bool)
        self.messages: list[tuple[int, str]] = []

    def add(self, wrong: NDArray[np.bool_], column: Any, name: str, expected: str) -> None:
        self.bad |= wrong
        for row in np.flatnonzero(wrong)[:MOST_KEPT_PROBLEMS].tolist():
            value = column[row].as_py()
            given = "is missing" if value is None else f"is {value!r}"
            self.messages.append((row, f"column {name!r} {given}; expected {expected}"))

    def rows_before_first(self) -> NDArray[np.bool_]:
        before: NDArray[np.bool_] = np.cumsum(self.bad) == 0
        return before


def _is_null(column: Any) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return mask


def _to_float(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the values, and where there is none."""
    pa = optional("pyarrow", "Reading tables")
    if pa.types.is_string(column.type):
        return hashing.parse_numbers(column), _is_null(column)
    values = np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    absent = np.isnan(values) | _is_null(column)
    return values, absent


def _to_strings(column: Any) -> Any:
    pa = optional("pyarrow", "Reading tables")
    is_plain = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return column if is_plain else column.cast(pa.string())


def _labels(column: Any, labels: str, good: NDArray[np.bool_]) -> NDArray[Any]:
    pa = optional("pyarrow", "Reading tables")
    column = column.filter(pa.array(good))
    if labels == "number":
        return _to_float(column)[0]
    is_string = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if is_string or labels == "text" or pa.types.is_dictionary(column.type):
        return np.array(column.cast(pa.string()).to_pylist(), dtype=np.str_)
    array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return array
