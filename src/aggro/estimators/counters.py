"""Detection of monotonic columns in a stream, such as counters and timestamps.

While such a column is learned, its values are nearly constant at the current scale, so the model
balances it against the intercept, and predicts wrongly on rows with other values. Columns that are
monotonic in the first rows of a stream therefore count as zero from then on.
"""

from __future__ import annotations

import warnings
from typing import Any, TypedDict

import numpy as np

from aggro.learner import Array

ROWS = 64  # number of rows before the decision
CHANGES = 20  # minimum number of changes in them


class Counters(TypedDict):
    """Statistics of the columns, as plain values for a model file."""

    rows: int
    columns: Array  # monotonic so far; final after ``ROWS`` rows
    direction: Array  # 1, -1, or 0 before the first change
    changes: Array
    last: Array


def begin(X: Any) -> Counters:
    """Return the statistics before the first row."""
    columns = np.unique(X[:1].indices) if hasattr(X, "indptr") else np.arange(X.shape[1])
    none = np.zeros(len(columns), np.int64)
    return {
        "rows": 0,
        "columns": columns.astype(np.int64),
        "direction": none,
        "changes": none,
        "last": np.zeros(len(columns)),
    }


def widened(counters: Counters, features: int, known: int) -> Counters:
    """Return the statistics with more columns, which were zero so far."""
    if features <= known:
        return counters
    columns = np.arange(known, features)
    none = np.zeros(len(columns), np.int64)
    return {
        "rows": counters["rows"],
        "columns": np.concatenate([counters["columns"], columns]),
        "direction": np.concatenate([counters["direction"], none]),
        "changes": np.concatenate([counters["changes"], none]),
        "last": np.concatenate([counters["last"], np.zeros(len(columns))]),
    }


def follow(counters: Counters, X: Any, weights: Array | None) -> tuple[Counters, Any]:
    """Return the updated statistics, and X with zeros in monotonic columns."""
    counted = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    left = ROWS - counters["rows"]
    if left <= 0:
        return counters, without(counters, X)
    first = counted[:left]
    counters = _after(counters, _dense(X[first], counters["columns"]))
    if counters["rows"] < ROWS:
        return counters, X
    found = counters["columns"][counters["changes"] >= CHANGES]
    if len(found) == X.shape[1]:  # no other columns would be left
        found = found[:0]
    counters = {**counters, "columns": found}
    return counters, without(counters, X, int(first[-1]) + 1)


def _after(counters: Counters, rows: Array) -> Counters:
    """Return the statistics of the candidate columns after more rows."""
    if len(rows) == 0:
        return counters
    before = [] if counters["rows"] == 0 else [counters["last"]]
    steps = np.sign(np.diff(np.vstack([*before, rows]), axis=0))
    up, down = (steps > 0).any(axis=0), (steps < 0).any(axis=0)
    direction = counters["direction"]
    stays = ~((up & (direction < 0)) | (down & (direction > 0)) | (up & down))
    return {
        "rows": counters["rows"] + len(rows),
        "columns": counters["columns"][stays],
        "direction": np.where(up, 1, np.where(down, -1, direction))[stays],
        "changes": (counters["changes"] + np.count_nonzero(steps, axis=0))[stays],
        "last": rows[-1][stays].astype(np.float64),
    }


def _dense(X: Any, columns: Array) -> Array:
    """Return some sorted columns as a dense array."""
    if not hasattr(X, "indptr"):
        part: Array = X[:, columns]
        return part
    dense = np.zeros((X.shape[0], len(columns)))
    row, known = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.isin(X.indices, columns)
    places = row[known], np.searchsorted(columns, X.indices[known])
    np.add.at(dense, places, X.data[known])
    return dense


def found(counters: Counters | None) -> Array:
    """Return the columns that count as zero."""
    decided = counters is not None and counters["rows"] >= ROWS
    return counters["columns"] if decided and counters else np.empty(0, np.int64)


def without(counters: Counters | None, X: Any, start: int = 0) -> Any:
    """Return X with zeros in monotonic columns from a row on; X itself if there are none."""
    columns = found(counters)
    if len(columns) == 0:
        return X
    X = X.copy()
    if hasattr(X, "indptr"):
        where = np.isin(X.indices, columns)
        where[: X.indptr[start]] = False
        X.data[where] = 0.0
    else:
        X[start:, columns] = 0.0
    return X


def fit(counters: dict[str, Any], features: int) -> bool:
    """Return whether the values of a model file are valid statistics."""
    columns = counters["columns"]
    shapes = {np.shape(counters[name]) for name in ("columns", "direction", "changes", "last")}
    if type(counters["rows"]) is not int or columns.dtype != np.int64 or columns.ndim != 1:
        return False
    decided = counters["rows"] >= ROWS
    in_range = bool(np.all((columns >= 0) & (columns < features)))
    return in_range and (decided or shapes == {columns.shape})


def warn(counters: Counters, names: Array | None) -> None:
    """Warn that monotonic columns are ignored."""
    columns = found(counters).tolist()
    if columns:
        listed = ", ".join(str(c) if names is None else repr(names[c]) for c in columns)
        warnings.warn(
            f"X only rises or only falls in column {listed}, as the numbers of rows and times do, "
            "and such a column would spoil predictions for other values of it; it counts as zero "
            "from here on. If it is a feature, shuffle the rows.",
            stacklevel=5,
        )
