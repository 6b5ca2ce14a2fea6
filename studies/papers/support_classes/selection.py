"""Numbers from finished cells: C is chosen on the validation part of each fold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from studies.papers.experiment import Published, Results, Values
from studies.papers.support_classes.learners import BATCH
from studies.papers.support_classes.sets import SETS
from studies.papers.ties import best as middle_best

OVERLAP = 1 / 8  # eight tenths train, one tenth tests
SAME = {"reut20": "Reuters", "Reuter": "Reuters"}  # the paper's three names of one set


def present(results: Results, of: Sequence[str] = SETS) -> list[str]:
    """Return the sets that were learned, without Reuters if its file is missing."""
    return [name for name in of if results.where(part="online", set=name).pairs]


def by_pass(results: Results, name: str, learner: str) -> Values:
    """Return test errors of shape (folds, passes), with the best C after each pass.

    The middle one of several equal values is used.
    """
    found = []
    for _, outcome in results.where(part="online", set=name).pairs:
        choose, judge = (np.array(outcome[part][learner]) for part in ("choose", "judge"))
        rows = [middle_best(column)[0] for column in choose.T]
        found.append(judge[rows, np.arange(choose.shape[1])])
    return np.array(found)


def one_pass(results: Results, name: str, learner: str) -> Values:
    """Return the test error of each fold after the first pass."""
    return by_pass(results, name, learner)[:, 0]


def peak(results: Results, name: str, learner: str) -> tuple[Values, int]:
    """Return the test errors after the pass with the least mean error, and that pass."""
    errors = by_pass(results, name, learner)
    best = int(errors.mean(axis=0).argmin())
    return errors[:, best], best + 1


def batch(results: Results, name: str, learner: str) -> Values:
    """Return the test error of a batch learner in each fold."""
    found = []
    for _, outcome in results.where(part="batch", set=name).pairs:
        choose, judge = (np.array(outcome[part][learner]) for part in ("choose", "judge"))
        found.append(judge[middle_best(choose)[0]])
    return np.array(found)


def best(results: Results, name: str, learner: str) -> Values:
    """Return the errors of an online or batch learner for Table 6."""
    if learner in BATCH:
        return batch(results, name, learner)
    return peak(results, name, learner)[0]


def seconds(results: Results, name: str, learner: str) -> Values:
    """Return the CPU seconds of all repeats."""
    return results.where(part="time", set=name).values(learner).ravel()


def streams(results: Results, learner: str, what: str) -> Values:
    """Return a measure on the stream of USPS, of shape (orders, checkpoints)."""
    return results.where(part="stream").values(learner, what)


def checkpoints(results: Results) -> Values:
    """Return the numbers of rows at the checkpoints."""
    return results.where(part="stream").values("rows")[0]


def reproduced(results: Results, entry: Published) -> Values | None:
    """Return our values for a printed number."""
    name = SAME.get(entry.row, entry.row)
    part = {"Table 3": "sizes", "Table 5": "time"}.get(entry.table, "online")
    if entry.column in BATCH and part == "online":
        part = "batch"
    if not results.where(part=part, set=name).pairs:
        return None
    if entry.table == "Table 3":
        return results.where(part="sizes", set=name).values(entry.column)
    if entry.table == "Table 4":
        return one_pass(results, name, entry.column)
    if entry.table == "Table 5":
        return seconds(results, name, entry.column)
    if entry.measure.startswith("passes"):
        return np.array([peak(results, name, entry.column)[1]], float)
    return best(results, name, entry.column)
