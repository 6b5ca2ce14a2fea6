"""Contributions of the columns of a row to its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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
    such as "city=Oslo" and "city=Rome", change together. The contributions are an array outputs x
    columns, and with the rest, one number for each output, they sum to the scores.
    """
    scores = model._scores_of(X)[0]  # raises if the row is invalid
    if features_of(model._learner) == "linear":
        sparse = hasattr(X, "indptr")
        columns = X.indices if sparse else np.flatnonzero(X[0])
        values = X.data if sparse else X[0, columns]
        parts = np.atleast_2d(model._coef())[:, columns].astype(np.float64) * values
        return [name(int(c)) for c in columns], parts, np.asarray(model.intercept_, np.float64)
    row = X.toarray() if hasattr(X, "toarray") else X
    others = remembered_rows(model._learner.representations.core, ROWS)
    found = []
    groups: dict[str, list[int]] = {}
    for column in range(row.shape[1]):
        groups.setdefault(name(column).partition("=")[0], []).append(column)
    for own in groups.values():
        changed = np.repeat(row, len(others), axis=0)
        changed[:, own] = others[:, own]
        found.append((scores - model._scores_of(changed)).mean(axis=0))
    parts = np.array(found, np.float64).T
    present = [[name(c) for c in own if row[0, c] or len(own) == 1] for own in groups.values()]
    names = [own[0] if own else group for group, own in zip(groups, present, strict=True)]
    return names, parts, scores - parts.sum(axis=1)
