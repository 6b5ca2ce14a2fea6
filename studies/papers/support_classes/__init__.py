"""Reproduction of support classes (SPA), the exact multiclass Passive-Aggressive algorithm."""

from studies.papers.experiment import Cell, Published
from studies.papers.support_classes import newsgroups, sets
from studies.papers.support_classes.claims import claims
from studies.papers.support_classes.figures import figures
from studies.papers.support_classes.plan import cells
from studies.papers.support_classes.protocol import run
from studies.papers.support_classes.selection import reproduced
from studies.papers.support_classes.texts import ABOUT, MAIN, PROVENANCE, beside

TITLE = "Exact Passive-Aggressive Algorithm for Multiclass Classification Using Support Class"
SOURCE = "Matsushima, Shimizu, Yoshida, Ninomiya, Nakagawa; SIAM Data Mining (2010)"
DATA = ("usps", "news20", "20news")


def needs(cell: Cell) -> tuple[str, ...]:
    """Return the sets that a cell reads."""
    return sets.needs(cell["set"])


def other_data(entry: Published) -> bool:
    """Return whether a row was learned from other data than the paper's."""
    return entry.row in newsgroups.SUBSETS


__all__ = [
    "ABOUT",
    "DATA",
    "MAIN",
    "PROVENANCE",
    "SOURCE",
    "TITLE",
    "beside",
    "cells",
    "claims",
    "figures",
    "needs",
    "other_data",
    "reproduced",
    "run",
]
