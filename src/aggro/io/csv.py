"""CSV and TSV files: the core splits records into columns of strings."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

from aggro import _core
from aggro.io.batch import Batch, Report
from aggro.io.columns import Plan, check_names, requested_kinds
from aggro.io.encode import Encoder
from aggro.io.errors import BadLine, ReadingError
from aggro.io.options import UNLIMITED, Options
from aggro.io.sources import Block, Sample, blocks_of, long_line, sampled
from aggro.io.strings import StringColumn, label_type

DEFAULT_ROWS = 8192


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one CSV or TSV file."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        table = _Table(path, options, report, sample)
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


class _Table:
    """The state of the parser of one file."""

    def __init__(self, path: str, options: Options, report: Report, sample: Sample) -> None:
        self.path, self.options, self.report = path, options, report
        self.most_rows = options.batch_rows or DEFAULT_ROWS
        self.names, self.header_lines = header_of(sample.data, options, path)
        check_names(self.names, path)
        plan = self._plan(sample)
        self.used = [name for name in plan.used if name in self.names]
        self.encoder = Encoder(plan, options, report, path)
        self.parser = self._new_parser(self.used, options.skip_bad)
        self.header_left = self.header_lines
        self.unfinished = b""  # the beginning of a record that continues in the next block
        self.n_reported = 0  # bad lines
        self.too_long: list[BadLine] = []

    def _plan(self, sample: Sample) -> Plan:
        """Return the plan of the columns: of earlier files, as requested, or by contents."""
        found, options = self.report.found, self.options
        values: dict[str, StringColumn] = {}
        if found.columns is None and options.kinds is None:
            values = self._read_sample(sample, self.names)
            contents = {name: column.contents() for name, column in values.items()}
            found.columns = requested_kinds(contents, options, self.path, found)
        elif found.columns is None:
            found.columns = dict(options.kinds or ())
        plan = Plan.of(found.columns, options).for_table(self.names, self.path)
        if found.labels is None and plan.label is not None:
            values = values or self._read_sample(sample, [plan.label])
            found.labels = label_type(values[plan.label].label_kind, options.labels)
        return plan

    def _read_sample(self, sample: Sample, wanted: list[str]) -> dict[str, StringColumn]:
        parser = self._new_parser(wanted, skip_bad=True)
        start = _end_of_lines(sample.data, self.header_lines)
        parser.feed(sample.data[start:], sample.is_whole, UNLIMITED)
        columns, _ = parser.take()
        return {name: StringColumn(*each) for name, each in zip(wanted, columns, strict=True)}

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
            columns = {n: StringColumn(*each) for n, each in zip(self.used, arrays, strict=True)}
            yield from self.encoder.encode(columns, lines, problems, count)


def _end_of_lines(text: bytes, count: int) -> int:
    end = 0
    for _ in range(count):
        end = text.find(b"\n", end) + 1 or len(text)
    return end
