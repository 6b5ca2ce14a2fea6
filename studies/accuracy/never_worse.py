"""Check that ``probability=True`` is never worse: ``python -m studies.accuracy.never_worse``.

Its log loss is compared with that of the plain sigmoid or softmax of the same model's margins for
rows in random order and, for rows sorted by class, with constant class frequencies: a model then
follows the current run, and its margins contain no information. Small sets are learned in more
orders. A random order is lost if the difference is above zero by two standard errors. Lost
comparisons are marked, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from aggro import PassiveAggressiveClassifier, StreamClassifier
from studies.accuracy.data import Problem, problem
from studies.accuracy.probabilities import SETS, SPELLINGS, softmax, split, worth

JUDGED = 5000  # total rows, in several orders
ORDERS = (3, 40)  # minimum and maximum
SLACK = 0.005  # of the constant's log loss, which counts one more example per class
ROWS = 3000  # of a sorted stream, one dict at a time


def shuffled(p: Problem) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each variant the log loss with and without it, and the error of the difference."""
    orders = int(np.clip(-(-JUDGED // (0.3 * p.rows)), *ORDERS))
    for spelling, params in SPELLINGS.items():
        found = []
        for order in range(orders):
            X, y, new, truth = split(p, order)
            model = PassiveAggressiveClassifier(probability=True, random_state=order, **params)
            model.fit(X, y)
            answers = np.searchsorted(model.classes_, truth)
            ways = model.predict_proba(new), softmax(model.decision_function(new))
            found.append([worth(P, answers)["log"] for P in ways])
        ours, raw = np.mean(found, axis=0)
        error = np.std(np.diff(found), ddof=1) / np.sqrt(orders)
        yield f"{spelling}, {orders} orders, raw", float(ours), float(raw), 2.0 * float(error)


def sorted_by_class(p: Problem) -> Iterator[tuple[str, float, float, float]]:
    """Yield the log loss of models trained on sorted rows, and of the constant."""
    X, y, new, truth = split(p, 0)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    classes, counts = np.unique(y, return_counts=True)
    answers = np.searchsorted(classes, truth)
    constant = worth(np.tile(counts / counts.sum(), (len(truth), 1)), answers)["log"]
    slack = SLACK * constant
    for spelling in ("auto", "PA-I"):
        params = {**SPELLINGS[spelling], "shuffle": False, "probability": True}
        fitted = PassiveAggressiveClassifier(**params).fit(X, y)
        predicted = worth(fitted.predict_proba(new), answers)["log"]
        yield f"{spelling}, sorted, fit", predicted, constant, slack
        stream = PassiveAggressiveClassifier(**params)
        for rows in np.array_split(np.arange(len(y)), 20):
            stream.partial_fit(X[rows], y[rows], classes)
        predicted = worth(stream.predict_proba(new), answers)["log"]
        yield f"{spelling}, sorted, partial_fit", predicted, constant, slack
    yield ("sorted, learn_one", *_stream(X, y, new, answers, classes), slack)


def _stream(X: Any, y: Any, new: Any, answers: Any, classes: Any) -> tuple[float, float]:
    """Return the same for a stream of dicts, with some rows of each class."""
    rows = np.linspace(0, len(y) - 1, min(ROWS, len(y))).astype(int)
    model = StreamClassifier(C=1.0, probability=True)
    for row, label in zip(_dicts(X[rows]), y[rows].tolist(), strict=True):
        model.learn_one(row, label)
    shares = np.array([(y[rows] == each).mean() for each in classes])
    some = slice(0, 1000)
    P = np.array(
        [
            [predicted.get(each, 0.0) for each in classes.tolist()]
            for predicted in map(model.predict_proba_one, _dicts(new[some]))
        ]
    )
    constant = np.tile(shares, (len(P), 1))
    return worth(P, answers[some])["log"], worth(constant, answers[some])["log"]


def _dicts(X: Any) -> Iterator[dict[str, float]]:
    for i in range(X.shape[0]):
        row = X[i].tocoo() if hasattr(X, "indptr") else X[i]
        pairs = (
            zip(row.coords[-1], row.data, strict=True) if hasattr(row, "tocsr") else enumerate(row)
        )
        yield {f"f{j}": float(v) for j, v in pairs if v}


def main() -> int:
    """Print every comparison; return 1 if one is lost."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.accuracy.never_worse", description=__doc__
    )
    parser.add_argument("--sets", help="names, separated by commas")
    args = parser.parse_args()
    lost = 0
    for name in args.sets.split(",") if args.sets else SETS:
        p = problem(name)
        for what, ours, other, allowed in (*shuffled(p), *sorted_by_class(p)):
            worse = ours > other + allowed
            lost += worse
            figures = f"{ours:8.4f} {other:8.4f} {allowed:8.4f}"
            print(f"{name:14} {what:28} {figures} {'WORSE' if worse else ''}", flush=True)
    print(f"{lost} worse")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
