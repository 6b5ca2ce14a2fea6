"""Contributions of the columns of a row to its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro import _core
from aggro.estimators import counters
from aggro.explanation import ROWS
from aggro.learner import Array
from aggro.selection.common import features_of
from aggro.selection.feature_maps import remembered_rows


def as_rows(x: Any) -> Any:
    """Return one row as rows that an estimator reads; raise if there are several."""
    rows: Any = x if hasattr(x, "shape") else np.asarray(x)
    if len(rows.shape) == 1:  # to_frame: a row of a data frame
        rows = rows.to_frame().T if hasattr(rows, "iloc") else np.asarray(rows)[None]
    if len(rows.shape) != 2 or rows.shape[0] != 1:
        raise ValueError(f"x has shape {rows.shape}; give one row, such as X[0].")
    return rows


def contributions(model: Any, X: Any, name: Callable[[int], str]) -> tuple[list[str], Array, Array]:
    """Return the names of the contributing columns of a row, how much they add, and the rest.

    In a linear model that is value times weight. Otherwise it is the difference between the scores
    and their mean if the column has the values of remembered rows instead; columns of one category,
    such as "city=Oslo" and "city=Rome", change together. Values of hashed columns are not
    remembered, so the row is compared with one that lacks them. The contributions are an array
    outputs x columns, and with the rest, one number for each output, they sum to the scores.
    """
    scores = model._scores_of(X)[0]  # raises if the row is invalid
    if features_of(model._learner) == "linear":
        sparse = hasattr(X, "indptr")
        columns = X.indices if sparse else np.flatnonzero(X[0])
        values = X.data if sparse else X[0, columns]
        parts = np.atleast_2d(model._coef())[:, columns].astype(np.float64) * values
        return [name(int(c)) for c in columns], parts, np.asarray(model.intercept_, np.float64)
    ignored = counters.found(model._fitted.counters)
    return differences(model._learner, X, ignored, name, scores)


def differences(
    learner: Any, X: Any, ignored: Array, name: Callable[[int], str], scores: Array
) -> tuple[list[str], Array, Array]:
    """Return the contributions for a row of a model of non-linear features, given its scores.

    They are those of ``contributions``. Ignored columns count as zero.
    """
    others = remembered_rows(learner.representations.core, ROWS)
    columns, row = _present(X, others.shape[1])
    zero = np.isin(columns, ignored)
    others = np.pad(others, ((0, 0), (0, len(columns) - others.shape[1])))
    row[zero] = others[:, zero] = 0.0
    found = []
    groups: dict[str, list[int]] = {}
    for place, column in enumerate(columns.tolist()):
        groups.setdefault(name(column).partition("=")[0], []).append(place)
    for own in groups.values():
        changed = np.repeat(row[None], len(others), axis=0)
        changed[:, own] = others[:, own]
        rows = _rows(changed, columns, X)
        found.append((scores - learner.scores(rows)).mean(axis=0))
    parts = np.array(found, np.float64).T
    present = [
        [name(int(columns[place])) for place in own if row[place] or len(own) == 1]
        for own in groups.values()
    ]
    names = [own[0] if own else group for group, own in zip(groups, present, strict=True)]
    return names, parts, scores - parts.sum(axis=1)


def _present(X: Any, mapped: int) -> tuple[Array, Array]:
    """Return the mapped columns of a row and those that are not zero, and their values."""
    if not hasattr(X, "indptr"):
        return np.arange(X.shape[1]), X[0].copy()
    columns = np.union1d(np.arange(mapped), X.indices)
    row = np.zeros(len(columns), X.dtype)
    np.add.at(row, np.searchsorted(columns, X.indices), X.data)
    return columns, row


def _rows(values: Array, columns: Array, X: Any) -> _core.Rows:
    """Return rows of the type and width of X with these values in some columns."""
    ends = np.arange(len(values) + 1) * len(columns)
    places = np.tile(columns, len(values)).astype(np.int32)
    return _core.Rows(values.ravel().astype(X.dtype), places, ends, X.shape[1])
