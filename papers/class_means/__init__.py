"""Class means: PA, PA-1, PA-2 and PAm, PAm-1, PAm-2 on seven sets."""

from __future__ import annotations

from pathlib import Path

from papers.class_means import beside as _beside
from papers.class_means import figures as _figures
from papers.class_means.claims import claims
from papers.class_means.data import REAL, STAND_INS
from papers.class_means.learning import run
from papers.class_means.numbers import reproduced
from papers.class_means.texts import ABOUT, NOTES
from papers.experiment import Cell, Figure, Results, read_published

TITLE = "Passive and Aggressive Algorithm with Class Mean Information"
SOURCE = "Y.-L. Tsai, Y.-C. Tseng, Y.-J. Lee and H.-K. Pao, Taipei."
DATA = tuple(REAL.values())
PUBLISHED = read_published(Path(__file__).with_name("published.tsv"))
REPETITIONS = 10
PASSES = {"svmguide1": 5, "w3a": 3, "ijcnn1": 3, "adult": 3, "delta": 1, "gamma": 1}

__all__ = ["ABOUT", "DATA", "NOTES", "SOURCE", "TITLE", "beside", "cells", "claims"]
__all__ += ["figures", "needs", "reproduced", "run"]


def cells(quick: bool) -> list[Cell]:
    """Return the ten orders (ten times where judged), the pulls, the passes, the batch learner."""
    times = 2 if quick else REPETITIONS
    judged = [{"part": "orders", "set": s, "repetition": r} for s in REAL for r in range(times)]
    shown = [{"part": "orders", "set": s, "repetition": 0} for s in STAND_INS]
    pulls = [{"part": "pull", "set": s} for s in REAL]
    batches = [{"part": "batch", "set": s} for s in (*REAL, *STAND_INS)]
    passes = [
        {"part": "epochs", "set": s, "order": k}
        for s, orders in PASSES.items()
        for k in range(1 if quick else orders)
    ]
    return [*judged, *shown, *pulls, *batches, *passes]


def needs(cell: Cell) -> tuple[str, ...]:
    """Return the set that a cell reads; the stand-ins are made."""
    return (REAL[cell["set"]],) if cell["set"] in REAL else ()


def beside(results: Results) -> str:
    """Return the tables that the paper does not have."""
    return _beside.beside(results, PUBLISHED)


def figures(results: Results) -> list[Figure]:
    """Return the three figures and one more."""
    return _figures.figures(results, PUBLISHED)
