"""Contributions of the columns of a row to its scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.explanation import ROWS
from aggro.learner import Array
from aggro.selection.common import features_of
from aggro.selection.feature_maps import remembered_rows


def as_rows(x: Any) -> Any:
    """Return one row as rows that an estimator reads; raise if there are several."""
    if not hasattr(x, "iloc"):
        rows = x if hasattr(x, "shape") and len(x.shape) == 2 else np.asarray(x)[None]
    else:
        rows = x.to_frame().T if len(x.shape) == 1 else x  # a row of a data frame
    if len(rows.shape) != 2 or rows.shape[0] != 1:
        raise ValueError(f"x has shape {x.shape}; give one row, such as X[0].")
    return rows


def contributions(model: Any, X: Any) -> tuple[Array, Array, Array]:
    """Return the columns that contribute to the scores of a row, how much, and the rest.

    In a linear model that is value times weight. Otherwise it is the difference between the scores
    and their mean if the column has the values of remembered rows instead. The contributions are an
    array outputs x columns, and with the rest, one number for each output, they sum to the scores.
    """
    if features_of(model._learner) == "linear":
        sparse = hasattr(X, "indptr")
        columns = X.indices if sparse else np.flatnonzero(X[0])
        values = X.data if sparse else X[0, columns]
        parts = np.atleast_2d(model._coef())[:, columns].astype(np.float64) * values
        return columns, parts, np.asarray(model.intercept_, np.float64)
    row = X.toarray() if hasattr(X, "toarray") else X
    others = remembered_rows(model._learner.representations.core, ROWS)
    scores = model._scores_of(X)[0]
    parts = np.empty((len(scores), row.shape[1]))
    for column in range(row.shape[1]):
        changed = np.repeat(row, len(others), axis=0)
        changed[:, column] = others[:, column]
        parts[:, column] = (scores - model._scores_of(changed)).mean(axis=0)
    return np.arange(row.shape[1]), parts, scores - parts.sum(axis=1)
