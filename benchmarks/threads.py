"""Two threads compared with one, in wall time."""

from __future__ import annotations

import time

import numpy as np

from aggro.learner import Learner, rows_of
from aggro.settings import Settings
from benchmarks.data import texts
from benchmarks.linear import fit
from benchmarks.work import Work

AT_MOST = 0.6


def works(effort):
    """Yield outputs, settings and rows shared by two threads."""
    yield predictions(*texts(effort.rows(90_000), 62_000, 80, classes=20, contrast=1.0))
    topics = texts(effort.rows(40_000), 40_000, 80, classes=100, contrast=1.5)
    yield classes("one-vs-rest, sparse, 100 classes", *topics)
    yield classes("one-vs-rest, sparse, 1000 classes", *texts(10_000, 20_000, 75, 1000, 2.0))
    yield values_of_C(128, *texts(effort.rows(40_000), 47_000, 75))


def work(name, rows, run):
    """Return the row of the table; ``run`` takes the number of threads."""
    return Work(
        f"two threads: {name}",
        rows,
        lambda: run(2),
        floor=lambda: run(1),
        floor_name="one thread",
        at_most=AT_MOST,
        clock=time.perf_counter,
    )


def classes(name, X, y):
    """One output for each class."""
    return work(name, X.shape[0], lambda n: fit(X, y, multiclass="ovr", n_jobs=n))


def predictions(X, y):
    """Rows to score."""
    model = fit(X, y)

    def predict(n):
        model.set_params(n_jobs=n).predict(X)

    return work("predict, sparse, 20 classes", X.shape[0], predict)


def values_of_C(count, X, y):
    """Many values of C in one pass."""
    settings = [Settings(task="binary", C=float(C)) for C in np.logspace(-4, 3.5, count)]

    def learn(n):
        learner = Learner(settings, X.shape[1], 2, X.dtype)
        learner.learn(rows_of(X), labels=y, undo=False, threads=n)

    return work(f"{count} values of C, sparse", X.shape[0], learn)
