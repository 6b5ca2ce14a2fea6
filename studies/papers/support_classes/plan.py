"""The cells of the experiment."""

from __future__ import annotations

from studies.papers.experiment import Cell
from studies.papers.support_classes.sets import FOLDS, LARGE, NEWSGROUPS, is_here

PASSES = 40
ORDERS = 2  # in which single updates are examined
BATCH_FOLDS = {"News20": 5}  # each takes half a minute


def cells(quick: bool = False) -> list[Cell]:
    """Return all cells, long ones first."""
    folds, passes = (2, 4) if quick else (FOLDS, PASSES)
    large = [name for name in reversed(LARGE) if is_here(name)]
    found: list[Cell] = []
    for name in large:
        batch_folds = 1 if quick else BATCH_FOLDS.get(name, FOLDS)
        found += [_online(name, fold, passes) for fold in range(folds)]
        found += [{"part": "batch", "set": name, "fold": fold} for fold in range(batch_folds)]
        found += [{"part": "time", "set": name, "passes": passes}]
        found += [{"part": "inside", "set": name, "seed": s} for s in range(1 if quick else ORDERS)]
    found += [{"part": "stream", "set": "USPS", "seed": seed} for seed in range(folds)]
    found += [{"part": "sizes", "set": name} for name in (*NEWSGROUPS, *large)]
    return found + [_online(name, fold, 1) for name in NEWSGROUPS for fold in range(folds)]


def _online(name: str, fold: int, passes: int) -> Cell:
    return {"part": "online", "set": name, "fold": fold, "passes": passes}
