"""Progressive validation: every example is judged before it is learned, told at 16, 32, 64 ..."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from aggro.cli.advice import Runs
from aggro.learner import Array

FIRST = 16


@dataclasses.dataclass(frozen=True)
class Line:
    """What is known after so many examples: shares of mistakes, or mean absolute errors."""

    examples: int
    since_last: float
    so_far: float
    baseline: float
    updates: int

    def text(self, percent: bool) -> str:
        """Return the line of the table."""
        losses = (self.since_last, self.so_far, self.baseline)
        shown = "".join(f"{v:>12.2%}" if percent else f"{v:>12.5g}" for v in losses)
        return f"{self.examples:>12,}{shown}{self.updates:>14,}"


def heading() -> str:
    """Return the heading of the table."""
    names = ("since last", "so far", "constant")
    return f"{'examples':>12}" + "".join(f"{name:>12}" for name in names) + f"{'updates':>14}"


class Watch:
    """Cuts batches at the examples to report on, and keeps the lines of the table."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.examples = 0
        self.lines: list[Line] = []
        self.next = FIRST
        self.constant, self.runs = Constant(model), Runs()
        self._reported = (0, 0.0)
        self._before = model.loss

    def learn(self, X: Any, y: Array, weights: Array | None) -> list[Line]:
        """Learn a batch; return the lines that became due. Rows without weight do not count."""
        counted = np.flatnonzero(np.ones(len(y)) if weights is None else weights)
        if len(counted) == 0:
            return []
        batch, new = self.model.begin_batch(X, y, weights), len(self.lines)
        step, begin = self.model.step, 0
        while begin < len(counted):
            due = self.next - self.examples
            end = begin + -(-due // step) * step  # whole steps only
            order = counted[begin:end]
            self.constant.judge(y[order])
            if not self.model.regression:
                self.runs.meet(y[order])
            self.model.learn(batch, weights, order)
            self.examples += len(order)
            begin = end
            if self.examples >= self.next:
                self.report()
                self.next = 1 << self.examples.bit_length()
        return self.lines[new:]

    def report(self) -> None:
        """Add a line to the table, unless there is nothing new."""
        examples, loss = self._reported
        if self.examples == examples:
            return
        now = self.model.loss - self._before
        recent = (now - loss) / (self.examples - examples)
        baseline = self.constant.loss()
        line = Line(self.examples, recent, now / self.examples, baseline, self.model.updates)
        self.lines.append(line)
        self._reported = (self.examples, now)


class Constant:
    """The best that a constant answer could do: what any model must beat."""

    def __init__(self, model: Any) -> None:
        self.regression = model.regression
        self.counts: dict[Any, int] = {}
        self.seen, self.total, self.progressive_loss = 0, 0.0, 0.0

    def judge(self, y: Array) -> None:
        """Take in some answers: classes are counted, numbers compared with the mean so far."""
        if self.regression:
            mean = self.total / self.seen if self.seen else 0.0
            self.progressive_loss += float(np.abs(y - mean).sum())
            self.total += float(np.sum(y))
        else:
            for label, count in zip(*np.unique(y, return_counts=True), strict=True):
                self.counts[label] = self.counts.get(label, 0) + int(count)
        self.seen += len(y)

    def loss(self) -> float:
        """Return the error of the constant."""
        if self.regression:
            return self.progressive_loss / self.seen
        return 1 - max(self.counts.values()) / self.seen
