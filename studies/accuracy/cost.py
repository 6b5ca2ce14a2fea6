"""Time of model selection: ``python -m studies.accuracy.cost`` writes docs/studies/tuning.md.

CPU time of learning, best of several alternating turns. Sets with fewer rows than the longest
stream are repeated in another order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from aggro.learner import Learner, rows_of
from aggro.selection.selection import ModelSelection
from studies.accuracy import ours
from studies.accuracy.cells import ROOT
from studies.accuracy.data import Problem, problem
from studies.accuracy.pages import fill, row

SETS = {
    "a9a": "a9a: 14 of 123 columns",
    "mr-polarity": "mr-polarity: texts of 18 words",
    "covtype": "covtype: 12 of 54 columns, 7 classes",
    "usps": "usps: 256 dense columns, 10 classes",
}
PAGE = ROOT / "docs" / "studies" / "tuning.md"
MARKS = (0, 1000, 5000, 20_000)
TURNS = 3
ONE = {"metric": "diagonal", "average": "auto"}
HEAD = (
    "rows",
    "one model, µs",
    '`C="auto"`, µs',
    "everything, µs",
    *(f"… after {mark:,} rows" for mark in MARKS[1:]),
)


def long_order(p: Problem) -> np.ndarray:
    """Return the rows of the longest stream."""
    random = np.random.default_rng(0)
    passes = -(-MARKS[-1] // len(p.y))
    return np.concatenate([random.permutation(len(p.y)) for _ in range(passes)])[: MARKS[-1]]


def seconds(p: Problem, make: Callable[[], Any]) -> np.ndarray:
    """Return the processor time until each mark."""
    rows, targets, order, learner = rows_of(p.X), ours.targets_of(p), long_order(p), make()
    spent = []
    for start, end in pairwise(MARKS):
        began = time.process_time()
        learner.learn(rows, order=order[start:end], undo=False, **targets)
        spent.append(time.process_time() - began)
    return np.cumsum(spent)


def cells_of(name: str) -> list[str]:
    """Return the costs of one set."""
    p = problem(name)
    size = (p.X.shape[1], max(p.classes, 1), p.X.dtype)
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: Learner(ours.settings(p, 1.0, **ONE), *size),
        lambda: ModelSelection(ours.settings(p, "auto", **ONE), *size),
        lambda: ModelSelection(ours.settings(p, "auto", **ours.SPELLINGS[ours.RECOMMENDED]), *size),
    )
    turns = [[seconds(p, make) for make in kinds] for _ in range(TURNS)]
    one, grid, everything = np.min(turns, axis=0)
    each = [f"{1e6 * times[-1] / MARKS[-1]:.2g}" for times in (one, grid, everything)]
    return [SETS[name], *each, *(f"{ratio:.0f} ×" for ratio in everything / one)]


def main() -> None:
    """Write the table."""
    lines = [row(HEAD), "|---" + "|--:" * (len(HEAD) - 1) + "|"]
    for name in SETS:
        lines.append(row(cells_of(name)))
        print(lines[-1], flush=True)
    fill(PAGE, {"cost": "\n".join(lines)})


if __name__ == "__main__":
    main()
