"""Evaluation of the served predictions: total, recent, and against a constant prediction.

An example that was predicted first is evaluated with the prediction that was served; others with
the prediction just before learning. The totals depend only on the order of the examples and are
saved in each snapshot, so they survive a crash exactly. Recent figures start from scratch.

Sums are limited to the largest double. The constant prediction of a regression is the median of
recent targets, and a target further than ABSURD from it is not evaluated.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, insort
from collections import deque
from typing import Any

import msgspec

RECENT = 500  # examples
BEFORE = 2000  # … before them, for comparison
BINS = 10
TARGETS = 101  # whose median is the constant prediction of a regression
ABSURD = 1e100
LARGEST = sys.float_info.max


class Totals(msgspec.Struct):
    """Totals over all examples."""

    examples: int = 0
    evaluated: int = 0
    error: float = 0.0  # mistakes, or the sum of absolute errors
    constant: float = 0.0  # the same for the constant prediction
    targets: list[float] = msgspec.field(default_factory=list)  # recent ones of a regression
    counts: dict[str, int] = msgspec.field(default_factory=dict)  # of each class, as JSON
    # Predictions by confidence: number, number of correct ones, sum of confidences.
    predicted: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)
    correct: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)
    confidence: list[float] = msgspec.field(default_factory=lambda: [0.0] * BINS)


class Evaluation:
    """The totals, and the errors of recent examples."""

    def __init__(self, regression: bool, totals: Totals | None = None) -> None:
        self.regression = regression
        self.totals = totals or Totals()
        self._ordered = sorted(self.totals.targets)
        self._most_frequent = max(
            self.totals.counts, key=self.totals.counts.__getitem__, default=None
        )
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT + BEFORE)
        self.delays: deque[float] = deque(maxlen=RECENT)

    def add(self, output: Any, confidence: float | None, label: Any, key: str) -> None:
        """Add a prediction and its label, which is also given as JSON."""
        totals = self.totals
        if self.regression:
            error = abs(float(output or 0.0) - label)
            constant = abs(self._median_target() - label)
            self._add_target(float(label))
        else:
            error = float(output != label)
            constant = float(self._most_frequent != key)
            self._count(key)
            if confidence is not None:
                self._calibrate(confidence, output == label)
        totals.examples += 1
        if constant > ABSURD:
            return
        error = error if error < LARGEST else LARGEST  # also NaN
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
        if self._most_frequent is None or counts[key] > counts[self._most_frequent]:
            self._most_frequent = key

    def _calibrate(self, confidence: float, correct: bool) -> None:
        place = min(int(confidence * BINS), BINS - 1)
        self.totals.predicted[place] += 1
        self.totals.correct[place] += correct
        self.totals.confidence[place] += confidence

    def summary(self) -> dict[str, Any]:
        """Return the figures for the page and the metrics."""
        totals, recent = self.totals, list(self._recent)
        recent, before = recent[-RECENT:], recent[:-RECENT]
        errors, constants = ([each[k] for each in recent] for k in (0, 1))
        return {
            "examples": totals.examples,
            "error": _mean_of(totals.error, totals.evaluated),
            "constant": _mean_of(totals.constant, totals.evaluated),
            "recent": _mean_of(sum(errors), len(errors)),
            "constant_recent": _mean_of(sum(constants), len(constants)),
            "before": _mean_of(sum(each[0] for each in before), len(before)),
            "drift": drift([each[0] for each in before], errors),
            "delay": _median(self.delays),
            "calibration": [
                {"confidence": c / n, "accuracy": r / n, "count": n}
                for c, r, n in zip(totals.confidence, totals.correct, totals.predicted, strict=True)
                if n
            ],
        }


def drift(before: list[float], recent: list[float]) -> float | None:
    """Return by how many standard errors the recent error is above the earlier one."""
    if len(before) < 100 or len(recent) < 100:
        return None
    (m0, v0), (m1, v1) = _moments(before), _moments(recent)
    spread = math.sqrt(v0 / len(before) + v1 / len(recent))
    return (m1 - m0) / spread if spread > 0 and math.isfinite(spread) else None


def _moments(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((v - mean) * (v - mean) for v in values) / max(len(values) - 1, 1)


def _mean_of(total: float, count: int) -> float | None:
    return min(total, LARGEST) / count if count else None


def _median(values: deque[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
