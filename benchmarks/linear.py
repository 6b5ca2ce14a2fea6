"""One pass of PA-I over sparse and dense rows, and variants of the same loop."""

from __future__ import annotations

from itertools import product

import numpy as np

from aggro import PassiveAggressiveClassifier
from aggro.learner import Learner, rows_of
from aggro.settings import Settings
from benchmarks.data import measurements, split, texts
from benchmarks.peers import error_of, sklearn_fit
from benchmarks.work import Rival, Work

LAST = {"average": False}  # predict with the last weights


def fit(X, y, **params):
    """Make one pass with the estimator."""
    once = {"max_iter": 1, "tol": None, "shuffle": False}
    return PassiveAggressiveClassifier(**{**once, **params}).fit(X, y)


def works(effort):
    """Yield PA-I, 16 values of C at once, metrics, class means, mini-batches."""
    sparse = texts(effort.rows(110_000), 47_000, 75)
    yield from passes("sparse", sparse, {"default": (1.8, 1.4), "average=False": (1.45, 1.8)})
    dense = measurements(effort.rows(44_000), 500)
    yield from passes("dense", dense, {"default": (1.4, (5, 8)), "average=False": (1.2, (6, 9))})
    yield from values_of_C(texts(effort.rows(110_000), 47_000, 75))
    yield from variants("sparse", texts(effort.rows(110_000), 47_000, 75))
    X, y = measurements(effort.rows(44_000), 500)
    yield batches("dense", X, y)


def passes(kind, data, targets):
    """Yield PA-I in both precisions, with the default predictor and with the last weights."""
    for dtype, (predictor, (at_most, at_least)) in product(
        (np.float64, np.float32), targets.items()
    ):
        X, y, X_test, y_test = split(data[0].astype(dtype), data[1])
        w = np.ones(X.shape[1], dtype)
        default = predictor == "default"
        least = at_least if np.isscalar(at_least) else at_least[dtype == np.float32]
        yield Work(
            f"PA-I, {kind}, {dtype.__name__}" + ("" if default else f", {predictor}"),
            X.shape[0],
            lambda X=X, y=y, default=default: fit(X, y, **({} if default else LAST)),
            error=error_of(X_test, y_test),
            floor=lambda X=X, w=w: X @ w,
            floor_name="X @ w",
            at_most=at_most,
            peers={
                "scikit-learn": Rival(
                    lambda X=X, y=y: sklearn_fit(X, y), least, error_of(X_test, y_test)
                )
            },
            memory=True,
            default=default,
        )


def values_of_C(data):
    """Learn with 16 values of C in one pass."""
    values = [float(C) for C in np.logspace(-4, 3.5, 16)]
    settings = [Settings(task="binary", C=C) for C in values]
    for dtype, most in ((np.float32, 2.5), (np.float64, 3.5)):
        X, y, X_test, y_test = split(data[0].astype(dtype), data[1])
        truth = y_test > 0

        def learn(X=X, y=y, dtype=dtype):
            learner = Learner(settings, X.shape[1], 2, dtype)
            learner.learn(rows_of(X), labels=y, undo=False)
            return learner

        def best_error(learner, X=X_test, truth=truth):
            scores = learner.model.score(rows_of(X)) > 0
            return float(np.min(np.mean(scores != truth[:, None], axis=0)))

        def best_of_fits(models, X=X_test, y=y_test):
            return min(error_of(X, y)(model) for model in models)

        yield Work(
            f"16 values of C, sparse, {dtype.__name__}",
            X.shape[0],
            learn,
            error=best_error,
            floor=lambda X=X, y=y: fit(X, y),
            floor_name="one PA-I",
            at_most=most,
            peers={
                "scikit-learn": Rival(
                    lambda X=X, y=y: [sklearn_fit(X, y, C) for C in values], 25, best_of_fits
                )
            },
            memory=True,
        )


def variants(kind, data):
    """Yield metrics, class means and mini-batches, compared with plain PA-I."""
    X, y, X_test, y_test = split(*data)
    for name, params, most in (
        ("diagonal metric", {"metric": "diagonal"}, 1.8),
        ("class means", {"class_mean": 0.1}, 2.5),
    ):
        yield Work(
            f"PA-I, {name}, {kind}",
            X.shape[0],
            lambda params=params: fit(X, y, **params),
            error=error_of(X_test, y_test),
            floor=lambda: fit(X, y),
            floor_name="one PA-I",
            at_most=most,
        )
    yield batches(kind, X, y)


def batches(kind, X, y):
    """Return mini-batches of 8."""
    return Work(
        f"PA-I, batch of 8, {kind}",
        X.shape[0],
        lambda: fit(X, y, batch_size=8),
        floor=lambda: fit(X, y),
        floor_name="one PA-I",
        at_most=3.0,
    )
