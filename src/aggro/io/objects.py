"""JSON objects to rows, by the plan that tables have too."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aggro.io import hashing
from aggro.io.batch import Batch, Report
from aggro.io.columns import Plan
from aggro.io.contents import is_gap
from aggro.io.encode import EXPECTED_LABELS, NAMES_ADVICE, NOT_A_NUMBER, Entries
from aggro.io.matrix import from_entries
from aggro.io.options import MOST_HASH_BITS, Options
from aggro.io.strings import buffers_of, lowered

MOST_SHOWN = 60  # letters of what a file has


class BadObject(ValueError):
    """What is wrong with an object, before it is known in which line it stands."""

    def __init__(self, message: str, advice: str = "", column: int | None = None) -> None:
        super().__init__(message)
        self.message, self.advice, self.column = message, advice, column


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


class _Entries:
    """Entries of a sparse matrix as they come: where and what."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.keys: list[Any] = []
        self.values: list[float] = []

    def add(self, row: int, keys: Collection[Any], values: Iterable[float]) -> None:
        """Add some entries of one row."""
        self.rows += repeat(row, len(keys))
        self.keys += keys
        self.values += values

    def arrays(self, places: NDArray[np.int64]) -> Entries:
        """Return the rows, these columns for the keys, and the values."""
        return np.array(self.rows, np.int64), places, np.array(self.values, np.float64)


class _Texts(NamedTuple):
    """The texts of a key, and which rows they are of."""

    rows: list[int]
    texts: list[bytes]


class ObjectRows:
    """Rows gathered for the next batch: names and values, hashed all at once."""

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
        """Tell whether a key is needed by itself, and not as one of those inside another."""
        return "." not in name or name.partition(".")[0] not in self.hashed

    def _clear(self) -> None:
        self.count = 0
        self.labels: list[Any] = []
        self.weights: list[float] = []
        self.numbers = _Entries()  # by their columns
        self.names = _Entries()  # to be hashed
        self.words = {name: _Texts([], []) for name in self.plan.texts}

    def add(self, record: dict[str, Any]) -> None:
        """Add one object as a row, or raise BadObject and add nothing."""
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
        """Return the value of a key of numbers, which may be a gap."""
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
        """Yield the rows gathered so far, if any."""
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
