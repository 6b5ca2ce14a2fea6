"""The outcomes as arrays, and which of them stands for a printed number."""

from __future__ import annotations

import numpy as np

from papers.class_means.data import REAL
from papers.experiment import Published, Results, Values
from papers.verdict import deviation

SUFFIXES = ("", "-1", "-2")
COLUMNS = tuple(f"{family}{suffix}" for family in ("PA", "PAm") for suffix in SUFFIXES)
SUMMARIES = {
    "Table II": ("seconds", np.mean),
    "Table III": ("updates", np.mean),
    "Table IV": ("error", np.mean),
    "Table V": ("error", deviation),
    "Table VI": ("error", np.min),
}


def runs(results: Results, name: str, variant: str, key: str) -> Values:
    """Return the numbers of a variant: a row for each repetition, a column for each order."""
    found = results.where(part="orders", set=name)
    return np.array([outcome["runs"][variant][key] for _, outcome in found.pairs])


def reproduced(results: Results, entry: Published, exact: bool = False) -> Values | None:
    """Return what is printed, once for each repetition of the ten orders.

    The columns PAm are the undivided rule, or aggro's own, exact one. Times are always aggro's.
    """
    if entry.row not in REAL:
        return None
    if entry.table == "Table I":
        sizes = results.where(part="batch", set=entry.row)
        return sizes.values("sizes", entry.column)
    key, summary = SUMMARIES[entry.table]
    ours = entry.column.startswith("PAm") and (exact or key == "seconds")
    table = runs(results, entry.row, f"exact {entry.column}" if ours else entry.column, key)
    return np.array([summary(row) for row in table])


def course(results: Results, name: str, variant: str, key: str) -> Values:
    """Return a number after each pass: a row for each order."""
    found = results.where(part="epochs", set=name)
    return np.array([outcome[variant][key] for _, outcome in found.pairs])
