"""How good the answers were: so far, lately, and against the constant answer.

An example that was predicted first is judged by what was served then; another by what the model
says just before it learns. The totals depend on the order of the examples alone, are saved in
each snapshot, and so survive a crash to the last digit. What is shown "lately" starts from scratch.

All sums stay finite: they stop at the largest number there is. The constant answer of a regression
is the median of recent targets, which a few absurd ones do not move, and a target that is further
than ABSURD from it is not evaluated.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, insort
from collections import deque
from typing import Any

import msgspec

LATELY = 500  # examples
BEFORE = 2000  # … that "lately" is compared with
BINS = 10
TARGETS = 101  # recent targets whose median is the constant answer of a regression
ABSURD = 1e100
LARGEST = sys.float_info.max


class Totals(msgspec.Struct):
    """What is counted for ever."""

    examples: int = 0
    evaluated: int = 0
    error: float = 0.0  # mistakes, or the sum of absolute errors
    constant: float = 0.0  # the same of the constant answer: the commonest class, or the median
    targets: list[float] = msgspec.field(default_factory=list)  # recent ones of a regression
    counts: dict[str, int] = msgspec.field(default_factory=dict)  # of each class, as JSON
    told: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)  # predictions by confidence
    right: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)  # … that were right
    confidence: list[float] = msgspec.field(default_factory=lambda: [0.0] * BINS)  # … their sum


class Tallies:
    """The totals, and rings of the latest examples."""

    def __init__(self, regression: bool, totals: Totals | None = None) -> None:
        self.regression = regression
        self.totals = totals or Totals()
        self._ordered = sorted(self.totals.targets)
        self._commonest = max(self.totals.counts, key=self.totals.counts.__getitem__, default=None)
        self._recent: deque[tuple[float, float]] = deque(maxlen=LATELY + BEFORE)
        self.delays: deque[float] = deque(maxlen=LATELY)

    def judge(self, said: Any, confidence: float | None, label: Any, key: str) -> None:
        """Count an example: what was said of it, and the truth (also as JSON)."""
        totals = self.totals
        if self.regression:
            error = abs(float(said or 0.0) - label)
            constant = abs(self._median_target() - label)
            self._add_target(float(label))
        else:
            error = float(said != label)
            constant = float(self._commonest != key)
            self._count(key)
            if confidence is not None:
                self._calibrate(confidence, said == label)
        totals.examples += 1
        if constant > ABSURD:
            return
        error = error if error < LARGEST else LARGEST  # also of no number
        totals.evaluated += 1
        totals.error = min(totals.error + error, LARGEST)
        totals.constant += constant
        self._recent.append((error, constant))

    def _median_target(self) -> float:
        return self._ordered[len(self._ordered) // 2] if self._ordered else 0.0

    def _add_target(self, target: float) -> None:
        targets = self.totals.targets
        if len(targets) == TARGETS:
            del self._ordered[bisect_left(self._ordered, targets.pop(0))]
        targets.append(target)
        insort(self._ordered, target)

    def _count(self, key: str) -> None:
        counts = self.totals.counts
        counts[key] = counts.get(key, 0) + 1
        if self._commonest is None or counts[key] > counts[self._commonest]:
            self._commonest = key

    def _calibrate(self, confidence: float, right: bool) -> None:
        place = min(int(confidence * BINS), BINS - 1)
        self.totals.told[place] += 1
        self.totals.right[place] += right
        self.totals.confidence[place] += confidence

    def shown(self) -> dict[str, Any]:
        """Return what the page and the metrics show."""
        totals, recent = self.totals, list(self._recent)
        lately, before = recent[-LATELY:], recent[:-LATELY]
        errors, constants = ([each[k] for each in lately] for k in (0, 1))
        return {
            "examples": totals.examples,
            "error": _mean_of(totals.error, totals.evaluated),
            "constant": _mean_of(totals.constant, totals.evaluated),
            "lately": _mean_of(sum(errors), len(errors)),
            "constant_lately": _mean_of(sum(constants), len(constants)),
            "before": _mean_of(sum(each[0] for each in before), len(before)),
            "drift": drift([each[0] for each in before], errors),
            "delay": _median(self.delays),
            "calibration": [
                {"told": c / n, "right": r / n, "count": n}
                for c, r, n in zip(totals.confidence, totals.right, totals.told, strict=True)
                if n
            ],
        }


def drift(before: list[float], lately: list[float]) -> float | None:
    """Return how many standard errors the error lately is above what it was before."""
    if len(before) < 100 or len(lately) < 100:
        return None
    (m0, v0), (m1, v1) = _moments(before), _moments(lately)
    spread = math.sqrt(v0 / len(before) + v1 / len(lately))
    return (m1 - m0) / spread if spread > 0 and math.isfinite(spread) else None


def _moments(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((v - mean) * (v - mean) for v in values) / max(len(values) - 1, 1)


def _mean_of(total: float, count: int) -> float | None:
    return min(total, LARGEST) / count if count else None


def _median(values: deque[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
