"""What tells after each pass of ``fit`` whether another one is worth it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.estimators.stopping import Patience
from aggro.learn.learner import Array

Quality = Callable[[Any], float]  # how well a learner does on rows that it does not learn


class ByLoss:
    """The mean loss of the last weights in the pass, each row judged before it was learned."""

    held_out: Array | None = None  #: rows that the next pass leaves out

    def __init__(self, tol: float, passes: int) -> None:
        self.patience = Patience(tol, passes)

    def ends(self, learner: Any, loss: float) -> bool:
        """Take what a pass has led to; tell whether it was the last one."""
        return self.patience.ends_with(-loss)

    def newcomers(self, *, last: bool) -> Array | None:
        """Return rows that were held out so far and are to be learned now; ``last``: or never."""
        return None


class ByHeldOutRows(ByLoss):
    """Rows that are never learned."""

    def __init__(self, held_out: Array, quality: Quality, tol: float, passes: int) -> None:
        super().__init__(tol, passes)
        self.held_out, self.quality = held_out, quality

    def ends(self, learner: Any, loss: float) -> bool:
        """Take what a pass has led to; tell whether it was the last one."""
        return self.patience.ends_with(self.quality(learner))


class ByRowsKeptBack(ByLoss):
    """A few rows that are learned later: they tell when more passes would learn the noise.

    The passes end when the quality on these rows has fallen twice in a row, but not before there
    were more than ``passes``: of few passes chance tells as much. When the quality has not risen by
    ``tol`` twice in a row, the rows have told enough: they are learned as well, and the passes end
    ``passes`` after the last one that was better. The loss ends them, too, as it always does.
    """

    TWICE = 2

    def __init__(self, held_out: Array, quality: Quality, tol: float, passes: int) -> None:
        super().__init__(tol, passes)
        self.held_out, self.quality = held_out, quality
        self.falls, self.rests = Patience(0.0, self.TWICE), Patience(tol, self.TWICE)
        self.least, self.after = passes + 1, max(passes - self.TWICE, 0)
        self.made, self.last, self.rested = 0, 0, False

    def ends(self, learner: Any, loss: float) -> bool:
        """Take what a pass has led to; tell whether it was the last one."""
        converged = super().ends(learner, loss)
        self.made += 1
        if self.held_out is None:
            return converged or self.made >= self.last
        quality = self.quality(learner)
        self.rested, self.last = self.rests.ends_with(quality), self.made + self.after
        return converged or (self.falls.ends_with(quality) and self.made >= self.least)

    def newcomers(self, *, last: bool) -> Array | None:
        """Return the rows that were kept back when they have told enough."""
        if self.held_out is None or not (last or self.rested):
            return None
        rows, self.held_out = self.held_out, None
        return rows


SHARE, LEAST, MOST = 20, 150, 1000  # every so manieth row is kept back; so many at least, at most


def rows_to_keep_back(classes: Array, order: Array) -> Array | None:
    """Return a few rows, the first of this order; none where there are not many.

    A class with fewer rows than ``SHARE`` gives none away.

    >>> classes = np.repeat([0, 1, 2], [3000, 600, 5])
    >>> kept = rows_to_keep_back(classes, np.arange(3605)[::-1])
    >>> len(kept), np.bincount(classes[kept]).tolist()
    (175, [0, 175])
    >>> rows_to_keep_back(classes[:600], np.arange(600)) is None
    True
    """
    if len(classes) < SHARE * LEAST:
        return None
    first = order[: min(len(classes) // SHARE, MOST)]
    many = np.bincount(classes) >= SHARE
    return np.sort(first[many[classes[first]]])


def bounded_loss(scores: Array, targets: Array) -> Array:
    """Return the loss of each row, from 0, right by the margin, to 1, wrong by the margin.

    ``targets`` are the numbers of the classes, or 0 and 1 for each of several labels.

    >>> bounded_loss(np.array([[2.0], [0.0], [-9.0]]), np.array([1, 1, 1])).tolist()
    [0.0, 0.5, 1.0]
    >>> bounded_loss(np.array([[0.5, 0.0, -1.0]]), np.array([0])).tolist()
    [0.25]
    """
    if targets.ndim == 2 or scores.shape[1] == 1:
        margins = np.where(targets.reshape(scores.shape) > 0, scores, -scores)
    else:
        rows, rivals = np.arange(len(scores)), scores.copy()
        rivals[rows, targets] = -np.inf
        margins = (scores[rows, targets] - rivals.max(axis=1))[:, None]
    losses: Array = np.clip((1 - margins) / 2, 0, 1).mean(axis=1)
    return losses
