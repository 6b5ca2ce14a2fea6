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
from aggro.io.columns import Plan, plan_of
from aggro.io.encode import Encoder
from aggro.io.options import Options, ReadingError
from aggro.io.sources import COMPRESSIONS, STANDARD_INPUT, open_bytes
from aggro.io.strings import MISSING, NUMBER, Buffers, Column

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
    """Return the plan of the columns; at most the first of the ``tables`` is read."""

    def first_rows(names: list[str]) -> dict[str, Column]:
        empty = optional("pyarrow", "Reading tables").RecordBatch.from_pylist([], schema)
        rows = next(tables, empty).slice(0, options.batch_rows or DEFAULT_ROWS)
        return {name: ArrowColumn(rows.column(name)) for name in names}

    plan = plan_of(list(schema.names), first_rows, options, path, report.found)
    for name in plan.used:  # a column of another type may have the right name
        usable = KNOWN[:2] if name == plan.label else KNOWN
        if name in schema.names and kind_of(schema.field(name).type) not in usable:
            raise ReadingError(
                path,
                f"column {name!r} is of type {schema.field(name).type}; "
                "expected numbers, strings or dates",
            )
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
    plain = kind.value_type if types.is_dictionary(kind) else kind
    return "category" if str(plain) in ("string", "large_string", "string_view") else str(kind)


class ArrowColumn(Column):
    """A column of a record batch; its type decides what its values are."""

    def __init__(self, column: Any) -> None:
        self.column = column
        self.pa = optional("pyarrow", "Reading tables")
        self.type = kind_of(column.type)
        self.is_text = self.type in ("category", "date")
        types = self.pa.types
        if self.is_text:
            self.label_type = "text"
        elif types.is_boolean(column.type):
            self.label_type = "bool"
        else:
            self.label_type = "int" if types.is_integer(column.type) else "float"

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        if self.is_text:
            return super()._read
        if self.type not in KNOWN:  # unless it is ignored, the column will be rejected
            return np.full(len(self), np.nan), np.full(len(self), MISSING, np.uint8)
        numbers = self.column.cast(self.pa.float64(), safe=False)  # rounds beyond 2**53
        values = np.array(numbers.to_numpy(zero_copy_only=False), np.float64)
        kinds = np.where(self._is_null | np.isnan(values), MISSING, NUMBER)
        return values, kinds.astype(np.uint8)

    @cached_property
    def _is_null(self) -> NDArray[np.bool_]:
        null: NDArray[np.bool_] = self.column.is_null().to_numpy(zero_copy_only=False)
        return null

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are null, or NaN in a column of numbers."""
        return self._is_null if self.is_text else super().missing

    @property
    def numeric(self) -> NDArray[np.bool_]:
        """Which values are numbers: none in a column of strings."""
        return np.zeros(len(self), bool) if self.is_text else super().numeric

    def labels(self, kind: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the values as labels in their own type, and which of them are invalid."""
        if kind == "text" or self.is_text:
            return super().labels(kind)
        wrong = ~np.isfinite(self.values)
        if self.pa.types.is_decimal(self.column.type):
            return self.values, wrong
        column = self.column
        if column.null_count:  # to_numpy would convert it to floats
            column = column.fill_null(self.pa.scalar(0).cast(column.type))
        return column.to_numpy(zero_copy_only=False), wrong

    @cached_property
    def _buffers(self) -> Buffers:  # type: ignore[override]  # views of Arrow's, if possible
        column, types = self.column, self.pa.types
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
