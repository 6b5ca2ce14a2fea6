"""Class means: PA, PA-1, PA-2 and PAm, PAm-1, PAm-2 on seven sets."""

from __future__ import annotations

from pathlib import Path

from papers.class_means import beside as _beside
from papers.class_means import figures as _figures
from papers.class_means.claims import claims
from papers.class_means.data import REAL, STAND_INS
from papers.class_means.learning import run
from papers.class_means.numbers import reproduced
from papers.experiment import Cell, Figure, Results, read_published

TITLE = "Passive and Aggressive Algorithm with Class Mean Information"
SOURCE = "Y.-L. Tsai, Y.-C. Tseng, Y.-J. Lee and H.-K. Pao, Taipei."
DATA = tuple(REAL.values())
NOTES: dict[tuple[str, str, str], str] = {}
ABOUT = """
**Protocol.** The paper does not say how the data were prepared. The hard PA has no parameter, so
its printed updates and errors tell: every feature scaled to [0, 1] by its range in the training
rows, and a constant feature for the bias. (svmguide1, 20 orders: 1066 updates and error 0.079 that
way, 1054 and 0.079 printed; raw 1495 and 0.26; scaled without bias 1066 and 0.14; standardised 597
and 0.067. adult: 13028 and 0.196 against 13021 and 0.201.) One pass over ten random orders gives
each printed number; here this is done ten times, so that means, standard deviations and minima have
a spread of their own. Some orders end right after an outlier that turned w round, so these spreads
are wide for the hard rules.

**The rule.** The columns PAm, PAm-1 and PAm-2 are *not* the printed rule. Drawing w towards the
class means, as problem (2) and its solution say, makes more updates than PA for every γ; the
tables show half as many. The printed update without its division by 1 + γ gives those numbers on
all four sets, so that is what is run here for these columns; aggro's own PAm is the exact rule,
and stands beside. Times are aggro's, of the exact rule.

**C and γ** are not printed either. The number of updates depends on them strongly, so the settings
are taken that make the updates of Table III, within 3 %; where several do, the one with the fewest
mistakes on training rows. Tables IV to VI were not looked at for this.
"""
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
