"""Effects of single updates of the hard rules, counted over one pass in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.reference import slack, step_size, support_classes
from studies.papers.experiment import Outcome

HARD = slack("hard", 1.0)


def look_inside(X: Any, y: NDArray[np.int64], seed: int) -> Outcome:
    """Return the counts of PA, MPA and SPA over one pass in one random order."""
    order = np.random.default_rng(seed).permutation(len(y))
    return {name: _pass(name, X, y, order) for name in ("PA", "MPA", "SPA")}


def _pass(name: str, X: Any, y: NDArray[np.int64], order: NDArray[np.int64]) -> Outcome:
    """Count updates and their effects.

    The counts are: updates after which the example is still misclassified or still has a loss,
    classes that moved, and classes with a margin below one.
    """
    K = int(y.max()) + 1
    W = np.zeros((X.shape[1], K))
    updates = wrong = lossy = 0
    moved, short = np.zeros(K, int), np.zeros(K, int)
    for i in order:
        columns, values = _row(X, i)
        scores, n = values @ W[columns], float(values @ values)
        losses = 1 - scores[y[i]] + scores
        losses[y[i]] = 0.0
        tau = _steps(name, losses, n, right=np.argmax(scores) == y[i])
        if not tau.any():
            continue
        tau[y[i]] = -tau.sum()
        W[columns] -= np.outer(values, tau)
        after = scores - n * tau
        gap = np.delete(after[y[i]] - after, y[i])
        updates += 1
        wrong += bool(gap.min() < 0)
        lossy += bool(gap.min() < 1 - 1e-6)
        moved[np.count_nonzero(tau) - 1] += 1
        short[np.count_nonzero(losses > 0)] += 1
    return {"updates": updates, "wrong": wrong, "lossy": lossy, "moved": moved, "short": short}


def _row(X: Any, i: int) -> tuple[Any, NDArray[np.float64]]:
    if isinstance(X, np.ndarray):
        return slice(None), X[i].astype(np.float64)
    some = slice(X.indptr[i], X.indptr[i + 1])
    return X.indices[some], X.data[some].astype(np.float64)


def _steps(name: str, losses: NDArray[np.float64], n: float, right: bool) -> NDArray[np.float64]:
    """Return the step of each wrong class; the loss of the true class is 0 here."""
    if name == "SPA":
        return support_classes(losses, n, HARD)
    tau = np.zeros_like(losses)
    if not (name == "PA" and right):
        rival = int(np.argmax(losses))
        tau[rival] = step_size(max(losses[rival], 0.0), 2 * n, HARD)
    return tau
