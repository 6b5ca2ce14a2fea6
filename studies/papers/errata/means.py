"""PAm and PAmW as printed, and as solutions of problem (2) of their paper."""

from __future__ import annotations

from collections import deque

import numpy as np

from studies.papers.errata.streams import Array, Labels, own_error
from studies.papers.experiment import Outcome

GAMMA, C, QUEUE = 0.1, 0.1, 5


def weights_for_examples(X: Array, y: Labels, printed: bool) -> Outcome:
    """E0.1: both listings have w where x belongs."""
    w, means, seen, wrong = np.zeros(X.shape[1]), _none(X), {1: 0, -1: 0}, 0
    for x, label in zip(X, y.tolist(), strict=True):
        wrong += (w @ x > 0) != (label > 0)
        point = w if printed else x
        means[label] = (seen[label] * means[label] + point) / (seen[label] + 1)
        seen[label] += 1
        loss = 1 - label * (w @ x)
        if loss > 0:
            m = means[1] - means[-1]
            alpha = min(C, max(0.0, loss + GAMMA * (1 - label * (m @ point))) / (x @ x))
            w = (w + GAMMA * m + alpha * label * point) / (1 + GAMMA)
    return {"error": 100 * wrong / len(y), "norm": float(np.linalg.norm(w)), **_own(X, y)}


def counters(X: Array, y: Labels, printed: bool) -> Outcome:
    """E0.2: the counters of the means are never increased."""
    found = _pam(X, y, count=not printed)
    return {"error": found["error"], **_own(X, y)}


def clip(X: Array, y: Labels, printed: bool) -> Outcome:
    """E0.3: alpha has no lower bound."""
    return {**_pam(X, y, clip=not printed), **_own(X, y)}


def queue_loss(X: Array, y: Labels, printed: bool) -> Outcome:
    """E0.5: the hard rule with a queue takes the loss at w, not at the mean of the queue."""
    w, means, seen, wrong = np.zeros(X.shape[1]), _none(X), {1: 0, -1: 0}, 0
    queue: deque[Array] = deque(maxlen=QUEUE)
    updates = missed = 0
    for x, label in zip(X, y.tolist(), strict=True):
        wrong += (w @ x > 0) != (label > 0)
        _absorb(means, seen, x, label)
        if 1 - label * (w @ x) <= 0:
            continue
        queue.append(w)
        start, m = np.mean(queue, axis=0), means[1] - means[-1]
        loss = 1 - label * ((w if printed else start) @ x)
        alpha = max(0.0, loss + GAMMA * (1 - label * (m @ x))) / (x @ x)
        w = (start + GAMMA * m + alpha * label * x) / (1 + GAMMA)
        updates += 1
        missed += label * (w @ x) < 1 - 1e-9
    own = own_error(X, y, loss="hard", class_mean=GAMMA, queue=QUEUE)
    return {"error": 100 * wrong / len(y), "missed": 100 * missed / updates, "own": own}


def _pam(X: Array, y: Labels, count: bool = True, clip: bool = True) -> Outcome:
    """Run PAm-1; return how often alpha is negative, and the excess over the minimum of (2)."""
    w, means, seen, wrong = np.zeros(X.shape[1]), _none(X), {1: 0, -1: 0}, 0
    updates = negative = 0
    excess = []
    for x, label in zip(X, y.tolist(), strict=True):
        wrong += (w @ x > 0) != (label > 0)
        _absorb(means, seen, x, label, count)
        loss = 1 - label * (w @ x)
        if loss <= 0:
            continue
        m = means[1] - means[-1]
        alpha = min(C, (loss + GAMMA * (1 - label * (m @ x))) / (x @ x))
        updates += 1
        if alpha < 0:
            negative += 1
            moves = [(w + GAMMA * m + a * label * x) / (1 + GAMMA) for a in (alpha, 0.0)]
            as_is, best = (_objective(v, w, m, x, label) for v in moves)
            excess.append(as_is / best - 1 if not clip else 0.0)
        alpha = max(alpha, 0.0) if clip else alpha
        w = (w + GAMMA * m + alpha * label * x) / (1 + GAMMA)
    return {
        "error": 100 * wrong / len(y),
        "negative": 100 * negative / updates,
        "excess": 100 * float(np.mean(excess)) if excess else 0.0,
    }


def _objective(v: Array, w: Array, m: Array, x: Array, label: int) -> float:
    """Return the objective of problem (2), with the hinge loss."""
    pull = 0.5 * np.sum((v - w) ** 2) + 0.5 * GAMMA * np.sum((v - m) ** 2)
    return float(pull + C * max(0.0, 1 - label * (v @ x)))


def _none(X: Array) -> dict[int, Array]:
    return {1: np.zeros(X.shape[1]), -1: np.zeros(X.shape[1])}


def _absorb(
    means: dict[int, Array], seen: dict[int, int], x: Array, label: int, count: bool = True
) -> None:
    means[label] = (seen[label] * means[label] + x) / (seen[label] + 1)
    seen[label] += count


def _own(X: Array, y: Labels) -> Outcome:
    return {"own": own_error(X, y, loss="hinge", C=C, class_mean=GAMMA)}
