"""The printed rule without its division by 1 + γ, which fits the printed numbers.

    w' = w + γ m + α y x,   α = N/‖x‖² | min(C, N/‖x‖²) | N/(‖x‖² + (1+γ)/2C),   N = as printed

The minimiser of the paper's problem (2) divides this by 1 + γ, as ``aggro`` does.
Many settings are learned side by side to save loops over the rows in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from studies.papers.experiment import Values


@dataclass(frozen=True)
class Setting:
    """One learner: its slack, C and pull."""

    loss: str
    C: float
    gamma: float

    @property
    def cap(self) -> float:
        """Return the largest α."""
        return self.C if self.loss == "hinge" else inf

    @property
    def ridge(self) -> float:
        """Return the term added to ‖x‖²."""
        return (1 + self.gamma) / (2 * self.C) if self.loss == "squared_hinge" else 0.0


class Undivided:
    """Several learners that learn the same rows."""

    def __init__(self, settings: Sequence[Setting], features: int) -> None:
        self.gamma = np.array([s.gamma for s in settings])
        self.cap = np.array([s.cap for s in settings])
        self.ridge = np.array([s.ridge for s in settings])
        self.weights = np.zeros((len(settings), features))
        self.updates = np.zeros(len(settings), int)
        self.mistakes = np.zeros(len(settings), int)
        self.sums, self.counts = {1: np.zeros(features), -1: np.zeros(features)}, {1: 0, -1: 0}

    def learn(self, X: Any, y: Values, *, frozen: bool = False) -> Undivided:
        """Learn all rows once; with ``frozen``, class means do not change."""
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, float)
        squares = np.einsum("ij,ij->i", X, X)
        for x, label, square in zip(X, y.tolist(), squares.tolist(), strict=True):
            if not frozen:
                self.counts[label] += 1
                self.sums[label] += x
            scores = label * (self.weights @ x)
            self.mistakes += scores <= 0
            moved = scores < 1
            if moved.any():
                self.updates += moved
                self._move(x, label, square, scores, moved)
        return self

    def _move(self, x: Values, label: int, square: float, scores: Values, moved: Values) -> None:
        means = {side: self.sums[side] / max(count, 1) for side, count in self.counts.items()}
        m = means[1] - means[-1]
        N = 1 - scores + self.gamma * (1 - label * (m @ x))
        alpha = np.clip(N / (square + self.ridge), 0, self.cap)
        self.weights += np.outer(self.gamma * moved, m) + np.outer(alpha * moved * label, x)
