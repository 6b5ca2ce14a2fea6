"""JSON lines: one object per line, encoded like a table. Keys may differ between lines."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.io import hashing
from aggro.io.batch import Batch, Findings, Report, from_entries
from aggro.io.columns import FEW, OTHERS, Plan, contents_of_cells, is_gap, with_requested
from aggro.io.encode import EXPECTED_LABELS, NAMES_ADVICE, NOT_A_NUMBER, Encoder, Entries
from aggro.io.errors import BadLine
from aggro.io.hashing import buffers_of, lowered
from aggro.io.options import MOST_HASH_BITS, Options
from aggro.io.sources import Block, Sample, blocks_of, long_line, sampled
from aggro.io.strings import StringColumn, label_type

MOST_SHOWN = 60  # letters of a value in a message


class BadObject(ValueError):
    """An invalid object; its line is added later."""

    def __init__(self, message: str, advice: str = "", column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.advice, self.column = message, advice, column


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


class _Entries:
    """Entries of a sparse matrix in the order of the rows."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.keys: list[Any] = []
        self.values: list[float] = []

    def add(self, row: int, keys: Collection[Any], values: Iterable[float]) -> None:
        """Add entries of one row."""
        self.rows += repeat(row, len(keys))
        self.keys += keys
        self.values += values

    def arrays(self, places: NDArray[np.int64]) -> Entries:
        """Return rows, columns and values; ``places`` are the columns of the keys."""
        return np.array(self.rows, np.int64), places, np.array(self.values, np.float64)


class _Texts(NamedTuple):
    """The texts of a key, and their rows."""

    rows: list[int]
    texts: list[bytes]


