"""JSON lines: one object a line, encoded as a table is. Keys may differ from line to line."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from aggro.io.batch import Batch, Findings, Report
from aggro.io.blocks import Block, Sample, blocks_of, long_line, sampled
from aggro.io.columns import OTHERS, Plan, with_asked
from aggro.io.contents import FEW, contents_of_cells
from aggro.io.encode import Encoder
from aggro.io.errors import BadLine
from aggro.io.objects import BadObject, ObjectRows, leaves
from aggro.io.options import Options
from aggro.io.strings import StringColumn, settled

DEFAULT_ROWS = 8192


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one file of JSON lines."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        plan = _plan(sample, path, options, report)
        if options.raw:
            yield from _raw_batches(_numbered_lines(again), plan, path, options, report)
            return
        rows = ObjectRows(plan, options, report)
        for number, line in _numbered_lines(again):
            if line is not None and not line.strip():
                continue
            try:
                rows.add(_parse(line, options))
            except BadObject as bad:
                problem = BadLine(path, number, bad.message, bad.advice, column=bad.column)
                if not options.skip_bad:
                    yield from rows.take()
                    raise problem from bad
                report.add_bad(problem)
            if rows.count >= (options.batch_rows or DEFAULT_ROWS):
                yield from rows.take()
        yield from rows.take()


def _raw_batches(
    lines: Iterator[tuple[int, bytes | None]],
    plan: Plan,
    path: str,
    options: Options,
    report: Report,
) -> Iterator[Batch]:
    """Batches of rows as they are: columns of strings, as a csv would have them."""
    plan = dataclasses.replace(plan, hashed=(), is_open=False)  # keys that come late say nothing
    encoder = Encoder(plan, options, report, path)
    values: dict[str, list[str]] = {name: [] for name in plan.used}
    numbers: list[int] = []
    bad: list[BadLine] = []

    def take() -> Iterator[Batch]:
        columns = {name: StringColumn.of(each) for name, each in values.items()}
        yield from encoder.encode(columns, np.array(numbers, np.int64), bad, len(bad))
        numbers.clear()
        bad.clear()
        for each in values.values():
            each.clear()

    for number, line in lines:
        if line is not None and not line.strip():
            continue
        try:
            record = _parse(line, options)
            found = {n: part for key, value in record.items() for n, part in leaves(key, value)}
            strings = [_string(found.get(name), name) for name in values]
        except BadObject as problem:
            about = (problem.message, problem.advice)
            bad.append(BadLine(path, number, *about, column=problem.column))
            if not options.skip_bad:
                break
            continue
        numbers.append(number)
        for name, text in zip(values, strings, strict=True):
            values[name].append(text)
        if len(numbers) >= (options.batch_rows or DEFAULT_ROWS):
            yield from take()
    if numbers or bad:
        yield from take()


def _string(value: Any, name: str) -> str:
    """Return a value as a csv would have it; nothing where there is none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise BadObject(f"{name!r} is a JSON {type(value).__name__}; expected a text or a number")


def _parse(line: bytes | None, options: Options) -> dict[str, Any]:
    if line is None:
        raise BadObject(*long_line(options.longest_line))
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise BadObject("is not valid UTF-8", column=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise BadObject(f"{error.msg}; expected one JSON object", column=error.colno) from error
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise BadObject(str(error)) from error
    if not isinstance(record, dict):
        raise BadObject(f"a JSON {type(record).__name__}; expected an object such as {{'a': 2.5}}")
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
        number -= 1  # what follows the last line end belongs to the next block


# -- what becomes of the keys ----------------------------------------------------------------


def _plan(sample: Sample, path: str, options: Options, report: Report) -> Plan:
    """Return what becomes of the keys: as in the files before, as asked, or as they look."""
    found = report.found
    if found.columns is None and options.kinds is not None:
        found.columns = dict(options.kinds)
    if found.columns is None or (found.labels is None and options.label is not None):
        records = list(_good_records(sample, options))
        if found.columns is None:
            found.columns = _kinds(records, options, found)
        labels = [record.get(str(options.label)) for record in records]
        found.labels = found.labels or settled(_label_kind(labels), options.labels)
    return Plan.of(found.columns, options)


def _good_records(sample: Sample, options: Options) -> Iterator[dict[str, Any]]:
    for line in sample.data.split(b"\n"):
        try:
            yield _parse(line, options)
        except BadObject:
            continue


def _kinds(records: list[dict[str, Any]], options: Options, found: Findings) -> dict[str, str]:
    """Return the kinds of the keys, by their values; keys that come later are hashed."""
    apart = (options.label, options.weight, *options.text)
    cells: dict[str, list[Any]] = {}
    for record in records:
        for key, value in record.items():
            if key in apart or (options.features is not None and key not in options.features):
                continue
            for name, part in leaves(key, value):
                if part is not None:
                    cells.setdefault(name, []).append(part)
    contents = {name: contents_of_cells(values) for name, values in cells.items()}
    kinds = {name: each.kind for name, each in contents.items()}
    if options.label is not None:
        contents[options.label] = contents_of_cells([r.get(options.label) for r in records])
    rest = (OTHERS,) if options.features is None else options.features
    kinds = with_asked(kinds, contents, options, found)
    return {**kinds, **{name: "hashed" for name in rest if name not in kinds}}


def _label_kind(values: list[Any]) -> str | None:
    """Return the type of labels, as StringColumn.label_kind does."""
    usable: list[Any] = [value for value in values if isinstance(value, (str, bool, int, float))]
    if not usable:
        return None
    if contents_of_cells(usable).kind == "category":
        return "text"
    usable = [value for value in usable if not isinstance(value, str)]
    if all(isinstance(value, bool) for value in usable):
        return "bool"
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in usable):
        return "float"
    beyond = sum(not -(2**63) <= value < 2**63 for value in usable)
    return "text" if beyond > FEW * len(usable) else "int"
