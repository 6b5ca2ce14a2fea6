"""JSON lines: one object a line, encoded as a table is. Keys may differ from line to line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from aggro.files.batch import Batch, Report
from aggro.files.blocks import Block, Sample, blocks_of, long_line, sampled
from aggro.files.columns import OTHERS, Plan
from aggro.files.errors import BadLine
from aggro.files.objects import BadObject, ObjectRows, leaves
from aggro.files.options import Options
from aggro.files.strings import settled

DEFAULT_ROWS = 8192


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one file of JSON lines."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        rows = ObjectRows(_plan(sample, path, options, report), options, report)
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
            found.columns = _kinds(records, path, options)
        labels = [record.get(str(options.label)) for record in records]
        found.labels = found.labels or settled(_label_kind(labels), options.labels)
    return Plan.of(found.columns, options)


def _good_records(sample: Sample, options: Options) -> Iterator[dict[str, Any]]:
    for line in sample.data.split(b"\n"):
        try:
            yield _parse(line, options)
        except BadObject:
            continue


def _kinds(records: list[dict[str, Any]], path: str, options: Options) -> dict[str, str]:
    """Return the kinds of the keys: one is a category as soon as one of its values is a string."""
    apart = (options.label, options.weight, *options.text)
    kinds: dict[str, str] = {}
    for record in records:
        for key, value in record.items():
            if key in apart or (options.features is not None and key not in options.features):
                continue
            for name, part in leaves(key, value):
                if isinstance(part, str):
                    kinds[name] = "category"
                elif part is not None:
                    kinds.setdefault(name, "number")
    rest = (OTHERS,) if options.features is None else options.features
    others = {name: "hashed" for name in rest if name not in (*kinds, *options.text)}
    return {**kinds, **dict.fromkeys(options.text, "text"), **others}


def _label_kind(values: list[Any]) -> str | None:
    """Say which type labels have, as StringColumn.label_kind does."""
    usable: list[Any] = [value for value in values if isinstance(value, (str, bool, int, float))]
    if not usable:
        return None
    if any(isinstance(value, str) for value in usable):
        return "text"
    if all(isinstance(value, bool) for value in usable):
        return "bool"
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in usable):
        return "float"
    return "int" if all(-(2**63) <= value < 2**63 for value in usable) else "text"
