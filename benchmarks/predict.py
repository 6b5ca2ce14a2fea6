"""Predictions of many rows, and calls with a single one."""

from __future__ import annotations

import numpy as np

from benchmarks.data import measurements, texts
from benchmarks.linear import fit
from benchmarks.peers import sklearn_fit
from benchmarks.work import Rival, Work

CALLS = 500


def works(effort):
    """Yield predictions of sparse and dense rows with 1 and 20 outputs, and single rows."""
    for classes in (2, 20):
        yield predict("sparse", *texts(effort.rows(40_000), 47_000, 75, classes, 1.0))
        yield predict("dense", *measurements(effort.rows(30_000), 500, classes))
    yield from single_rows()


def predict(kind, X, y):
    """Return predictions of all rows."""
    classes = len(np.unique(y))
    model, peer = fit(X, y), sklearn_fit(X, y)
    w = np.ones((X.shape[1], classes) if classes > 2 else X.shape[1])
    return Work(
        f"predict, {kind}, {classes} classes",
        X.shape[0],
        lambda: model.predict(X),
        floor=lambda: X @ w,
        floor_name="the product",
        at_most=1.1,
        peers={"scikit-learn": Rival(lambda: peer.predict(X), 1)},
    )


def single_rows():
    """Return calls of partial_fit and predict with one row of 20 features."""
    X, y = measurements(2000, 20)
    model, peer = fit(X, y), sklearn_fit(X, y)
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(CALLS)]

    def learn(model):
        for row, label in rows:
            model.partial_fit(row, label)

    def ask(model):
        for row, _ in rows:
            model.predict(row)

    for name, call in (("partial_fit", learn), ("predict", ask)):
        yield Work(
            f"{name}, one row of 20 features",
            CALLS,
            lambda call=call: call(model),
            peers={"scikit-learn": Rival(lambda call=call: call(peer), 40)},
        )
