"""When a claim holds, and when a difference is more than chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from papers.experiment import Values
from papers.verdict import signed_rank

LEVEL = 0.05
Verdict = Literal["holds", "holds in part", "does not hold", "cannot be tested"]


def verdict(held: Iterable[bool]) -> Verdict:
    """Return "holds" when all of it holds, "in part" when at least half of it does."""
    share = float(np.mean(list(held)))
    return "holds" if share == 1 else "holds in part" if share >= 0.5 else "does not hold"


def is_less(ours: Values, theirs: Values) -> bool:
    """Tell whether the first are smaller, by the signed-rank test."""
    count = min(len(ours), len(theirs))
    return signed_rank(ours[:count], theirs[:count], "less") < LEVEL
