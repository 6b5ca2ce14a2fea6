"""Real streams, and the progressive error of aggro on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import datasets
from aggro.learner import Learner, rows_of
from aggro.settings import Settings

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
ROWS = 8000  # at most


def stream(name: str, seed: int) -> tuple[Array, Labels]:
    """Return rows in one random order, columns at most 1 in size.

    Labels are -1 and +1, or 0, 1, ... where there are more classes.
    """
    data = datasets.load(name)
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    classes, y = np.unique(data.y, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(y))[:ROWS]
    X = X[order] / np.maximum(np.abs(X).max(axis=0), 1e-300)
    return X, (2 * y - 1 if len(classes) == 2 else y)[order].astype(np.int64)


def own_error(X: Array, y: Labels, **settings: Any) -> float:
    """Return the progressive error of aggro's compiled learner, in percent."""
    binary = y.min() < 0
    task, outputs = ("binary", 2) if binary else ("multiclass", int(y.max()) + 1)
    wanted = Settings(task=task, **{"fit_intercept": False, **settings})
    learner = Learner(wanted, X.shape[1], outputs)
    learner.learn(rows_of(X), labels=(y > 0).astype(np.int64) if binary else y)
    return 100 * learner.progress.mistakes / len(y)
