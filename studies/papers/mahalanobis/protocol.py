"""Runs of one algorithm, with all its settings side by side, over one stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.learner import Learner, rows_of
from aggro.settings import Settings
from studies.papers.experiment import Cell, Outcome
from studies.papers.mahalanobis.data import SETS, TABLES, TWEETS, USERS, in_their_span, stream

Array = NDArray[Any]

RUNS, TUNING = 10, 3
JUDGED = ("PA-II", "PAM-II", "CW")  # the columns of Table 1
SCALED = (*TABLES, "usps")  # also learned raw; not MNIST, whose rows differ from the paper's
POINTS = 60  # of a curve
SINGLE_FROM = 300  # features from which matrices are stored in single precision
C_VALUES = [4.0**k for k in range(-4, 4)]
CONFIDENCES = [0.51, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]


def _family(values: list[float], make: Callable[[float], dict[str, Any]]) -> list[Settings]:
    return [Settings(task="binary", fit_intercept=False, **make(value)) for value in values]


def _three(metric: str) -> dict[str, list[Settings]]:
    """Return the hard, the linear and the squared slack in one metric."""
    return {
        "": _family([1.0], lambda _: {"loss": "hard", "metric": metric}),
        "-I": _family(C_VALUES, lambda C: {"loss": "hinge", "C": C, "metric": metric}),
        "-II": _family(C_VALUES, lambda C: {"loss": "squared_hinge", "C": C, "metric": metric}),
    }


def _arow(metric: str) -> list[Settings]:
    return _family(C_VALUES, lambda C: {"loss": "arow", "r": 1 / (2 * C), "metric": metric})


def _cw(metric: str) -> list[Settings]:
    return _family(CONFIDENCES, lambda eta: {"loss": "cw", "eta": eta, "metric": metric})


ALGORITHMS: dict[str, list[Settings]] = {
    **{f"PA{kind}": settings for kind, settings in _three("euclidean").items()},
    **{f"PAM{kind}": settings for kind, settings in _three("full").items()},
    "CW": _cw("full"),
    "AROW": _arow("full"),
    "PAM-II-diag": _three("diagonal")["-II"],
    "CW-diag": _cw("diagonal"),
    "AROW-diag": _arow("diagonal"),
}


def cells(quick: bool) -> list[Cell]:
    """Return a cell for each set, run and algorithm; runs below zero choose the settings.

    The three algorithms of Table 1 also learn the raw features of sets that are scaled.
    """
    sets = [name for name in SETS if not (quick and name in ("mnist", TWEETS))]
    return [
        {"set": name, "seed": seed, "algorithm": algorithm, "raw": raw}
        for name in sets
        for seed in _seeds(name, quick)
        for raw in (False, True)
        for algorithm in (JUDGED if raw else ALGORITHMS)
        if not raw or name in SCALED
    ]


def _seeds(name: str, quick: bool) -> range:
    if quick:
        return range(-1, 3)
    return range(-TUNING, len(USERS) if name == TWEETS else RUNS)


def run(cell: Cell) -> Outcome:
    """Learn one stream with every setting of an algorithm; return errors, F1 and curves."""
    settings = ALGORITHMS[cell["algorithm"]]
    which = cell["set"], cell["seed"], cell["raw"]
    X, y = stream(*which)
    if settings[0].metric == "full" and X.shape[1] > X.shape[0]:
        X = in_their_span(*which)
    wrong = mistakes(X, y, settings)
    seen = np.unique(np.geomspace(5, len(y), POINTS).astype(int))
    cumulative = np.cumsum(wrong, axis=0)[seen - 1] / seen[:, None]
    return {
        "error": 100 * wrong.mean(0),
        "positive": [f1(y, column, 1) for column in wrong.T],
        "negative": [f1(y, column, 0) for column in wrong.T],
        "seen": seen,
        "curve": 100 * cumulative.T,
    }


def mistakes(X: Any, y: Array, settings: list[Settings]) -> Array:
    """Return for each example and setting whether it was misclassified before it was learned."""
    dtype = np.float32 if X.shape[1] >= SINGLE_FROM else np.float64
    X = X.astype(dtype)
    learner, rows = Learner(settings, X.shape[1], 2, dtype), rows_of(X)
    counts = np.zeros((len(y) + 1, len(settings)))
    for t in range(len(y)):
        learner.learn(rows, labels=y, order=np.array([t]), undo=False)
        counts[t + 1] = [record[0] for record in learner.model.records]
    return np.diff(counts, axis=0) > 0


def f1(y: Array, wrong: Array, label: int) -> float:
    """Return the F1 measure of one class in percent."""
    predicted = np.where(wrong, 1 - y, y)
    hits = np.sum((predicted == label) & (y == label))
    return float(200 * hits / max(1, np.sum(predicted == label) + np.sum(y == label)))
