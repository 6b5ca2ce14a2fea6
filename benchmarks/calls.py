"""Calls with a few wide rows, as in a service; passes over rows with unsorted features."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse import csr_matrix

from aggro import PassiveAggressiveClassifier
from benchmarks.data import split, texts
from benchmarks.linear import LAST
from benchmarks.peers import error_of
from benchmarks.work import Rival, Work

WIDTH = 1 << 20
WORDS = 20
CALLS = 5


def works(effort):
    """Yield small calls of wide rows, and passes over unsorted rows."""
    for classes in (2, 20):
        for count in (1, 10, 100):
            yield from small_calls(count, classes)
    for params in ({}, LAST):
        yield unsorted_passes(texts(effort.rows(20_000), 47_000, 75), **params)


def small_calls(count, classes):
    """Return ``partial_fit`` of ``count`` rows, in a model with known classes."""
    X, y = tweets(count * CALLS, classes)
    parts = [(X[i * count : (i + 1) * count], y[i * count : (i + 1) * count]) for i in range(CALLS)]
    theirs = sklearn_stream(X, y, classes)
    for C, least in ((1.0, 5), ("auto", 2)):
        ours = PassiveAggressiveClassifier(C=C, random_state=0)
        ours.partial_fit(X, y, np.arange(classes))
        yield Work(
            f"{count} {'row' if count == 1 else 'rows'} of 2^20 columns, {classes} classes, C={C}",
            count * CALLS,
            lambda ours=ours: learn(ours, parts),
            peers={"scikit-learn": Rival(lambda: learn(theirs, parts), least)},
        )


def learn(model, parts):
    """Learn each part in a separate call."""
    for X, y in parts:
        model.partial_fit(X, y)
    return model


def tweets(rows, classes, seed=0):
    """Return short hashed texts, rows of length one in single precision, and their classes."""
    random = np.random.default_rng(seed)
    indices = np.sort(random.integers(0, WIDTH, (rows, WORDS), dtype=np.int32), axis=1)
    values = np.full(rows * WORDS, WORDS**-0.5, np.float32)
    X = csr_matrix((values, indices.ravel(), np.arange(0, rows * WORDS + 1, WORDS)), (rows, WIDTH))
    X.sum_duplicates()
    return X, np.arange(rows) % classes


def sklearn_stream(X, y, classes):
    """Return scikit-learn's Passive-Aggressive, fitted to the same rows."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(learning_rate="pa1", penalty=None, eta0=1.0, shuffle=False)
    return model.partial_fit(X, y, np.arange(classes))


def unsorted_passes(data, **params):
    """Return 20 passes over rows with unsorted features, as from vectorizers."""
    X, y, X_test, y_test = split(*data)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((np.random.default_rng(0).random(X.nnz), row))
    mixed = (X.data[order], X.indices[order], X.indptr)
    passes = {"max_iter": 20, "tol": None, "shuffle": False}
    ours = {**passes, **params}

    def unsorted():
        return csr_matrix(mixed, X.shape)  # not marked as unsorted

    return Work(
        "20 passes, features in any order" + (", average=False" if params else ""),
        20 * X.shape[0],
        lambda: PassiveAggressiveClassifier(**ours).fit(unsorted(), y),
        error=error_of(X_test, y_test),
        floor=lambda: PassiveAggressiveClassifier(**ours).fit(X, y),
        floor_name="sorted ones",
        at_most=1.8,
        peers={"scikit-learn": Rival(lambda: sklearn_passes(unsorted(), y, passes), 1.1)},
        default=not params,
    )


def sklearn_passes(X, y, passes):
    """Make the same passes with scikit-learn."""
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(learning_rate="pa1", penalty=None, eta0=1.0, **passes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the passes do not converge
        return model.fit(X, y)
