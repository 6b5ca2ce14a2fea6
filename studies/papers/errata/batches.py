"""Least squares and mini-batches, as printed and corrected."""

from __future__ import annotations

import numpy as np

from aggro.reference import batch_dual
from studies.papers.errata.streams import Array, Labels, own_error
from studies.papers.experiment import Outcome

C, SIZE = 1.0, 8


def least_squares(X: Array, y: Labels, printed: bool) -> Outcome:
    """E3.1: (9) has 1 - f where 1 - y f belongs."""
    X = _with_constant(X)
    w, wrong = np.zeros(X.shape[1]), 0
    for x, label in zip(X, y.tolist(), strict=True):
        f = w @ x
        wrong += (f > 0) != (label > 0)
        tau = (1 - (f if printed else label * f)) / (x @ x + 1 / (2 * C))
        w = w + tau * label * x
    own = own_error(X, y, loss="least_squares", C=C)
    return {"error": 100 * wrong / len(y), "norm": float(np.linalg.norm(w)), "own": own}


def squared_batch(X: Array, y: Labels, printed: bool) -> Outcome:
    """E3.2: (17) has t't/2C where t't/4C belongs."""
    return {
        **_batches(X, y, lower=0.0, cost=1 / C if printed else 1 / (2 * C)),
        "own": own_error(X, y, loss="squared_hinge", C=C, batch_size=SIZE, fit_intercept=True),
    }


def least_squares_batch(X: Array, y: Labels, printed: bool) -> Outcome:
    """E3.3: (19) has A + I/C where A + I/2C belongs."""
    return {
        **_batches(X, y, lower=-np.inf, cost=1 / C if printed else 1 / (2 * C)),
        "own": own_error(X, y, loss="least_squares", C=C, batch_size=SIZE, fit_intercept=True),
    }


def _batches(X: Array, y: Labels, lower: float, cost: float) -> Outcome:
    """Learn disjoint batches; return the errors and the mean excess over the minimum."""
    X = _with_constant(X)
    w, wrong, excess = np.zeros(X.shape[1]), 0, []
    for start in range(0, len(y), SIZE):
        rows, labels = X[start : start + SIZE], y[start : start + SIZE]
        wrong += int(np.sum((rows @ w > 0) != (labels > 0)))
        signed = rows * labels[:, None]
        raw, A, free = 1 - signed @ w, signed @ signed.T, np.full(len(labels), np.inf)
        taken, best = (
            batch_dual(A, raw, free, np.full(len(labels), ridge), 0.0, lower)
            for ridge in (cost, 1 / (2 * C))
        )
        least = _objective(best, A, raw, lower)
        if least > 1e-12:
            excess.append(_objective(taken, A, raw, lower) / least - 1)
        w = w + taken @ signed
    return {"error": 100 * wrong / len(y), "excess": 100 * float(np.mean(excess))}


def _objective(t: Array, A: Array, raw: Array, lower: float) -> float:
    """Return the objective: half the squared step plus C times the remaining squared losses."""
    left = raw - A @ t
    left = np.maximum(left, 0.0) if lower == 0 else left
    return float(0.5 * t @ A @ t + C * np.sum(left**2))


def _with_constant(X: Array) -> Array:
    return np.column_stack([X, np.ones(len(X))])
