"""Tables that are written as text: CSV, TSV and JSON lines, as columns of strings.

The core splits the records of CSV files. JSON objects may be nested, and their keys may differ.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import _core
from aggro.io.batch import Batch, Findings, Report
from aggro.io.columns import (
    OTHERS,
    Plan,
    contents_of,
    label_kind,
    plan_of,
    with_requested,
)
from aggro.io.encode import Encoder, NamedEntries
from aggro.io.options import UNLIMITED, BadLine, Options, ReadingError
from aggro.io.sources import Block, Sample, blocks_of, long_line, sampled
from aggro.io.strings import MISSING, TEXT, Column, is_gap, label_type

DEFAULT_ROWS = 8192


def csv_batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one CSV or TSV file."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        table = _CsvTable(path, options, report, sample)
        for block in again:
            yield from table.add(block)
        yield from table.rest()


def header_of(sample: bytes, options: Options, path: str) -> tuple[list[str], int]:
    r"""Return the names of the columns, and the number of lines of the header.

    >>> header_of(b'a,"b,c"\n1,2\n', Options(), "data.csv")
    (['a', 'b,c'], 1)
    >>> header_of(b"1,2\n", Options(header=False), "data.csv")
    (['f0', 'f1'], 0)
    """
    text = io.StringIO(_valid_start(sample, path), newline="")
    records = csv.reader(text, delimiter=_delimiter(options), strict=True)
    try:
        first = next(filter(None, records), None)
    except csv.Error as error:
        message = f"the names of the columns cannot be read: {error}"
        raise BadLine(path, max(records.line_num, 1), message) from error
    if first is None:
        raise ReadingError(path, "is empty; expected a table, its columns named in the first line")
    if not options.header:
        return [f"f{place}" for place in range(len(first))], 0
    return first, records.line_num


def _valid_start(sample: bytes, path: str) -> str:
    """Return the text up to the first invalid byte, which is reported when its line is read."""
    try:
        return sample.decode()
    except UnicodeDecodeError as error:
        start = sample[: error.start]
        if b"\n" not in start:
            raise BadLine(path, 1, "is not valid UTF-8; expected UTF-8 throughout") from error
        return start.decode()


def _delimiter(options: Options) -> str:
    return "\t" if options.format == "tsv" else ","


class _CsvTable:
    """The state of the parser of one file."""

    def __init__(self, path: str, options: Options, report: Report, sample: Sample) -> None:
        self.path, self.options, self.report = path, options, report
        self.most_rows = options.batch_rows or DEFAULT_ROWS
        self.names, self.header_lines = header_of(sample.data, options, path)
        self.sample = sample
        plan = plan_of(self.names, self._first_cells, options, path, report.found)
        self.used = [name for name in plan.used if name in self.names]
        self.encoder = Encoder(plan, options, report, path)
        self.parser = self._new_parser(self.used, options.skip_bad)
        self.header_left = self.header_lines
        self.unfinished = b""  # the beginning of a record that continues in the next block
        self.n_reported = 0  # bad lines
        self.too_long: list[BadLine] = []

    def _first_cells(self, wanted: list[str]) -> dict[str, Column]:
        """Return the cells of some columns in the sample."""
        parser = self._new_parser(wanted, skip_bad=True)
        start = _end_of_lines(self.sample.data, self.header_lines)
        parser.feed(self.sample.data[start:], self.sample.is_whole, UNLIMITED)
        columns, _ = parser.take()
        return {name: Column(*each) for name, each in zip(wanted, columns, strict=True)}

    def _new_parser(self, wanted: list[str], skip_bad: bool) -> Any:
        place = {name: column for column, name in enumerate(wanted)}
        parser = _core.CsvParser(
            delimiter=_delimiter(self.options),
            places=[place.get(name, -1) for name in self.names],
            skip_bad=skip_bad,
            longest=self.options.longest_line,
        )
        parser.line = self.header_lines
        return parser

    def add(self, block: Block) -> Iterator[Batch]:
        """Parse a block and yield the batches it completes; raise at the first bad line."""
        if block.after_long_line:
            yield from self._feed(self.unfinished, True)
            self.unfinished = b""
            self.parser.line += 1
            message, advice = long_line(self.options.longest_line)
            self.too_long.append(BadLine(self.path, self.parser.line, message, advice))
            if not self.options.skip_bad:
                yield from self.rest()
        data = self._without_header(block.data)
        if self.unfinished:
            data = memoryview(self.unfinished + data)
        used = yield from self._feed(data, block.is_last)
        self.unfinished = bytes(data[used:])

    def _without_header(self, data: memoryview) -> memoryview:
        if not self.header_left:
            return data
        text = bytes(data)
        lines = min(self.header_left, text.count(b"\n"))
        start = len(text) if lines < self.header_left else _end_of_lines(text, lines)
        self.header_left -= lines
        return data[start:]

    def _feed(self, data: bytes | memoryview, is_last: bool) -> Generator[Batch, None, int]:
        position = 0
        while True:
            position += int(self.parser.feed(data[position:], is_last, self.most_rows))
            is_full = self.parser.rows >= self.most_rows
            if is_full or self.parser.stopped:
                yield from self.rest()
            if not is_full:
                return position

    def rest(self) -> Iterator[Batch]:
        """Yield the rows that are parsed but not yet yielded; report the bad lines among them."""
        new = int(self.parser.bad) - self.n_reported
        problems = [
            BadLine(self.path, line, word.decode("utf-8", "backslashreplace"), f" {reason}")
            for line, _, word, reason in self.parser.problems()[self.n_reported :]
        ]
        self.n_reported += new
        problems, count = problems + self.too_long, new + len(self.too_long)
        self.too_long = []
        if self.parser.rows or count:
            arrays, lines = self.parser.take()
            columns = {n: Column(*each) for n, each in zip(self.used, arrays, strict=True)}
            yield from self.encoder.encode(columns, lines, problems, count)


def _end_of_lines(text: bytes, count: int) -> int:
    end = 0
    for _ in range(count):
        end = text.find(b"\n", end) + 1 or len(text)
    return end


# -- JSON lines ----------------------------------------------------------------------------------

MOST_SHOWN = 60  # letters of a value in a message
Cell = str | bool | int | float | None


class _BadObject(ValueError):
    """An invalid object; its line is added later."""

    def __init__(self, message: str, advice: str = "", column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.advice, self.column = message, advice, column


class JsonColumn(Column):
    """Values of a JSON key as strings: numbers and booleans as JSON has them, None as missing.

    >>> column = JsonColumn.of_cells(["1", 1, None, True])
    >>> column.numeric.tolist(), column.missing.tolist()
    ([False, True, False, True], [False, False, True, False])
    """

    cells: list[Cell]

    @classmethod
    def of_cells(cls, cells: list[Cell]) -> JsonColumn:
        """Return the column of some values."""
        column = cls(*cls.of([as_text(cell) for cell in cells]).strings())
        column.cells = cells
        return column

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        values, kinds = (each.copy() for each in super()._read)
        for i, cell in enumerate(self.cells):
            if cell is None or isinstance(cell, str):  # also "1.5" is a text
                values[i], kinds[i] = np.nan, MISSING if cell is None else TEXT
        return values, kinds

    @cached_property
    def type(self) -> str | None:  # type: ignore[override]  # a column of nothing but strings
        """The kind of a column that has only strings."""
        strings = all(isinstance(cell, str) for cell in self.cells if cell is not None)
        return "category" if strings and self.texts else None


def as_text(cell: Cell) -> str:
    """Return a value as a csv file has it.

    >>> as_text(True), as_text(1.5), as_text(None)
    ('true', '1.5', '')
    """
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else json.dumps(cell)


def json_batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one file of JSON lines."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        plan = _json_plan(sample, options, report)
        if options.raw:  # later keys are not used
            plan = plan.without_hashed(is_open=False)
        rows = _JsonRows(plan, options, report, path)
        for number, line in _numbered_lines(again):
            if line is not None and not line.strip():
                continue
            try:
                rows.add(number, _parsed(line, options))
            except _BadObject as bad:
                about = (bad.message, bad.advice)
                rows.bad.append(BadLine(path, number, *about, column=bad.column))
                if not options.skip_bad:
                    break
            if len(rows.lines) >= (options.batch_rows or DEFAULT_ROWS):
                yield from rows.take()
        yield from rows.take()


class _JsonRows:
    """The rows of the next batch: cells of named keys, and entries of keys that are hashed."""

    def __init__(self, plan: Plan, options: Options, report: Report, path: str) -> None:
        self.plan, self.dtype = plan, options.dtype
        self.hashed, self.ignored = set(plan.those("hashed")), set(plan.those("ignored"))
        self.numeric = set(plan.those("number", "date", "cycle"))
        self.ends = [name for name in (plan.label, plan.weight) if name is not None]
        self.named = [n for n in plan.used if n not in self.hashed or n in self.ends]
        self.is_strict = options.missing == "error"
        self.largest = float(np.finfo(options.dtype).max)
        # Keys may be absent in an open plan, which only this class knows from null values.
        own = plan.without_hashed(is_open=plan.is_open or bool(self.hashed))
        self.encoder = Encoder(own, dataclasses.replace(options, missing="zero"), report, path)
        self._clear()

    def _clear(self) -> None:
        self.lines: list[int] = []
        self.bad: list[BadLine] = []
        self.cells: dict[str, list[Cell]] = {name: [] for name in self.named}
        self.entries = NamedEntries()

    def add(self, line: int, record: dict[str, Any]) -> None:
        """Add one object as a row; raise _BadObject without adding anything."""
        cells: dict[str, Cell] = {}
        hashed: dict[str, float] = {}
        for key, whole in record.items():
            is_open = self.plan.is_open or key in self.hashed
            for name, value in leaves(key, whole) if key not in self.ignored else ():
                if name not in self.cells and not is_open:
                    continue
                if self.is_strict and self._is_missing(name, value):
                    raise _missing(name)
                if name in self.cells:
                    cells[name] = _cell(name, value)
                if (name not in self.cells or name in self.hashed) and value is not None:
                    text, number = self._hashed(name, value)
                    hashed[text] = number
        for name in self.ends:
            if cells.get(name) is None:
                keys = ", ".join(map(repr, record))
                raise _BadObject(f"no {name!r}; its keys are {keys[:MOST_SHOWN]}")
        if self.is_strict and not self.plan.is_open:
            self._check_complete(record, cells)
        for name, column in self.cells.items():
            column.append(cells.get(name))
        self.entries.add(len(self.lines), hashed)
        self.lines.append(line)

    def _is_missing(self, name: str, value: Any) -> bool:
        if name in self.ends:
            return False
        return value is None or (name in self.numeric and isinstance(value, str) and is_gap(value))

    def _check_complete(self, record: dict[str, Any], cells: dict[str, Cell]) -> None:
        """Raise if a key of a closed plan is absent, unless it is part of a hashed object."""
        for name in self.plan.features:
            is_inner = "." in name and name.partition(".")[0] in self.hashed
            if name not in cells and name not in record and not is_inner:
                raise _missing(name)

    def _hashed(self, name: str, value: Any) -> tuple[str, float]:
        """Return the name that is hashed, and the value of its column."""
        if isinstance(value, str):
            return f"{name}={value}", 1.0
        if not isinstance(value, int | float) or not abs(value) <= self.largest:
            expected = f"a finite {self.dtype}, a boolean, a string or an object"
            raise _BadObject(f"{name!r} is {_short(value)}; expected {expected}")
        return name, float(value)

    def take(self) -> Iterator[Batch]:
        """Yield the collected rows as a batch; raise if there is a bad one."""
        if self.lines or self.bad:
            columns = {name: JsonColumn.of_cells(cells) for name, cells in self.cells.items()}
            lines, bad, entries = np.array(self.lines, np.int64), self.bad, self.entries
            self._clear()
            yield from self.encoder.encode(columns, lines, bad, len(bad), entries)


def leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested objects under names such as "outer.inner".

    >>> list(leaves("a", {"b": 1, "c": {"d": "x"}}))
    [('a.b', 1), ('a.c.d', 'x')]
    """
    if isinstance(value, dict):
        for inner, part in value.items():
            yield from leaves(f"{key}.{inner}", part)
    else:
        yield key, value


