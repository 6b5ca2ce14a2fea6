"""How a number of ours compares with a printed one, and how sure a difference is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from papers.experiment import Published, Values

Mark = Literal["agrees", "better", "worse", "not comparable", "not judged"]


@dataclass(frozen=True)
class Judged:
    """A printed number, our values over the runs, and how they compare."""

    entry: Published
    values: Values | None
    mark: Mark


def judge(entry: Published, values: Values | None) -> Judged:
    """Compare our mean with a printed number.

    It agrees within the printed interval; where none is printed, within two standard deviations
    of our runs. Either way, what rounding hides is no difference.
    """
    if values is None or len(values) == 0:
        return Judged(entry, None, "not comparable")
    values = np.asarray(values, float)
    if entry.better == "-":
        return Judged(entry, values, "not judged")
    gap = float(values.mean()) - entry.value
    rounding = 0.5 * 10.0**-entry.decimals
    if abs(gap) <= max(2 * deviation(values) if entry.spread is None else entry.spread, rounding):
        return Judged(entry, values, "agrees")
    return Judged(entry, values, "better" if (gap < 0) == (entry.better == "lower") else "worse")


def deviation(values: ArrayLike) -> float:
    """Return the standard deviation of a sample; zero for a single value."""
    values = np.asarray(values, float)
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


# -- tests over runs ----------------------------------------------------------------------------


def signed_rank(ours: ArrayLike, theirs: ArrayLike, alternative: str = "two-sided") -> float:
    """Return the p-value of Wilcoxon's signed-rank test on paired runs.

    ``alternative="less"`` asks whether the first are smaller. Exact up to 50 pairs without ties;
    pairs that are equal say nothing and are left out.
    """
    from scipy.stats import wilcoxon

    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    difference = difference[difference != 0]
    if len(difference) == 0:
        return 1.0
    tied = len(np.unique(np.abs(difference))) < len(difference)
    method = "exact" if len(difference) <= 50 and not tied else "asymptotic"
    return float(wilcoxon(difference, alternative=alternative, method=method).pvalue)


def sign(ours: ArrayLike, theirs: ArrayLike, alternative: str = "two-sided") -> float:
    """Return the p-value of the exact sign test on paired runs; equal pairs are left out."""
    from scipy.stats import binomtest

    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    less, more = int((difference < 0).sum()), int((difference > 0).sum())
    if less + more == 0:
        return 1.0
    flipped = {"less": "greater", "greater": "less"}.get(alternative, alternative)
    return float(binomtest(less, less + more, alternative=flipped).pvalue)


def p_text(p: float) -> str:
    """Return a p-value as people write it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
