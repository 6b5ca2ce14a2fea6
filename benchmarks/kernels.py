"""A kernel with a budget, compared with its matrix product and with a full SVM."""

from __future__ import annotations

import numpy as np

from benchmarks.data import split
from benchmarks.peers import error_of
from benchmarks.work import Rival, Work

BUDGET, FEATURES = 1000, 100


def rings(rows, seed=0):
    """Return rows whose class depends on their distance from a few centres, and the classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, FEATURES)) / np.sqrt(FEATURES)
    X[:, :3] += rng.standard_normal((rows, 3))
    return X, (np.sum(X[:, :3] ** 2, axis=1) > 2.4).astype(np.int64)


def works(effort):
    """Make one pass with an rbf kernel."""
    from sklearn.svm import SVC

    from aggro import KernelPassiveAggressiveClassifier

    X, y, X_test, y_test = split(*rings(effort.rows(20_000)))
    support = X[:BUDGET]
    params = {"kernel": "rbf", "gamma": 0.25, "C": 0.1}

    def learn():
        model = KernelPassiveAggressiveClassifier(
            budget=BUDGET, max_iter=1, tol=None, shuffle=False, **params
        )
        return model.fit(X, y)

    def floor():
        half = -0.25 * (support**2).sum(1)
        for first in range(0, len(X), 500):  # blocks in the cache, changed in place
            block = X[first : first + 500]
            K = block @ support.T
            K *= 0.5
            K += half
            K -= 0.25 * (block**2).sum(1)[:, None]
            np.exp(K, out=K)

    yield Work(
        "kernel rbf, budget 1000, 100 features",
        len(y),
        learn,
        error=error_of(X_test, y_test),
        floor=floor,
        floor_name="product and exp",
        at_most=1.2,
        peers={
            "scikit-learn SVC": Rival(lambda: SVC(**params).fit(X, y), 1, error_of(X_test, y_test))
        },
        tolerance=0.02,
        memory=True,
    )
