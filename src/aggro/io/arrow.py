"""Parquet and Arrow files, read as record batches; only a few are in memory at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.extras import optional
from aggro.io.batch import Batch, Report
from aggro.io.columns import Contents, Plan, check_names, contents_of, requested_kinds
from aggro.io.encode import Encoder
from aggro.io.options import Options, ReadingError
from aggro.io.sources import COMPRESSIONS, STANDARD_INPUT, open_bytes
from aggro.io.strings import Buffers, StringColumn, label_type

DEFAULT_ROWS = 8192


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one Parquet or Arrow file."""
    rows = options.batch_rows or DEFAULT_ROWS
    seen = 0
    encoder: Encoder | None = None
    for plan, table in OPENED[str(options.format)](path, options, report):
        encoder = encoder or Encoder(plan, options, report, path, unit="row")
        for start in range(0, table.num_rows, rows):
            part = table.slice(start, rows)
            names = [name for name in plan.used if name in part.schema.names]
            columns = {name: ArrowColumn(part.column(name)) for name in names}
            yield from encoder.encode(columns, seen + 1 + np.arange(part.num_rows))
            seen += part.num_rows


def _parquet(path: str, options: Options, report: Report) -> Iterator[tuple[Plan, Any]]:
    parquet = optional("pyarrow.parquet", "Reading Parquet files")
    rows = options.batch_rows or DEFAULT_ROWS
    # Without these settings pyarrow reads whole row groups ahead, and the whole file if it has one.
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        first = file.iter_batches(rows, use_threads=False)
        plan = _plan(file.schema_arrow, first, path, options, report)
        for group in range(file.num_row_groups):
            for table in file.iter_batches(
                rows, row_groups=[group], columns=plan.used, use_threads=False
            ):
                yield plan, table


def _arrow(path: str, options: Options, report: Report) -> Iterator[tuple[Plan, Any]]:
    ipc = optional("pyarrow.ipc", "Reading Arrow files")
    with _Watched(open_bytes(path)) as stream:
        if stream.starts_with(b"ARROW1"):
            if path == STANDARD_INPUT or Path(path).suffix.lower() in COMPRESSIONS:
                raise ReadingError(
                    path,
                    "is an Arrow file, which must be a plain file on disk; decompress or save it, "
                    "or write Arrow's stream format instead",
                )
            with ipc.open_file(path) as reader:
                tables = map(reader.get_batch, range(reader.num_record_batches))
                plan = _plan(reader.schema, tables, path, options, report)
                for number in range(reader.num_record_batches):
                    yield plan, reader.get_batch(number)
            return
        while True:
            reader = ipc.open_stream(stream)  # closing it would close the stream
            tables = iter(reader)
            held = list(islice(tables, 1))
            plan = _plan(reader.schema, iter(held), path, options, report)
            for table in chain(held, tables):
                yield plan, table
            if stream.at_end:
                raise ReadingError(
                    path,
                    "ends without Arrow's end-of-stream marker: the file is cut off, or its writer "
                    "was not closed; copy or write it again",
                )
            if not stream.starts_with(b""):
                return


