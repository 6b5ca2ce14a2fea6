"""Two algorithms compared run by run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.experiment import Results
from papers.mahalanobis.measures import present, runs_of
from papers.mahalanobis.texts import TITLES
from papers.verdict import p_text, signed_rank

LEVEL = 0.05


@dataclass(frozen=True)
class Duel:
    """Two algorithms on one set: mean difference (first minus second) and the test of it."""

    name: str
    gap: float
    p: float

    @property
    def won(self) -> bool:
        """The first has significantly the lower error."""
        return self.gap < 0 and self.p < LEVEL

    @property
    def lost(self) -> bool:
        """The second has significantly the lower error."""
        return self.gap > 0 and self.p < LEVEL

    def __str__(self) -> str:
        return f"{TITLES[self.name]} {self.gap:+.2f} ({p_text(self.p)})"


def duels(results: Results, one: str, other: str, names: tuple[str, ...]) -> list[Duel]:
    """Compare the final errors of two algorithms on several sets, run by run."""
    found = []
    for name in present(results, names):
        a, b = runs_of(results, name, one), runs_of(results, name, other)
        found.append(Duel(name, float(np.mean(a - b)), signed_rank(a, b)))
    return found


def listed(found: list[Duel]) -> str:
    """Return all comparisons as text."""
    return ", ".join(map(str, found))


def holm(found: list[Duel]) -> list[Duel]:
    """Return the duels that stay significant when all of them are judged together."""
    ordered = sorted(found, key=lambda duel: duel.p)
    kept = []
    for k, duel in enumerate(ordered):
        if duel.p * (len(ordered) - k) >= LEVEL:
            break
        kept.append(duel)
    return kept
