"""The outcomes as arrays, and which of them stands for a printed number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.papers.class_means.data import REAL
from studies.papers.experiment import Published, Results, Values, read_published
from studies.papers.verdict import deviation

PUBLISHED = read_published(Path(__file__).with_name("published.tsv"))
SPREADS = {(e.row, e.column): e.value for e in PUBLISHED if e.table == "Table V"}
ORDERS = 10  # behind each printed number
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


def pulls(results: Results, name: str, rule: str, key: str) -> Values:
    """Return the numbers of the hard rule for each pull: a row for each order, a column a pull."""
    found = results.where(part="pull", set=name)
    return np.concatenate([np.array(outcome[rule][key]) for _, outcome in found.pairs])


def reproduced(results: Results, entry: Published, plain: bool = False) -> Values | None:
    """Return what is printed, once for each repetition of the ten orders.

    The columns PAm are the undivided rule, those of PA have the C that makes the printed number of
    updates. The plain reading is aggro's exact rule, and C by the mistakes on the way. Times are
    always those of aggro's rules.
    """
    if entry.row not in REAL:
        return None
    if entry.table == "Table I":
        sizes = results.where(part="batch", set=entry.row)
        return sizes.values("sizes", entry.column)
    key, summary = SUMMARIES[entry.table]
    variant = entry.column
    if variant.startswith("PAm") and (plain or key == "seconds"):
        variant = f"exact {variant}"
    elif plain:
        variant = f"plain {variant}"
    return np.array([summary(row) for row in runs(results, entry.row, variant, key)])


def printed_error(entry: Published, values: Values | None) -> float:
    """Return the standard error of a printed number.

    Table V prints the standard deviation of the ten errors whose mean stands in Table IV. Nothing
    is printed about the doubt of a standard deviation or a minimum of ten; each of our repetitions
    is such an experiment, so their spread tells it.
    """
    if entry.table == "Table IV":
        return SPREADS[entry.row, entry.column] / ORDERS**0.5
    return deviation(values) if values is not None and len(values) else 0.0


def trajectory(results: Results, name: str, variant: str, key: str) -> Values:
    """Return a number after each pass: a row for each order."""
    found = results.where(part="epochs", set=name)
    return np.array([outcome[variant][key] for _, outcome in found.pairs])
