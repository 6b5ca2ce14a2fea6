"""Violated constraints of a batch, and the coefficients of the step that satisfies them.

An example has one constraint: its direction over the outputs (y for a binary output, +1 and -1 for
the true and the best wrong class) times its row. Support classes have a constraint for each class.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .batch import batch_dual, batch_support_classes
from .rules import TINY, Array, Labels, Mask, Slack, slack, step_size

CLASSES = ("support", "top", "predicted")  # constraints on several outputs
KINDS = ("binary", "regression", *CLASSES)


EPSILON = float(np.finfo(np.float64).eps)
DOUBTFUL = 2.0**-23  # losses below this share of the scores may be rounding errors


def rounding_of(rows: Array, W: Array) -> Array:
    """Return a bound of the rounding error of each score of rows @ W.T.

    It depends on the sizes of the terms, which are larger than the score if they cancel. The errors
    of n terms add up like a random walk, and the weights contain those of earlier steps.
    """
    terms = np.count_nonzero(rows, axis=1)[:, None]
    return np.asarray(EPSILON * (64 + np.sqrt(terms)) * (np.abs(rows) @ np.abs(W).T))


def without_rounding(losses: Array | float, size: Array | float, rounding: Array | float) -> Array:
    """Set losses below the rounding error of their scores to zero.

    A loss that is a large part of its scores is kept: if terms cancel to less than that, the scores
    are unknown.
    """
    small = np.minimum(DOUBTFUL * np.asarray(size), 64 * EPSILON * size + rounding)
    return np.where(np.abs(losses) <= small, 0.0, losses)


def batches(weights: Array, size: int) -> Iterator[Labels]:
    """Yield disjoint batches of row numbers, not counting rows of weight 0."""
    present = np.flatnonzero(weights)
    for start in range(0, len(present), size):
        yield present[start : start + size]


@dataclass(frozen=True)
class Task:
    """The outputs of one problem and their constraints.

    One output for ``binary`` (labels -1/+1) and ``regression``; K outputs for the classes 0..K-1
    of ``support``, ``top`` and ``predicted``.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import Task
    >>> Task("top", "hinge").mistakes(np.array([[0.2, 0.9], [0.3, 0.1]]), np.array([0, 0])).tolist()
    [True, False]
    """

    kind: str
    loss: str
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        slack(self.loss, 1.0)  # raises if the loss is unknown
        if self.kind not in KINDS:
            raise ValueError(f"{self.kind!r} is not one of {KINDS}")
        if self.kind == "support" and self.loss == "least_squares":
            raise ValueError("least squares need one constraint: support classes have many")

    @property
    def tube(self) -> float:
        """Half the width of the region without loss around a target."""
        inside = self.kind == "regression" and self.loss != "least_squares"
        return self.epsilon if inside else 0.0

    def classes(self, y: Array) -> Labels:
        """Return the labels as class numbers from 0."""
        return (y > 0).astype(np.int64) if self.kind == "binary" else y.astype(np.int64)

    def constraints(
        self, scores: Array, y: Array, rounding: Array | float = 0.0
    ) -> tuple[Array, Array]:
        """Return the direction over the outputs and the raw loss of the margin of each example."""
        rounding = np.broadcast_to(rounding, scores.shape)
        if self.kind == "regression":
            gap = y - scores[:, 0]
            size = np.abs(y) + np.abs(scores[:, 0])
            loss = without_rounding(np.abs(gap) - self.tube, size, rounding[:, 0])
            return np.where(gap < 0, -1.0, 1.0)[:, None], loss + self.tube
        if self.kind == "binary":
            direction = y[:, None]
        else:
            one_hot = np.eye(scores.shape[1])
            true = one_hot[self.classes(y)]
            best_wrong = one_hot[np.argmax(np.where(true > 0, -np.inf, scores), axis=1)]
            direction = true - best_wrong
        taken = np.abs(direction)
        size = 1 + np.sum(taken * np.abs(scores), axis=1)
        loss = 1 - np.sum(direction * scores, axis=1)
        return direction, without_rounding(loss, size, np.sum(taken * rounding, axis=1))

    def losses(self, scores: Array, y: Array, rounding: Array | float = 0.0) -> Array:
        """Return the loss of each example, that of its most violated constraint."""
        raw = self.constraints(scores, y, rounding)[1] - self.tube
        return np.abs(raw) if self.loss == "least_squares" else np.maximum(raw, 0.0)

    def mistakes(self, scores: Array, y: Array) -> Mask:
        """Return which predictions are wrong; none in regression."""
        if self.kind == "regression":
            return np.zeros(len(y), dtype=np.bool_)
        if self.kind == "binary":
            return np.asarray((scores[:, 0] > 0) != (y > 0))
        return np.asarray(np.argmax(scores, axis=1) != y)

    def needs_step(self, scores: Array, y: Array, rounding: Array | float = 0.0) -> Mask:
        """Return which examples have a loss; for ``predicted``, only those with a wrong label."""
        violated = self.losses(scores, y, rounding) > 0
        return violated & self.mistakes(scores, y) if self.kind == "predicted" else violated

    def coefficients(
        self,
        scores: Array,
        y: Array,
        gram: Array,
        penalties: list[Slack],
        rounding: Array | float = 0.0,
    ) -> Array:
        """Return T, examples x outputs: the weights move from the centre by T' (X Sigma).

        ``scores`` are those of the centre, ``gram`` is X Sigma X'.
        """
        T = np.zeros_like(scores)
        rounding = np.broadcast_to(rounding, scores.shape)
        use = np.diag(gram) >= TINY  # a zero row cannot move
        if self.kind == "predicted":
            use &= self.mistakes(scores, y)
        rows = np.flatnonzero(use)
        if len(rows) and np.any(self.needs_step(scores[rows], y[rows], rounding[rows])):
            inner, penalty = gram[np.ix_(rows, rows)], [penalties[k] for k in rows]
            T[rows] = self._solve(scores[rows], y[rows], inner, penalty, rounding[rows])
        return T

    def _solve(
        self, scores: Array, y: Array, gram: Array, penalties: list[Slack], rounding: Array
    ) -> Array:
        """Solve for examples with nonzero rows; a single one has a closed form."""
        direction, raw = self.constraints(scores, y, rounding)
        A = (direction @ direction.T) * gram
        lo, cap, ridge = np.array(penalties).T
        if self.kind == "support":
            T = batch_support_classes(scores, self.classes(y), gram, penalties)
        elif len(y) == 1:
            T = step_size(raw[0] - self.tube, A[0, 0], penalties[0]) * direction
        else:
            lower = -cap if self.kind == "regression" else lo
            t = batch_dual(A, raw, cap, ridge, self.tube, lower)
            if t is None:
                return self._one_after_another(scores, y, gram, penalties, rounding)
            T = t[:, None] * direction
        # constraints satisfied by the steps of the others, up to rounding, need no step
        steps = np.abs(T).max(axis=1)
        met = steps * (np.diag(gram) + ridge)
        target = np.abs(y) if self.kind == "regression" else np.ones(len(y))
        size = target + np.abs(scores).sum(axis=1) + np.abs(gram) @ steps
        T[(without_rounding(met, size, rounding.sum(axis=1)) == 0) & (steps < cap)] = 0.0
        return T

    def _one_after_another(
        self, scores: Array, y: Array, gram: Array, penalties: list[Slack], rounding: Array
    ) -> Array:
        """Learn the examples one by one, each with the scores after earlier steps."""
        T = np.zeros_like(scores)
        for k in range(len(y)):
            one = slice(k, k + 1)
            now = scores[one] + gram[one] @ T
            T[one] = self.coefficients(now, y[one], gram[one, one], penalties[one], rounding[one])
        return T
