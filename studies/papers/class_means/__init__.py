"""Class means: PA, PA-1, PA-2 and PAm, PAm-1, PAm-2 on seven sets."""

from __future__ import annotations

from studies.papers.class_means.beside import beside
from studies.papers.class_means.claims import claims
from studies.papers.class_means.data import REAL, STAND_INS
from studies.papers.class_means.figures import figures
from studies.papers.class_means.learning import run
from studies.papers.class_means.numbers import printed_error, reproduced
from studies.papers.class_means.texts import ABOUT, MAIN, PROVENANCE
from studies.papers.experiment import Cell, Published, Results, Values

TITLE = "Passive and Aggressive Algorithm with Class Mean Information"
SOURCE = "Y.-L. Tsai, Y.-C. Tseng, Y.-J. Lee and H.-K. Pao, Taipei."
DATA = tuple(REAL.values())
REPETITIONS = 10
TRIED = {"svmguide1": 1000, "w3a": 100, "ijcnn1": 100, "adult": 100}  # number of orders
PASSES = {"svmguide1": 10, "w3a": 10, "ijcnn1": 10, "adult": 10, "delta": 3, "gamma": 3}  # orders

__all__ = ["ABOUT", "DATA", "MAIN", "PROVENANCE", "SOURCE", "TITLE", "beside", "cells", "claims"]
__all__ += ["figures", "needs", "plain", "printed_error", "reproduced", "run"]


def cells(quick: bool) -> list[Cell]:
    """Return the cells: orders, pulls, preparations, passes and the batch learner."""
    times = 2 if quick else REPETITIONS
    judged = [{"part": "orders", "set": s, "repetition": r} for s in REAL for r in range(times)]
    shown = [{"part": "orders", "set": s, "repetition": 0} for s in STAND_INS]
    pulls = [{"part": "pull", "set": s, "repetition": r} for s in REAL for r in range(times // 2)]
    tried = [{"part": "preparation", "set": s, "orders": 5 if quick else TRIED[s]} for s in REAL]
    batches = [{"part": "batch", "set": s} for s in (*REAL, *STAND_INS)]
    passes = [
        {"part": "epochs", "set": s, "order": k}
        for s, orders in PASSES.items()
        for k in range(1 if quick else orders)
    ]
    return [*judged, *shown, *pulls, *tried, *batches, *passes]


def needs(cell: Cell) -> tuple[str, ...]:
    """Return the data set that a cell reads; stand-ins are generated."""
    return (REAL[cell["set"]],) if cell["set"] in REAL else ()


def plain(results: Results, entry: Published) -> Values | None:
    """Return our values with the exact rule; only the preparation is chosen by fit."""
    return reproduced(results, entry, plain=True) if entry.better != "-" else None
