"""JSON lines: one object a line. Keys may differ from line to line, so features are hashed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from aggro.files import hashing
from aggro.files.batch import Batch, Report, sparse
from aggro.files.blocks import long_line, read_ahead, whole_lines
from aggro.files.errors import BadLine
from aggro.files.options import Options
from aggro.files.sources import open_bytes

DEFAULT_ROWS = 8192
WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")


def batches(path: str, options: Options, report: Report) -> Iterator[Batch]:
    """Batches of one file of JSON lines."""
    rows = _Rows(options, report)
    for number, line in _numbered_lines(path, options):
        if line is not None and not line.strip():
            continue
        try:
            rows.add(_parse(line, options))
        except (ValueError, RecursionError) as error:
            column = error.colno if isinstance(error, json.JSONDecodeError) else None
            message = (
                error.msg + "; expected one JSON object"
                if isinstance(error, json.JSONDecodeError)
                else str(error)
            )
            problem = BadLine(path, number, message, column=column)
            if not options.skip_bad:
                yield from rows.take()
                raise problem from error
            report.add_bad(problem)
        if rows.count >= (options.batch_rows or DEFAULT_ROWS):
            yield from rows.take()
    yield from rows.take()


def _parse(line: bytes | None, options: Options) -> Any:
    if line is None:
        raise ValueError(long_line(options.longest_line))
    return json.loads(line)


def _numbered_lines(path: str, options: Options) -> Iterator[tuple[int, bytes | None]]:
    number = 0
    with (
        open_bytes(path) as stream,
        closing(
            read_ahead(whole_lines(stream, options.batch_bytes, options.longest_line))
        ) as blocks,
    ):
        for block in blocks:
            if block.after_long_line:
                number += 1
                yield number, None
            for line in bytes(block.data).split(b"\n"):
                number += 1
                yield number, line
            number -= 1  # what follows the last line end belongs to the next block


class _Rows:
    """Rows gathered for the next batch: names and values, hashed all at once."""

    def __init__(self, options: Options, report: Report) -> None:
        self.options = options
        self.report = report
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.labels: list[Any] = []
        self.weights: list[float] = []
        self.ends: list[int] = [0]
        self.names: list[str] = []
        self.values: list[float] = []

    def add(self, record: Any) -> None:
        """Add one object as a row, or raise ValueError and add nothing."""
        if not isinstance(record, dict):
            raise ValueError(
                f"a JSON {type(record).__name__}; expected an object such as {{'a': 2.5}}"
            )
        options = self.options
        label = self._required(record, options.label)
        weight = self._required(record, options.weight)
        if options.weight is not None and not (_is_number(weight) and 0 <= weight < math.inf):
            raise ValueError(f"weight {weight!r}; expected a finite number that is not negative")
        keys = options.features
        if keys is None:
            keys = tuple(key for key in record if key not in (options.label, options.weight))
        found: list[tuple[str, float]] = []
        for key in [*keys, *(key for key in options.text if key not in keys)]:
            found += self._features(key, record.get(key))
        self.labels.append(label)
        self.weights.append(float(weight) if options.weight is not None else 1.0)
        self.names += [name for name, _ in found]
        self.values += [value for _, value in found]
        self.ends.append(len(self.names))
        self.count += 1

    def _required(self, record: dict[str, Any], key: str | None) -> Any:
        if key is not None and record.get(key) is None:
            raise ValueError(f"no {key!r}; its keys are {', '.join(map(repr, record))}")
        return None if key is None else record[key]

    def _features(self, key: str, value: Any) -> list[tuple[str, float]]:
        if value is None:
            if self.options.missing == "error":
                raise ValueError(f"{key!r} is missing; give it a value, or pass missing='zero'")
            return []
        if key in self.options.text:
            return [(f"{key}={word}", 1.0) for word in WORD.findall(str(value).lower())]
        if isinstance(value, str):
            return [(f"{key}={value}", 1.0)]
        if isinstance(value, dict):
            return [
                feature
                for inner, part in value.items()
                for feature in self._features(f"{key}.{inner}", part)
            ]
        if isinstance(value, bool) or (_is_number(value) and math.isfinite(value)):
            return [(key, float(value))]
        raise ValueError(
            f"{key!r} is {value!r}; expected a finite number, a boolean, a string or an object"
        )

    def take(self) -> Iterator[Batch]:
        """Yield the rows gathered so far, if any."""
        if not self.count:
            return
        options = self.options
        indices = hashing.hash_names(self.names, options.hash_bits)
        values = np.array(self.values, options.dtype)
        X = sparse().csr_matrix(
            (values, indices, np.array(self.ends)), shape=(self.count, options.n_hashed)
        )
        X.sum_duplicates()
        y = None if options.label is None else np.array(self.labels)
        self.report.n_rows += self.count
        self.report.n_features = options.n_hashed
        yield Batch(X, y, None if options.weight is None else np.array(self.weights))
        self._clear()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
