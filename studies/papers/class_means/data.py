"""The data sets as the paper probably used them: features in [0, 1] and a column of ones."""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from aggro import datasets
from studies.papers.experiment import Values

REAL = {"svmguide1": "svmguide1", "w3a": "w3a", "ijcnn1": "ijcnn1", "adult": "a9a"}
TRAIN = {"ijcnn1": 35_000}  # without the validation part
STAND_INS = {"alpha": 0.2386, "delta": 0.2155, "gamma": 0.2010}  # best error: that of Table VI
STAND_IN_ROWS, STAND_IN_TEST, STAND_IN_FEATURES = 40_000, 10_000, 500


@dataclass
class Problem:
    """Rows with a last column of ones, and labels -1 or +1."""

    X: Any
    y: Values
    X_test: Any
    y_test: Values

    def order(self, *seed: int) -> Values:
        """Return a random order of the training rows."""
        return np.random.default_rng(seed).permutation(len(self.y))

    def error(self, weights: Values) -> Values:
        """Return the share of wrong test labels, for weights of shape (..., features)."""
        signs = np.where(self.X_test @ np.atleast_2d(weights).T > 0, 1, -1)
        return np.mean(signs != self.y_test[:, None], axis=0)


@functools.lru_cache(maxsize=8)
def problem(name: str, scaling: str = "unit range", bias: bool = True) -> Problem:
    """Return a set by its name in the paper, with one preparation."""
    if name in STAND_INS:
        return _stand_in(name)
    data = datasets.load(REAL[name])
    rows = TRAIN.get(name, len(data.y))
    X, X_test = SCALINGS[scaling](data.X[:rows], data.X_test)
    if bias:
        X, X_test = _with_ones(X), _with_ones(X_test)
    positive = data.y.max()
    y, y_test = (np.where(labels == positive, 1, -1) for labels in (data.y[:rows], data.y_test))
    return Problem(X, y, X_test, y_test)


# -- preparations of the features ---------------------------------------------------------------


def _raw(X: Any, X_test: Any) -> tuple[Any, Any]:
    return X, X_test


def _unit_range(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Map the training range of each feature to [0, 1]; sparse sets are binary already."""
    if sp.issparse(X):
        return X, X_test
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    width[width == 0] = 1
    return (X - low) / width, (X_test - low) / width


def _standardised(X: Any, X_test: Any) -> tuple[Any, Any]:
    X, X_test = (Z.toarray() if sp.issparse(Z) else Z for Z in (X, X_test))
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1
    return (X - mean) / spread, (X_test - mean) / spread


def _unit_length(X: Any, X_test: Any) -> tuple[Any, Any]:
    return _shortened(X), _shortened(X_test)


def _shortened(X: Any) -> Any:
    if sp.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).reshape(-1, 1)
        return X.multiply(1 / np.where(lengths > 0, lengths, 1.0)).tocsr()
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0)


SCALINGS = {
    "raw": _raw,
    "unit range": _unit_range,
    "standardised": _standardised,
    "unit length": _unit_length,
}


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1), X.dtype)
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _stand_in(name: str) -> Problem:
    """Return two Gaussian classes whose Bayes error is the paper's best error."""
    from scipy.stats import norm

    random = np.random.default_rng(zlib.crc32(name.encode()))
    count, d = STAND_IN_ROWS + STAND_IN_TEST, STAND_IN_FEATURES
    direction = random.standard_normal(d)
    direction *= -norm.ppf(STAND_INS[name]) / np.linalg.norm(direction)
    y = np.where(random.random(count) < 0.5, 1, -1)
    scale = np.arange(1, d + 1) ** -0.25  # features of different strength, then mixed
    noise = random.standard_normal((count, d), dtype=np.float32)
    X = ((noise + y[:, None] * direction) * scale).astype(np.float32)
    X, X_test = _unit_range(X[:STAND_IN_ROWS], X[STAND_IN_ROWS:])
    return Problem(_with_ones(X), y[:STAND_IN_ROWS], _with_ones(X_test), y[STAND_IN_ROWS:])
