"""Comparison of our numbers with printed ones.

A printed number has a *tolerance*: its printed interval or, if none is printed, one percentage
point or a quarter of the number, whichever is less. Our mean has a *doubt*: two standard errors of
the difference, those of our mean and, if the paper prints them, of the printed number. A printed
interval already contains the doubt of the printed number, so a mean inside it has only its own.

==================  ================================  ==========================================
our mean is         and                               verdict
==================  ================================  ==========================================
in the tolerance    the doubt is no larger than it    inside
in the tolerance    the doubt is larger               inconclusive
outside             the difference is the larger one  clearly better, or clearly worse
outside             the doubt is the larger one       inconclusive
==================  ================================  ==========================================

Rows learned from other data than the paper's get no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from studies.papers.experiment import Published, Values

Mark = Literal[
    "inside", "better", "worse", "inconclusive", "other data", "not comparable", "not judged"
]
JUDGED: tuple[Mark, ...] = ("inside", "better", "worse", "inconclusive", "other data")
QUARTER = 0.25


@dataclass(frozen=True)
class Judged:
    """A printed number, our values over the runs, and the verdict."""

    entry: Published
    values: Values | None
    mark: Mark

    @property
    def near(self) -> bool:
        """Return whether our mean is in the printed interval or within one point."""
        if self.values is None:
            return False
        allowed = self.entry.point if self.entry.spread is None else self.entry.spread
        return abs(self.gap) <= max(allowed, self.entry.rounding)

    @property
    def gap(self) -> float:
        """Return our mean minus the printed number."""
        return float(np.mean(self.values)) - self.entry.value if self.values is not None else 0.0


def judge(
    entry: Published,
    values: Values | None,
    printed_error: float = 0.0,
    other_data: bool = False,
) -> Judged:
    """Compare our mean with a printed number, whose standard error may be known."""
    if values is None or len(values) == 0:
        return Judged(entry, None, "not comparable")
    values = np.asarray(values, float)
    if entry.better == "-":
        return Judged(entry, values, "not judged")
    if other_data:
        return Judged(entry, values, "other data")
    gap = float(values.mean()) - entry.value
    own = standard_error(values)
    doubt = 2 * hypot(own, printed_error)
    if abs(gap) <= tolerance(entry):
        left = doubt if entry.spread is None else 2 * own
        return Judged(entry, values, "inside" if left <= tolerance(entry) else "inconclusive")
    if abs(gap) <= doubt:
        return Judged(entry, values, "inconclusive")
    return Judged(entry, values, "better" if (gap < 0) == (entry.better == "lower") else "worse")


def tolerance(entry: Published) -> float:
    """Return the tolerance of a printed number, at least its rounding error."""
    near = min(entry.point, QUARTER * abs(entry.value))
    return max(near if entry.spread is None else entry.spread, entry.rounding)


def deviation(values: ArrayLike) -> float:
    """Return the standard deviation of a sample; zero for a single value."""
    values = np.asarray(values, float)
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def standard_error(values: ArrayLike) -> float:
    """Return the standard error of a mean."""
    return deviation(values) / len(np.asarray(values)) ** 0.5


@dataclass(frozen=True)
class Tally:
    """Numbers of verdicts."""

    inside: int
    better: int
    worse: int
    untold: int
    other: int
    missing: int
    near: int  # in the printed interval or within one point, of those with a verdict

    @property
    def judged(self) -> int:
        """Return the number of verdicts."""
        return self.inside + self.better + self.worse + self.untold + self.other


def tally(judged: Iterable[Judged]) -> Tally:
    """Return the counts of the verdicts."""
    every = list(judged)
    count = Counter(j.mark for j in every)
    near = sum(j.near for j in every if j.mark in JUDGED)
    return Tally(*(count[mark] for mark in (*JUDGED, "not comparable")), near)