def _missing(name: str) -> _BadObject:
    advice = "; give it a value; pass {missing=zero} to do without"
    return _BadObject(f"{name!r} is missing", advice)


def _cell(name: str, value: Any) -> Cell:
    if isinstance(value, float) and math.isfinite(value):
        return value
    if value is None or isinstance(value, str | bool | int):
        return value
    expected = "a finite number, a boolean or a string"
    raise _BadObject(f"{name!r} is {_short(value)}; expected {expected}")


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _parsed(line: bytes | None, options: Options) -> dict[str, Any]:
    if line is None:
        raise _BadObject(*long_line(options.longest_line))
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise _BadObject("is not valid UTF-8", column=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise _BadObject(f"{error.msg}; expected one JSON object", column=error.colno) from error
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise _BadObject(str(error)) from error
    if not isinstance(record, dict):
        raise _BadObject(f"a JSON {type(record).__name__}; expected an object such as {{'a': 2.5}}")
    return record


def _numbered_lines(blocks: Iterator[Block]) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    for block in blocks:
        if block.after_long_line:
            number += 1
            yield number, None
        for line in bytes(block.data).split(b"\n"):
            number += 1
            yield number, line
        number -= 1  # the rest after the last line end belongs to the next block


def _json_plan(sample: Sample, options: Options, report: Report) -> Plan:
    """Return the plan of the keys: of earlier files, as requested, or by values."""
    found = report.found
    if found.columns is None and options.kinds is not None:
        found.columns = dict(options.kinds)
    if found.columns is None or (found.labels is None and options.label is not None):
        columns, is_table = _sampled_columns(sample, options)
        if found.columns is None:
            found.columns = _json_kinds(columns, is_table, options, found)
        if found.labels is None and options.label is not None:
            label = columns.get(options.label)
            kind = None if label is None else label_kind(label)
            found.labels = label_type(kind, options.labels)
    return Plan.of(found.columns, options)


def _sampled_columns(sample: Sample, options: Options) -> tuple[dict[str, JsonColumn], bool]:
    """Return the values of each key in the first objects, and whether all have the same keys."""
    records: list[dict[str, Any]] = []
    for line in sample.data.split(b"\n"):
        with suppress(_BadObject):
            records.append(_parsed(line, options))
    rows = [{n: v for key, value in r.items() for n, v in leaves(key, value)} for r in records]
    is_table = len({frozenset(row) for row in rows}) == 1
    cells: dict[str, list[Cell]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str | bool | int | float):
                cells.setdefault(name, []).append(value)
            elif is_table:
                cells.setdefault(name, [])
    return {name: JsonColumn.of_cells(values) for name, values in cells.items()}, is_table


def _is_feature(name: str, options: Options) -> bool:
    """Return whether a key is a feature; the weight is one only if it is named."""
    if name in (options.label, *options.text):
        return False
    if options.columns is None:
        return name != options.weight
    found = {name} if name == options.weight else {name, name.partition(".")[0]}
    return not found.isdisjoint(options.columns)


def _json_kinds(
    columns: dict[str, JsonColumn], is_table: bool, options: Options, found: Findings
) -> dict[str, str]:
    """Return the kinds of the keys by their values.

    Later keys are hashed, unless all objects of the sample have the same keys, as rows of a table.
    """
    chosen = options.columns
    contents = {name: contents_of(each) for name, each in columns.items()}
    kinds = {name: each.kind for name, each in contents.items() if _is_feature(name, options)}
    rest = (() if is_table else (OTHERS,)) if chosen is None else chosen
    kinds = with_requested(kinds, contents, options, found)
    return {**kinds, **{name: "hashed" for name in rest if name not in kinds}}
