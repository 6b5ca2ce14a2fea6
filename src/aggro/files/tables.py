"""CSV, Parquet and Arrow files as streams of record batches, a few of them in memory at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, Any

from aggro.files.batch import Batch, Report
from aggro.files.columns import Plan, make_plan
from aggro.files.encode import Encoder
from aggro.files.errors import BadLine, optional
from aggro.files.options import Options
from aggro.files.sources import open_bytes

DEFAULT_ROWS = 8192
SAMPLE_BYTES = 1 << 20


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one CSV, Parquet or Arrow file."""
    rows = options.batch_rows or DEFAULT_ROWS
    encoder: Encoder | None = None
    for plan, table in TABLES[str(options.format)](path, options, report):
        encoder = encoder or Encoder(plan, options, report, path)
        for start in range(0, table.num_rows, rows):
            yield from encoder.encode(table.slice(start, rows))


def _parquet(path: str, options: Options, report: Report) -> Iterator[tuple[Plan, Any]]:
    parquet = optional("pyarrow.parquet", "Reading Parquet files")
    rows = options.batch_rows or DEFAULT_ROWS
    # Without these settings pyarrow reads whole row groups ahead, and the whole file if it has one.
    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        plan = make_plan(file.schema_arrow, options, path)
        for group in range(file.num_row_groups):
            for table in file.iter_batches(
                rows, row_groups=[group], columns=plan.used, use_threads=False
            ):
                yield plan, table


def _arrow(path: str, options: Options, report: Report) -> Iterator[tuple[Plan, Any]]:
    ipc = optional("pyarrow.ipc", "Reading Arrow files")
    with open_bytes(path) as raw:
        stream = io.BufferedReader(raw, 1 << 20) if isinstance(raw, io.RawIOBase) else raw
        is_file = _starts_with(stream, b"ARROW1")
        if is_file:
            with ipc.open_file(path) as reader:
                plan = make_plan(reader.schema, options, path)
                for number in range(reader.num_record_batches):
                    yield plan, reader.get_batch(number)
            return
        with ipc.open_stream(stream) as reader:
            plan = make_plan(reader.schema, options, path)
            for table in reader:
                yield plan, table


def _starts_with(stream: Any, magic: bytes) -> bool:
    return bool(stream.peek(len(magic))[: len(magic)] == magic)


def _csv(path: str, options: Options, report: Report) -> Iterator[tuple[Plan, Any]]:
    with open_bytes(path) as stream:
        sample = _read_sample(stream)
        schema = _csv_schema(sample, options)
        plan = make_plan(schema, options, path)
        skipped = _Skipped(path, options, report)
        try:
            yield from (
                (plan, table)
                for table in _open_csv(_Chained(sample, stream), plan, schema, options, skipped)
            )
        except optional("pyarrow", "Reading CSV files").ArrowInvalid as error:
            raise skipped.problem or BadLine(path, 0, str(error)) from error


def _open_csv(stream: Any, plan: Plan, schema: Any, options: Options, skipped: Any) -> Any:
    csv = optional("pyarrow.csv", "Reading CSV files")
    return csv.open_csv(
        stream,
        read_options=_read_options(options),
        parse_options=csv.ParseOptions(delimiter=_delimiter(options), invalid_row_handler=skipped),
        convert_options=_convert_options(plan, schema, options),
    )


def _delimiter(options: Options) -> str:
    return "\t" if options.format == "tsv" else ","


def _read_options(options: Options) -> Any:
    csv = optional("pyarrow.csv", "Reading CSV files")
    return csv.ReadOptions(
        use_threads=False,
        block_size=options.batch_bytes,
        autogenerate_column_names=not options.header,
    )


def _convert_options(plan: Plan, schema: Any, options: Options) -> Any:
    """Read all but booleans as strings: numbers are parsed later, to name the bad ones."""
    pa, csv = optional("pyarrow", "Reading CSV files"), optional("pyarrow.csv", "Reading CSV files")
    types = {name: pa.string() for name in plan.used}
    kept = {name for name in plan.numbers if pa.types.is_boolean(schema.field(name).type)}
    if plan.label is not None and options.labels == "auto":
        kept.add(plan.label)
    types.update({name: schema.field(name).type for name in kept})
    return csv.ConvertOptions(
        column_types=types, include_columns=plan.used, strings_can_be_null=True
    )


def _read_sample(stream: IO[bytes]) -> bytes:
    parts, size = [], 0
    while size < SAMPLE_BYTES and (part := stream.read(SAMPLE_BYTES - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _csv_schema(sample: bytes, options: Options) -> Any:
    """Column types, from the whole lines of the first part of the file."""
    csv, pa = optional("pyarrow.csv", "Reading CSV files"), optional("pyarrow", "Reading CSV files")
    whole = sample if len(sample) < SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1] or sample
    reader = csv.read_csv(
        io.BytesIO(whole),
        read_options=_read_options(options),
        parse_options=csv.ParseOptions(
            delimiter=_delimiter(options), invalid_row_handler=lambda row: "skip"
        ),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )
    types = pa.types
    kept = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
    fields = [
        field if any(is_kind(field.type) for is_kind in kept) else pa.field(field.name, pa.string())
        for field in reader.schema
    ]
    return pa.schema(fields)


class _Skipped:
    """Told by pyarrow of each row with the wrong number of fields."""

    def __init__(self, path: str, options: Options, report: Report) -> None:
        self.path = path
        self.options = options
        self.report = report
        self.problem: BadLine | None = None

    def __call__(self, row: Any) -> str:
        counts = f"{row.actual_columns} fields, but the header has {row.expected_columns}"
        message = f"{counts}: {(row.text or '')[:60]!r}"
        problem = BadLine(self.path, row.number or 0, message)
        if not self.options.skip_bad:
            self.problem = self.problem or problem
            return "error"
        self.report.add_bad(problem)
        return "skip"


class _Chained(io.RawIOBase):
    """Bytes already read, then the rest of their stream."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self.first = memoryview(first)
        self.rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.first:
            count = min(len(self.first), len(buffer))
            buffer[:count] = self.first[:count]
            self.first = self.first[count:]
            return count
        return int(self.rest.readinto(buffer) or 0)  # type: ignore[attr-defined]


TABLES: dict[str, Callable[[str, Options, Report], Iterator[tuple[Plan, Any]]]] = {
    "csv": _csv,
    "tsv": _csv,
    "parquet": _parquet,
    "arrow": _arrow,
}
