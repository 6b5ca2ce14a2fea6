"""JSON lines: one object a line, encoded as a table is. Keys may differ from line to line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from aggro.files import hashing
from aggro.files.batch import Batch, Report
from aggro.files.blocks import Block, Sample, blocks_of, long_line, sampled
from aggro.files.columns import OTHERS, Plan
from aggro.files.encode import EXPECTED_LABELS, NAMES_ADVICE
from aggro.files.errors import BadLine
from aggro.files.matrix import from_entries
from aggro.files.options import Options
from aggro.files.strings import lower, settled

DEFAULT_ROWS = 8192
MOST_SHOWN = 60  # letters of what a file has
WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")


class _Bad(ValueError):
    """What is wrong with a line, before it is known which one it is."""

    def __init__(self, message: str, advice: str = "", column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.advice, self.column = message, advice, column


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one file of JSON lines."""
    with closing(blocks_of(path, options)) as blocks:
        sample, again = sampled(blocks)
        rows = _Rows(_plan(sample, path, options, report), options, report)
        for number, line in _numbered_lines(again):
            if line is not None and not line.strip():
                continue
            try:
                rows.add(_parse(line, options))
            except _Bad as bad:
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
        raise _Bad(*long_line(options.longest_line))
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise _Bad("is not valid UTF-8", column=error.start + 1) from error
    except json.JSONDecodeError as error:
        raise _Bad(f"{error.msg}; expected one JSON object", column=error.colno) from error
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise _Bad(str(error)) from error
    if not isinstance(record, dict):
        raise _Bad(f"a JSON {type(record).__name__}; expected an object such as {{'a': 2.5}}")
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
        except _Bad:
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


def leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values in inner objects under names such as "outer.inner".

    >>> list(leaves("a", {"b": 1, "c": {"d": "x"}}))
    [('a.b', 1), ('a.c.d', 'x')]
    """
    if isinstance(value, dict):
        for inner, part in value.items():
            yield from leaves(f"{key}.{inner}", part)
    else:
        yield key, value


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


# -- rows ------------------------------------------------------------------------------------


class _Rows:
    """Rows gathered for the next batch: names and values, hashed all at once."""

    def __init__(self, plan: Plan, options: Options, report: Report) -> None:
        self.plan, self.options, self.report = plan, options, report
        self.largest = float(np.finfo(options.dtype).max)
        self.place = {name: place for place, name in enumerate(plan.numbers)}
        self.categories, self.texts = set(plan.categories), set(plan.texts)
        self.hashed = set(plan.hashed)
        self.needed = [] if plan.is_open else [name for name in plan.features if self._alone(name)]
        self._clear()

    def _alone(self, name: str) -> bool:
        """Tell whether a key is needed by itself, and not as one of those inside another."""
        return "." not in name or name.partition(".")[0] not in self.hashed

    def _clear(self) -> None:
        self.count = 0
        self.labels: list[Any] = []
        self.weights: list[float] = []
        self.numbers: list[tuple[int, int, float]] = []  # row, column, value
        self.names: list[tuple[int, str, float]] = []  # row, name to be hashed, value

    def add(self, record: dict[str, Any]) -> None:
        """Add one object as a row, or raise _Bad and add nothing."""
        options = self.options
        label = self._label(record)
        weight = self._required(record, options.weight)
        if options.weight is not None and not (_is_number(weight) and 0 <= weight < math.inf):
            raise _Bad(f"weight {_short(weight)}; expected a finite number that is not negative")
        found = dict(self._leaves(record))
        if options.missing == "error":
            for name in self.needed:
                if name not in found and not isinstance(record.get(name), dict):
                    raise _missing(name)
        numbers: list[tuple[int, int, float]] = []
        names: list[tuple[int, str, float]] = []
        for name, value in found.items():
            place = self.place.get(name)
            if place is not None:
                numbers.append((self.count, place, self._finite(name, value)))
            else:
                names += [(self.count, hashed, part) for hashed, part in self._hashed(name, value)]
        self.numbers += numbers
        self.names += names
        self.labels.append(label)
        self.weights.append(1.0 if options.weight is None else float(weight))
        self.count += 1

    def _label(self, record: dict[str, Any]) -> Any:
        value = self._required(record, self.options.label)
        kind = self.report.found.labels or "float"
        if self.options.label is None:
            return None
        if kind == "text" and isinstance(value, (str, bool, int, float)) and value == value:
            return _as_text(value)
        is_right = {
            "text": False,
            "bool": isinstance(value, bool),
            "int": _is_number(value) and (isinstance(value, float) or -(2**63) <= value < 2**63),
        }.get(kind, _is_number(value))
        if not is_right or not _is_finite(value):
            advice = f"; expected {EXPECTED_LABELS[kind if kind in EXPECTED_LABELS else 'float']}"
            advice += NAMES_ADVICE if kind != "text" else ""
            raise _Bad(f"{self.options.label!r} is {_short(value)}", advice)
        return value if kind in ("bool", "int") else float(value)

    def _required(self, record: dict[str, Any], key: str | None) -> Any:
        if key is not None and record.get(key) is None:
            keys = ", ".join(map(repr, record))
            raise _Bad(f"no {key!r}; its keys are {keys[:MOST_SHOWN]}")
        return None if key is None else record[key]

    def _leaves(self, record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the values that are features."""
        for key, whole in record.items():
            if key in (self.options.label, self.options.weight):
                continue
            is_open = self.plan.is_open or key in self.hashed
            for name, value in [(key, whole)] if key in self.texts else leaves(key, whole):
                if not (is_open or name in self.place or name in self.categories | self.texts):
                    continue
                if value is not None:
                    yield name, value
                elif self.options.missing == "error":
                    raise _missing(name)

    def _hashed(self, name: str, value: Any) -> list[tuple[str, float]]:
        if name in self.texts:
            return [(f"{name}={word}", 1.0) for word in WORD.findall(lower(_as_text(value)))]
        if isinstance(value, str) or (name in self.categories and _is_finite(value)):
            return [(f"{name}={_as_text(value)}", 1.0)]
        return [(name, self._finite(name, value))]

    def _finite(self, name: str, value: Any) -> float:
        if not _is_finite(value) or abs(value) > self.largest:
            kinds = "a boolean, a string or an object"
            expected = f"a finite {self.options.dtype}" + (
                "" if name in self.place else f", {kinds}"
            )
            raise _Bad(f"{name!r} is {_short(value)}; expected {expected}")
        return float(value)

    def take(self) -> Iterator[Batch]:
        """Yield the rows gathered so far, if any."""
        if not self.count:
            return
        options, shape = self.options, (self.count, self.plan.width(self.options))
        indices = hashing.hash_names([name for _, name, _ in self.names], options.hash_bits)
        rows = [row for row, _, _ in self.numbers] + [row for row, _, _ in self.names]
        places = np.concatenate(
            (
                np.array([place for _, place, _ in self.numbers], np.int64),
                indices.astype(np.int64) + len(self.plan.numbers),
            )
        )
        values = [value for _, _, value in self.numbers] + [value for _, _, value in self.names]
        X = from_entries(np.array(rows, np.int64), places, np.array(values, options.dtype), shape)
        y = None if options.label is None else np.array(self.labels)
        self.report.n_rows += self.count
        self.report.n_features = shape[1]
        yield Batch(X, y, None if options.weight is None else np.array(self.weights))
        self._clear()


def _missing(name: str) -> _Bad:
    return _Bad(f"{name!r} is missing", "; give it a value; pass {missing=zero} to do without")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    """Tell whether a value is a boolean, or a number that a double can hold."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _as_text(value: Any) -> str:
    """Return a value as a csv file would have it."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return str(value)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
