"""Outcomes as arrays, and our values for each printed number."""

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
    """Return the numbers of a variant, of shape (repetitions, orders)."""
    found = results.where(part="orders", set=name)
    return np.array([outcome["runs"][variant][key] for _, outcome in found.pairs])


def pulls(results: Results, name: str, rule: str, key: str) -> Values:
    """Return the numbers of the hard rule, of shape (orders, pulls)."""
    found = results.where(part="pull", set=name)
    return np.concatenate([np.array(outcome[rule][key]) for _, outcome in found.pairs])


def reproduced(results: Results, entry: Published, plain: bool = False) -> Values | None:
    """Return our values for a printed number, one for each repetition of the ten orders.

    The PAm columns use the undivided rule, and the PA columns the C that gives the printed number
    of updates. The plain reading uses aggro's exact rule and C by progressive mistakes. Times are
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

    Table V prints the standard deviation of the ten errors whose mean is in Table IV. For standard
    deviations and minima no standard error is printed; it is estimated by the spread over our
    repetitions.
    """
    if entry.table == "Table IV":
        return SPREADS[entry.row, entry.column] / ORDERS**0.5
    return deviation(values) if values is not None and len(values) else 0.0


def trajectory(results: Results, name: str, variant: str, key: str) -> Values:
    """Return a number of shape (orders, passes)."""
    found = results.where(part="epochs", set=name)
    return np.array([outcome[variant][key] for _, outcome in found.pairs])
