"""Stopping rules of ``fit``: when the passes end, and which pass the model is kept from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.estimators.stopping import Patience, mean_of
from aggro.learner import Array
from aggro.selection.common import choose

# How well the candidates of a learner predict held-out rows; the first is the one that predicts.
Qualities = Callable[[Any], dict[int, float]]
Snapshot = Callable[[Any], Callable[[], None]]  # returns what restores a learner


class ByLoss:
    """The mean loss of the last weights in the pass, each row judged before it was learned."""

    held_out: Array | None = None  #: rows that the passes do not learn

    def __init__(self, tol: float, passes: int) -> None:
        self.patience = Patience(tol, passes)

    def ends(self, learner: Any, loss: float) -> bool:
        """Take what a pass has led to; tell whether it was the last one."""
        return self.patience.ends_with(-loss)

    def before_pass(self, learner: Any) -> None:
        """Prepare for a pass that is about to begin."""

    def finish(self, learner: Any, learn: Callable[[Array], None]) -> None:
        """Leave the learner as it is to be kept; ``learn`` makes it learn held-out rows."""


class ByHeldOutRows(ByLoss):
    """Rows that are never learned; scikit-learn's rule, which keeps the last pass."""

    def __init__(self, held_out: Array, qualities: Qualities, tol: float, passes: int) -> None:
        super().__init__(tol, passes)
        self.held_out, self.qualities = held_out, qualities

    def quality(self, learner: Any) -> float:
        """Return the quality of the candidate that predicts."""
        predicts, *_ = self.qualities(learner).values()
        return predicts

    def ends(self, learner: Any, loss: float) -> bool:
        """Take what a pass has led to; tell whether it was the last one."""
        return self.patience.ends_with(self.quality(learner))


class ByRowsLearnedLast(ByLoss):
    """Rows that choose among the passes, one included, and are learned at the end.

    After each pass these rows evaluate the candidates that ``fit`` considers. The passes end when
    ``passes`` of them in a row have not improved the best quality by ``tol``, or by the training
    loss. The learner then goes back to the pass, and to the candidate, of the best quality, and
    learns the held-out rows. At most one copy of what the passes change is kept at a time.
    """

    def __init__(
        self, held_out: Array, qualities: Qualities, snapshot: Snapshot, tol: float, passes: int
    ) -> None:
        super().__init__(tol, passes)
        self.held_out, self.qualities, self.snapshot = held_out, qualities, snapshot
        self.improvement = Patience(tol, passes)
        self.made, self.best = 0, -np.inf
        self.best_pass, self.candidate = 1, 0
        self.restore: Callable[[], None] | None = None

    def before_pass(self, learner: Any) -> None:
        """Keep a copy of the learner if the pass before was the best so far."""
        if self.made and self.best_pass == self.made:
            self.restore = None  # frees the older copy first
            self.restore = self.snapshot(learner)

    def ends(self, learner: Any, loss: float) -> bool:
        """Evaluate the candidates after a pass; return whether it was the last one."""
        self.made += 1
        qualities = self.qualities(learner)
        candidate = max(qualities, key=qualities.__getitem__)
        if self.made == 1 or qualities[candidate] > self.best:
            self.best, self.best_pass = qualities[candidate], self.made
            self.candidate = candidate
        converged = super().ends(learner, loss)
        return self.improvement.ends_with(qualities[candidate]) or converged

    def finish(self, learner: Any, learn: Callable[[Array], None]) -> None:
        """Go back to the best pass and learn the held-out rows."""
        if self.restore is not None and self.best_pass < self.made:
            self.restore()
        learner.freeze_means(False)  # the held-out rows are new
        choose(learner, self.candidate)
        assert self.held_out is not None
        learn(self.held_out)


SHARE, LEAST, MOST = 20, 150, 1000  # one row in SHARE is held out, between LEAST and MOST of them


def rows_to_hold_out(classes: Array, order: Array) -> Array | None:
    """Return the first few rows of this order, or None if there are too few rows for that.

    No row is held out of a class with fewer rows than ``SHARE``.

    >>> classes = np.repeat([0, 1, 2], [3000, 600, 5])
    >>> kept = rows_to_hold_out(classes, np.arange(3605)[::-1])
    >>> len(kept), np.bincount(classes[kept]).tolist()
    (175, [0, 175])
    >>> rows_to_hold_out(classes[:600], np.arange(600)) is None
    True
    """
    if len(classes) < SHARE * LEAST:
        return None
    first = order[: min(len(classes) // SHARE, MOST)]
    many = np.bincount(classes) >= SHARE
    return np.sort(first[many[classes[first]]])


def scaled_log_loss(scores: Array, targets: Array, weights: Array | None = None) -> float:
    """Return the mean log loss of scores, multiplied by the one factor that makes it smallest.

    Margins grow from pass to pass and with C, which says nothing of how good they are: a loss of
    the margins themselves would prefer more passes and a larger C.
    ``targets`` are the numbers of the classes, or 0 and 1 for each of several labels.

    >>> scores, classes = np.array([[2.0], [1.0], [-3.0], [1.0]]), np.array([1, 1, 0, 0])
    >>> round(scaled_log_loss(scores, classes), 3), round(scaled_log_loss(9 * scores, classes), 3)
    (0.45, 0.45)
    """
    size = float(np.abs(scores).mean())
    if size == 0.0:
        size = 1.0
    if not np.isfinite(size):
        return np.inf
    scores = scores / size
    if targets.ndim == 2 or scores.shape[1] == 1:
        margins = np.where(targets.reshape(scores.shape) > 0, scores, -scores)

        def losses(factor: float) -> Array:
            each: Array = np.logaddexp(0.0, -factor * margins)
            return each[:, 0] if each.shape[1] == 1 else each.mean(axis=1)

    else:
        behind = scores - scores[np.arange(len(scores)), targets][:, None]

        def losses(factor: float) -> Array:
            scaled = factor * behind
            largest = scaled.max(axis=1)
            each: Array = largest + np.log(np.exp(scaled - largest[:, None]).sum(axis=1))
            return each

    return _minimum(lambda power: mean_of(losses(2.0**power), weights), -8.0, 8.0)


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum of a convex function by golden-section search, to 0.02 of its place."""
    share = (5**0.5 - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    of_left, of_right = loss(left), loss(right)
    while right - left > 0.005:
        if of_left < of_right:
            high, right, of_right = right, left, of_left
            left = high - share * (high - low)
            of_left = loss(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + share * (high - low)
            of_right = loss(right)
    return min(of_left, of_right)
