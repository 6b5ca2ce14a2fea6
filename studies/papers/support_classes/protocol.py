"""Cells of the experiment: what is learned and measured in each.

- ``online``: one fold; every online learner and C side by side; errors after each pass on the
  part that chooses C and on the test part.
- ``batch``: one fold; logistic regression and the multiclass SVM for each C.
- ``stream``: one order of USPS with the fixed C of Section 5.2; results every 200 rows.
- ``time``: CPU seconds of 40 passes of each learner alone, and of the batch learners.
- ``inside``: effects of single updates (support classes, examples still wrong after an update), in
  one order.
- ``sizes``: classes, rows and features of a set as it is learned.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from aggro.learner import Learner, rows_of
from studies.papers.experiment import Cell, Outcome
from studies.papers.support_classes.inside import look_inside
from studies.papers.support_classes.learners import (
    BATCH,
    BATCH_PRICES,
    ONLINE,
    PRINTED,
    C_values,
    errors,
    fitted,
    settings,
)
from studies.papers.support_classes.sets import load, split

FIXED = 0.001  # the C of all learners in Section 5.2
EVERY = 200
TIMED = {"LR": 1.0, "M-SVM": 0.01}  # C of the timed batch learners
REPEATS = 2


def run(cell: Cell) -> Outcome:
    """Run one cell."""
    X, y = load(cell["set"])
    if cell["part"] == "online":
        return _online(X, y, cell["fold"], cell["passes"])
    if cell["part"] == "batch":
        return _batch(X, y, cell["fold"])
    if cell["part"] == "stream":
        return _stream(X, y, cell["seed"])
    if cell["part"] == "time":
        return _time(X, y, cell["passes"])
    if cell["part"] == "sizes":
        return {"classes": int(y.max()) + 1, "rows": len(y), "features": _used(X)}
    return look_inside(X, y, cell["seed"])


def _used(X: Any) -> int:
    """Return the number of columns with non-zero values."""
    return int(np.count_nonzero(abs(X).sum(axis=0)))


def _online(X: Any, y: Any, fold: int, passes: int) -> Outcome:
    """Return errors by learner: a row per C, a column per pass."""
    learn, choose, judge = split(len(y), fold)
    named = [(name, C) for name in ONLINE for C in C_values(name)]
    learner = Learner([settings(*it) for it in named], X.shape[1], y.max() + 1, X.dtype)
    order = np.random.default_rng(1 + fold).permutation(learn)
    parts = {"choose": (rows_of(X[choose]), y[choose]), "judge": (rows_of(X[judge]), y[judge])}
    found = {part: np.empty((len(named), passes)) for part in parts}
    for i in range(passes):
        learner.learn(rows_of(X), labels=y, order=order, undo=False)
        for part, (rows, truth) in parts.items():
            scores = learner.model.score(rows).reshape(len(truth), len(named), -1)
            found[part][:, i] = errors(scores, truth)
    return {
        part: {
            name: table[[i for i, it in enumerate(named) if it[0] == name]].round(4)
            for name in ONLINE
        }
        for part, table in found.items()
    }


def _batch(X: Any, y: Any, fold: int) -> Outcome:
    """Return errors and iterations by learner, one for each C."""
    learn, choose, judge = split(len(y), fold)
    parts = ("choose", "judge", "iterations")
    found: Outcome = {part: {name: [] for name in BATCH} for part in parts}
    X = X.astype(np.float64)
    for name in BATCH:
        for C in BATCH_PRICES[name]:
            model = fitted(name, C, X[learn], y[learn])
            found["iterations"][name].append(_iterations(model))
            found["choose"][name].append(errors(model.decision_function(X[choose]), y[choose]))
            found["judge"][name].append(errors(model.decision_function(X[judge]), y[judge]))
    return found


def _iterations(model: Any) -> int:
    """Return the number of iterations until a batch learner converged."""
    return int(np.max(model.n_iter_))


def _stream(X: Any, y: Any, seed: int) -> Outcome:
    """Return mistakes, updates and loss of each learner after every 200 rows.

    PA-I and PA-II use the steps printed in the paper, those of C/2, in both readings.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    ends = [*range(EVERY, len(y), EVERY), len(y)]
    halved = [FIXED / 2 if "PA-" in name and name[0] != "S" else FIXED for name in ONLINE]
    chosen = [settings(name, C) for name, C in zip(ONLINE, halved, strict=True)]
    learner = Learner(chosen, X.shape[1], y.max() + 1, X.dtype)
    found: Outcome = {name: {"mistakes": [], "updates": [], "loss": []} for name in ONLINE}
    for start, end in zip([0, *ends], ends, strict=False):
        learner.learn(rows_of(X), labels=y, order=order[start:end], undo=False)
        for i, name in enumerate(ONLINE):
            progress = learner.progress_of(i)
            for what in ("mistakes", "updates", "loss"):
                found[name][what].append(getattr(progress, what))
    return {"rows": ends, **found}


def _time(X: Any, y: Any, passes: int) -> Outcome:
    """Return CPU seconds by learner, one per repeat; learners are timed in turns."""
    learn, _, _ = split(len(y), 0)
    rows, labels = X[learn], y[learn]
    wide = rows.astype(np.float64)
    found: Outcome = {name: [] for name in (*PRINTED, *BATCH)}
    for _ in range(REPEATS):
        for name in PRINTED:
            begin = time.process_time()
            learner = Learner(settings(name, 0.01), rows.shape[1], y.max() + 1, rows.dtype)
            for _ in range(passes):
                learner.learn(rows_of(rows), labels=labels, undo=False)
            found[name].append(time.process_time() - begin)
        for name in BATCH:
            begin = time.process_time()
            fitted(name, TIMED[name], wide, labels)
            found[name].append(time.process_time() - begin)
    return found
