"""Many classes: support classes and one-vs-rest, compared with one binary fit per class."""

from __future__ import annotations

import numpy as np

from benchmarks.data import measurements, split, texts
from benchmarks.linear import LAST, fit
from benchmarks.peers import error_of, sklearn_fit
from benchmarks.work import Rival, Work


def works(effort):
    """Yield problems with 20 classes of texts, 10 of pictures, 1000 of products."""
    documents = texts(18_000, 62_000, 80, classes=20, contrast=1.0)  # fewer are too few to learn
    yield from both("SPA-I, sparse, 20 classes", documents, (2.1, 1.8), (1.25, 3))
    yield from both(
        "one-vs-rest, sparse, 20 classes", documents, (2.1, 2.0), (1.25, 4), multiclass="ovr"
    )
    pictures = measurements(effort.rows(20_000), 784, classes=10, apart=7.0)
    yield from both("SPA-I, dense, 784 features, 10 classes", pictures, (2.5, 5.5), (1.5, 7))
    products = texts(20_000, 20_000, 75, classes=1000, contrast=2.0)
    yield from both("SPA-I, sparse, 1000 classes", products, (2.1, 1.8), (1.5, 2.5))


def both(name, data, targets, last_targets, **params):
    """Yield one pass with the default predictor, and one with the last weights."""
    yield work(name, data, targets, **params)
    yield work(f"{name}, average=False", data, last_targets, **params, **LAST)


def work(name, data, targets, **params):
    """Return one pass of a multiclass model; scikit-learn fits one model per class."""
    X, y, X_test, y_test = split(*data)
    W = np.ones((X.shape[1], len(np.unique(y))))
    at_most, at_least = targets
    return Work(
        name,
        X.shape[0],
        lambda: fit(X, y, **params),
        error=error_of(X_test, y_test),
        floor=lambda: X @ W,
        floor_name="X @ W",
        at_most=at_most,
        peers={
            "scikit-learn": Rival(lambda: sklearn_fit(X, y), at_least, error_of(X_test, y_test))
        },
        memory=True,
        default="average" not in params,
    )