class _Watched(io.BufferedReader):
    """A stream that knows whether the last read reached its end, which pyarrow does not report."""

    def __init__(self, raw: Any) -> None:
        super().__init__(raw, 1 << 20)
        self.at_end = False

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and note whether the end was reached."""
        data = super().read(size)
        self.at_end = size != 0 and not data
        return data

    def starts_with(self, magic: bytes) -> bool:
        """Return True if more bytes follow and start with ``magic``."""
        following = self.peek(len(magic))
        return bool(following) and following.startswith(magic)


def column_names(path: str, format: str) -> list[str]:
    """Return the names of the columns of a Parquet or Arrow file."""
    if format == "parquet":
        return list(optional("pyarrow.parquet", "Reading Parquet files").read_schema(path).names)
    ipc = optional("pyarrow.ipc", "Reading Arrow files")
    with _Watched(open_bytes(path)) as stream:
        opened = ipc.open_file(path) if stream.starts_with(b"ARROW1") else ipc.open_stream(stream)
        return list(opened.schema.names)


OPENED: dict[str, Callable[[str, Options, Report], Iterator[tuple[Plan, Any]]]] = {
    "parquet": _parquet,
    "arrow": _arrow,
}


def _plan(schema: Any, tables: Iterator[Any], path: str, options: Options, report: Report) -> Plan:
    """Return the plan of the columns: of earlier files, as requested, or by type.

    Only the first of the ``tables`` is read, to describe suspicious columns.
    """
    check_names(list(schema.names), path)
    found = report.found
    if found.columns is None and options.kinds is not None:
        found.columns = dict(options.kinds)
    elif found.columns is None:
        empty = {field.name: Contents(np.empty(0), [], kind_of(field.type)) for field in schema}
        first = next(tables, None)
        if first is not None:
            rows = first.slice(0, options.batch_rows or DEFAULT_ROWS)
            known = [name for name, each in empty.items() if each.type in KNOWN]
            empty |= {name: ArrowColumn(rows.column(name)).contents() for name in known}
        found.columns = requested_kinds(empty, options, path, found)
    plan = Plan.of(found.columns, options).for_table(schema.names, path)
    for name in plan.used:  # a column of another type may have the right name
        usable = KNOWN[:2] if name == plan.label else KNOWN
        if name in schema.names and kind_of(schema.field(name).type) not in usable:
            raise ReadingError(
                path,
                f"column {name!r} is of type {schema.field(name).type}; "
                "expected numbers, strings or dates",
            )
    if plan.label is not None and found.labels is None:
        found.labels = label_type(_label_kind(schema.field(plan.label).type), options.labels)
    return plan


KNOWN = ("number", "category", "date")


def kind_of(kind: Any) -> str:
    """Return the kind of a column of an Arrow type, or the name of an unsupported type.

    >>> import pyarrow
    >>> [kind_of(each) for each in (pyarrow.int8(), pyarrow.date32(), pyarrow.binary())]
    ['number', 'date', 'binary']
    """
    types = optional("pyarrow", "Reading tables").types
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    if types.is_null(kind) or any(is_one(kind) for is_one in numbers):
        return "number"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "category" if _is_string(kind) else str(kind)


def _is_string(kind: Any) -> bool:
    if optional("pyarrow", "Reading tables").types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind) in ("string", "large_string", "string_view")


def _label_kind(kind: Any) -> str:
    types = optional("pyarrow", "Reading tables").types
    if kind_of(kind) in ("category", "date"):
        return "text"
    if types.is_boolean(kind):
        return "bool"
    return "int" if types.is_integer(kind) else "float"


class ArrowColumn:
    """A column of a record batch."""

    def __init__(self, column: Any) -> None:
        self.column = column
        self.pa = optional("pyarrow", "Reading tables")
        self.kind = kind_of(column.type)
        self.is_text = self.kind in ("category", "date")

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are null, or NaN in a column of numbers."""
        null: NDArray[np.bool_] = self.column.is_null().to_numpy(zero_copy_only=False)
        return null if self.is_text else null | np.isnan(self.values)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers as floats; integers beyond 2**53 are rounded."""
        if self.is_text:
            return self._as_strings.values
        numbers = self.column.cast(self.pa.float64(), safe=False)
        return np.array(numbers.to_numpy(zero_copy_only=False), np.float64)

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which values are numbers."""
        return ~self.missing & (not self.is_text)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which values say that a number is missing."""
        return self._as_strings.gaps if self.is_text else self.missing

    @property
    def malformed(self) -> NDArray[np.bool_]:
        """Which strings are neither a number nor a gap."""
        if self.is_text:
            return self._as_strings.malformed
        return np.zeros(len(self.column), bool)

    def contents(self) -> Contents:
        """Return the contents of the column."""
        if self.kind == "category" and contents_of(self._as_strings).kind == "date":
            return contents_of(self._as_strings, "date")
        if self.is_text:
            return contents_of(self._as_strings, self.kind)
        return Contents(self.values[~self.missing], [], self.kind)

    def labels(self, kind: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the values as labels, and which of them are invalid."""
        if kind == "text":
            return np.array(self._as_strings.tolist(), dtype=np.str_), self.missing
        if self.is_text:
            return self._as_strings.labels(kind)
        wrong = ~np.isfinite(self.values)
        if self.pa.types.is_decimal(self.column.type) or self.column.null_count:
            return self._without_nulls(), wrong
        return self.column.to_numpy(zero_copy_only=False), wrong

    def _without_nulls(self) -> NDArray[Any]:
        """Return the labels in their own type; to_numpy converts columns with nulls to floats."""
        if self.pa.types.is_decimal(self.column.type):
            return self.values
        zero = self.pa.scalar(0).cast(self.column.type)
        filled: NDArray[Any] = self.column.fill_null(zero).to_numpy(zero_copy_only=False)
        return filled

    @cached_property
    def _as_strings(self) -> StringColumn:
        return StringColumn(*self.strings())

    def strings(self) -> Buffers:
        """Return the values as strings; views of Arrow's buffers if possible."""
        column = self.column
        types = self.pa.types
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            column = column.cast(self.pa.string())
        _, offsets, data = column.buffers()
        kind: Any = np.int64 if str(column.type).startswith("large_") else np.int32
        if offsets is None:
            return np.empty(0, np.uint8), np.zeros(len(column) + 1, kind)
        begin = np.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
        return np.frombuffer(data if data is not None else b"", np.uint8), begin

    def at(self, row: int) -> Any:
        """Return one value, or None if it is missing."""
        return self.column[row].as_py()