class ObjectRows:
    """The rows of the next batch: names and values, which are hashed together."""

    def __init__(self, plan: Plan, options: Options, report: Report) -> None:
        self.plan, self.options, self.report = plan, options, report
        self.largest = float(np.finfo(options.dtype).max)
        self.place = {name: place for place, name in enumerate(plan.numbers)}
        self.categories, self.texts = set(plan.categories), set(plan.texts)
        self.hashed = set(plan.hashed)
        self.apart = {options.label, options.weight, *plan.ignored}
        self.named = {*plan.numbers, *plan.categories, *plan.texts}
        self.needed = [] if plan.is_open else [name for name in plan.features if self._alone(name)]
        self._clear()

    def _alone(self, name: str) -> bool:
        """Return True if a key is required, and not one inside a hashed object."""
        return "." not in name or name.partition(".")[0] not in self.hashed

    def _clear(self) -> None:
        self.count = 0
        self.labels: list[Any] = []
        self.weights: list[float] = []
        self.numbers = _Entries()  # by their columns
        self.names = _Entries()  # to be hashed
        self.words = {name: _Texts([], []) for name in self.plan.texts}

    def add(self, record: dict[str, Any]) -> None:
        """Add one object as a row; raise BadObject without adding anything."""
        options = self.options
        label = self._label(record)
        weight = self._required(record, options.weight)
        if options.weight is not None and not (_is_number(weight) and 0 <= weight < math.inf):
            raise BadObject(
                f"weight {_short(weight)}; expected a finite number that is not negative"
            )
        found = dict(self._leaves(record))
        if options.missing == "error":
            for name in self.needed:
                if name not in found and not isinstance(record.get(name), dict):
                    raise _missing(name)
        numbers: dict[int, float] = {}
        hashed: dict[str, float] = {}
        texts: dict[str, str] = {}
        for name, value in found.items():
            if name in self.place:
                numbers[self.place[name]] = self._number(name, value)
            elif name in self.texts:
                texts[name] = _as_text(value)
            elif isinstance(value, str) or (name in self.categories and _is_finite(value)):
                hashed[f"{name}={_as_text(value)}"] = 1.0
            else:
                hashed[name] = self._finite(name, value)
        self.numbers.add(self.count, numbers, numbers.values())
        self.names.add(self.count, hashed, hashed.values())
        for name, text in texts.items():
            self.words[name].rows.append(self.count)
            self.words[name].texts.append(text.encode("utf-8", "surrogatepass"))
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
            raise BadObject(f"{self.options.label!r} is {_short(value)}", advice)
        return value if kind in ("bool", "int") else float(value)

    def _required(self, record: dict[str, Any], key: str | None) -> Any:
        if key is not None and record.get(key) is None:
            keys = ", ".join(map(repr, record))
            raise BadObject(f"no {key!r}; its keys are {keys[:MOST_SHOWN]}")
        return None if key is None else record[key]

    def _leaves(self, record: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the values that are features."""
        for key, whole in record.items():
            if key in self.apart:
                continue
            is_open = self.plan.is_open or key in self.hashed
            is_inner = isinstance(whole, dict) and key not in self.texts
            for name, value in leaves(key, whole) if is_inner else ((key, whole),):
                if not (is_open or name in self.named):
                    continue
                if value is not None:
                    yield name, value
                elif self.options.missing == "error":
                    raise _missing(name)

    def _number(self, name: str, value: Any) -> float:
        """Return the value of a key of numbers; it may be a gap."""
        if not isinstance(value, str):
            return self._finite(name, value)
        if not is_gap(value):
            raise BadObject(f"{name!r} is {_short(value)}", NOT_A_NUMBER)
        if self.options.missing == "error":
            raise _missing(name)
        return 0.0

    def _finite(self, name: str, value: Any) -> float:
        if not _is_finite(value) or abs(value) > self.largest:
            kinds = "a boolean, a string or an object"
            expected = f"a finite {self.options.dtype}" + (
                "" if name in self.place else f", {kinds}"
            )
            raise BadObject(f"{name!r} is {_short(value)}; expected {expected}")
        return float(value)

    def take(self) -> Iterator[Batch]:
        """Yield the collected rows, if any, as a batch."""
        if not self.count:
            return
        options, shape = self.options, (self.count, self.plan.width(self.options))
        keys = hashing.hash_names(self.names.keys, MOST_HASH_BITS)
        self.report.names.add(keys, lambda i: str(self.names.keys[i]))
        indices = keys & (options.n_hashed - 1)
        parts = [
            self.numbers.arrays(np.array(self.numbers.keys, np.int64)),
            self.names.arrays(indices.astype(np.int64) + len(self.plan.numbers)),
        ]
        for name, (rows, texts) in self.words.items():
            words = lowered(buffers_of(texts))
            indptr, indices, counts = hashing.count_words(words, f"{name}=", options.hash_bits)
            row = np.repeat(np.array(rows, np.int64), np.diff(indptr))
            parts.append((row, indices.astype(np.int64) + len(self.plan.numbers), counts))
        row, places, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        X = from_entries(row, places, values.astype(options.dtype), shape)
        y = None if options.label is None else np.array(self.labels)
        self.report.n_rows += self.count
        self.report.n_features = shape[1]
        yield Batch(X, y, None if options.weight is None else np.array(self.weights))
        self._clear()


def _missing(name: str) -> BadObject:
    return BadObject(f"{name!r} is missing", "; give it a value; pass {missing=zero} to do without")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    """Return True if a value is a boolean, or a number that a double can represent."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _as_text(value: Any) -> str:
    """Return a value as a csv file has it."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return str(value)


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


DEFAULT_ROWS = 8192


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Yield the batches of one file of JSON lines."""
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
    """Yield batches of raw rows: columns of strings, as a csv file has them."""
    plan = dataclasses.replace(plan, hashed=(), is_open=False)  # later keys are not used
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
    """Return a value as a csv file has it; the empty string if it is missing."""
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
        number -= 1  # the rest after the last line end belongs to the next block


# -- kinds of keys --


def _plan(sample: Sample, path: str, options: Options, report: Report) -> Plan:
    """Return the plan of the keys: of earlier files, as requested, or by values."""
    found = report.found
    if found.columns is None and options.kinds is not None:
        found.columns = dict(options.kinds)
    if found.columns is None or (found.labels is None and options.label is not None):
        records = list(_good_records(sample, options))
        if found.columns is None:
            found.columns = _kinds(records, options, found)
        labels = [record.get(str(options.label)) for record in records]
        found.labels = found.labels or label_type(_label_kind(labels), options.labels)
    return Plan.of(found.columns, options)


def _good_records(sample: Sample, options: Options) -> Iterator[dict[str, Any]]:
    for line in sample.data.split(b"\n"):
        try:
            yield _parse(line, options)
        except BadObject:
            continue


def _kinds(records: list[dict[str, Any]], options: Options, found: Findings) -> dict[str, str]:
    """Return the kinds of the keys by their values; later keys are hashed."""
    apart = (options.label, options.weight, *options.text)
    cells: dict[str, list[Any]] = {}
    for record in records:
        for key, value in record.items():
            if key in apart or (options.columns is not None and key not in options.columns):
                continue
            for name, part in leaves(key, value):
                if part is not None:
                    cells.setdefault(name, []).append(part)
    contents = {name: contents_of_cells(values) for name, values in cells.items()}
    kinds = {name: each.kind for name, each in contents.items()}
    if options.label is not None:
        contents[options.label] = contents_of_cells([r.get(options.label) for r in records])
    rest = (OTHERS,) if options.columns is None else options.columns
    kinds = with_requested(kinds, contents, options, found)
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
