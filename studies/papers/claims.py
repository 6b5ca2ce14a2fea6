"""Statistical tests of claims, with one definition for all papers.

A claim consists of parts, each a comparison that supports the claim or not. A part that compares
runs has a p-value: that of a two-sided t-test on paired differences, corrected for folds that share
rows. All p-values of a paper are adjusted together by Holm's method. A part is then *for* the
claim, *against* it (as sure, but the other way), or *open*. A claim

- holds, when at least nine of ten of its parts are for it and none is against it;
- inconclusive, when fewer than a quarter are for it and fewer than a quarter against it;
- does not hold, when more are against it than for it;
- holds in part, otherwise.

Parts that are open are no evidence against a claim. Two parts at least are needed for the verdicts
holds, holds in part and does not hold all to be possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["holds", "holds in part", "does not hold", "inconclusive", "cannot be tested"]
LEVEL = 0.05
NEARLY_ALL, SOME = 0.9, 0.25


@dataclass(frozen=True)
class Part:
    """One comparison: its direction and its p-value.

    ``p`` is None for counts and thresholds, which need no test.
    """

    towards: bool
    p: float | None = None


@dataclass(frozen=True)
class Claim:
    """A paraphrased claim of a paper with its parts; without parts it cannot be tested."""

    says: str
    where: str  # section or table of the paper
    parts: tuple[Part, ...]
    found: str  # a summary of the measured numbers

    def __post_init__(self) -> None:
        if len(self.parts) == 1:
            raise ValueError(f"a claim with one part can never hold in part: {self.says!r}")


@dataclass(frozen=True)
class TestedClaim:
    """A claim with the counts of its parts, after the correction for multiple tests."""

    claim: Claim
    favour: int
    against: int

    @property
    def open(self) -> int:
        """Return the number of parts that are not significant."""
        return len(self.claim.parts) - self.favour - self.against

    @property
    def counts(self) -> str:
        """Return the numbers of parts for, against and open, as text."""
        return f"{self.favour} / {self.against} / {self.open}"

    @property
    def verdict(self) -> Verdict:
        """Return the verdict on the claim."""
        return verdict(self.favour, self.against, self.open)


def verdict(favour: int, against: int, open_: int) -> Verdict:
    """Return the verdict for these counts of parts for, against and open."""
    count = favour + against + open_
    if count == 0:
        return "cannot be tested"
    if favour >= NEARLY_ALL * count and against == 0:
        return "holds"
    if max(favour, against) < SOME * count:
        return "inconclusive"
    return "does not hold" if against > favour else "holds in part"


def evaluate_claims(claims: Sequence[Claim]) -> list[TestedClaim]:
    """Return the verdicts on all claims of a paper, whose tests are corrected together."""
    p_values = [part.p for claim in claims for part in claim.parts if part.p is not None]
    adjusted = iter(holm(p_values))
    tested = []
    for claim in claims:
        sure = [part.p is None or next(adjusted) < LEVEL for part in claim.parts]
        pairs = list(zip(claim.parts, sure, strict=True))
        favour = sum(part.towards and is_sure for part, is_sure in pairs)
        against = sum(not part.towards and is_sure for part, is_sure in pairs)
        tested.append(TestedClaim(claim, favour, against))
    return tested


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method, in the given order."""
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    raised = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return [float(value) for value in adjusted]


# -- the test -----------------------------------------------------------------------------------


def paired(ours: ArrayLike, theirs: ArrayLike, overlap: float = 0.0) -> float:
    """Return the p-value of the two-sided t-test on paired differences.

    ``overlap`` is the ratio of test rows to training rows where runs are folds or subsamples of
    one set: their training rows overlap, so their differences are not independent, and the
    variance of the mean is corrected as by Nadeau and Bengio (2003). It is 0
    for orders of the same rows: the result then holds for this set.
    """
    from scipy.stats import t

    difference = np.asarray(ours, float) - np.asarray(theirs, float)
    count, mean = len(difference), float(difference.mean())
    if count < 2 or mean == 0:
        return 1.0
    error = float(difference.std(ddof=1)) * (1 / count + overlap) ** 0.5
    return 0.0 if error == 0 else float(2 * t.sf(abs(mean) / error, count - 1))


def lower(ours: ArrayLike, theirs: ArrayLike, overlap: float = 0.0) -> Part:
    """Return the part of a claim that ``ours`` are lower than ``theirs``."""
    return Part(bool(np.mean(ours) < np.mean(theirs)), paired(ours, theirs, overlap))


def higher(ours: ArrayLike, theirs: ArrayLike, overlap: float = 0.0) -> Part:
    """Return the part of a claim that ``ours`` are higher than ``theirs``."""
    return Part(bool(np.mean(ours) > np.mean(theirs)), paired(ours, theirs, overlap))


def met(*conditions: bool) -> tuple[Part, ...]:
    """Return parts without a test, each for the claim or against it."""
    return tuple(Part(bool(condition)) for condition in conditions)


def counted(parts: Sequence[Part]) -> str:
    """Return how many parts support the claim, significant or not."""
    return f"{sum(part.towards for part in parts)} of {len(parts)}"
