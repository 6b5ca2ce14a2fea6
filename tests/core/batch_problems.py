"""Mini-batches of all kinds, and the optimality conditions of their solution."""

from dataclasses import dataclass

import numpy as np

from aggro import _core

LOSSES = ("hinge", "squared_hinge", "hard", "least_squares")
SHAPES = ("plain", "flat", "copies", "scaled", "zeros")


def rule(loss, C=1.0, epsilon=0.1):
    numbers = {
        "hard": {},
        "hinge": {"cap": C},
        "squared_hinge": {"ridge": 1 / (2 * C)},
        "least_squares": {"lo": -np.inf, "ridge": 1 / (2 * C)},
    }
    return _core.Rule(epsilon=epsilon, **numbers[loss])


@dataclass
class Batch:
    """One problem: rows as a Gram matrix, scores at the centre, targets and weights."""

    task: str
    loss: str
    gram: np.ndarray
    scores: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    C: float = 1.0
    epsilon: float = 0.1

    def solve(self):
        task = getattr(_core.Task, self.task)
        rule_of_loss = rule(self.loss, self.C, self.epsilon)
        count = self.scores.shape[1]
        group = _core.Group(
            first=0, count=count, task=task, positive=int(self.task == "margin"), rule=rule_of_loss
        )
        labels, values = self.y, None
        if self.task == "tube":
            labels, values = None, self.y[:, None].copy()
        return _core.solve_batch(group, self.gram, self.scores, labels, values, self.weights)

    @property
    def caps(self):
        return self.C * self.weights if self.loss == "hinge" else np.full(len(self.y), np.inf)

    @property
    def ridges(self):
        soft = self.loss in ("squared_hinge", "least_squares")
        return 1 / (2 * self.C * self.weights) if soft else np.zeros(len(self.y))

    def directions(self):
        """Return the direction of each example over the outputs, for one constraint each."""
        if self.task == "tube":
            return np.ones((len(self.y), 1))
        if self.task == "margin":
            return np.where(self.y == 1, 1.0, -1.0)[:, None]
        one_hot = np.eye(self.scores.shape[1])
        true = one_hot[self.y]
        return true - one_hot[np.argmax(np.where(true > 0, -np.inf, self.scores), axis=1)]

    def takes_part(self):
        wrong = np.argmax(self.scores, axis=1) != self.y
        return wrong if self.task == "predicted" else np.ones(len(self.y), dtype=bool)

    def dual(self):
        """Return Q, linear term, width of the tube, lower and upper bounds, per example."""
        D = self.directions()
        Q = self.gram * (D @ D.T) + np.diag(self.ridges * (np.diag(self.gram) > 0))
        tube = self.task == "tube"
        linear = self.y - self.scores[:, 0] if tube else 1 - np.sum(D * self.scores, axis=1)
        width = self.epsilon if tube and self.loss != "least_squares" else 0.0
        part = self.takes_part() & (np.diag(self.gram) > 0)
        upper = np.where(part, self.caps, 0)
        free_below = tube or self.loss == "least_squares"
        return Q, linear, width, -upper if free_below else np.zeros_like(upper), upper


def kkt_violation(batch, tau):
    """Return the largest violation of the optimality conditions, relative to cancelling terms."""
    if batch.task == "support":
        return support_violation(batch, tau)
    Q, linear, width, lower, upper = batch.dual()
    D = batch.directions()
    t = np.sum(tau * D, axis=1) / np.sum(D * D, axis=1)
    assert np.allclose(tau, t[:, None] * D, rtol=1e-12, atol=0)
    assert np.all(t >= lower * (1 + 1e-12)) and np.all(t <= upper * (1 + 1e-12))
    gradient = linear - Q @ t
    size = np.abs(linear) + width + np.abs(Q) @ np.abs(t)
    up = np.where(t >= 0, gradient - width, gradient + width)  # slope to the right
    down = np.where(t > 0, gradient - width, gradient + width)  # slope to the left
    wrong = np.maximum(np.where(t < upper * (1 - 1e-12), up, 0), 0)
    wrong = np.maximum(wrong, np.where(t > lower * (1 - 1e-12), -down, 0))
    return np.max(wrong / size)


def support_violation(batch, tau):
    """Return the violation of: losses of wrong classes at most the slack, equal if they move."""
    B, y = len(batch.y), batch.y
    rows = np.arange(B)
    after = batch.scores + batch.gram @ tau
    losses = 1 - after[rows, y][:, None] + after
    total = tau[rows, y].copy()
    wrong = np.ones_like(tau, dtype=bool)
    wrong[rows, y] = False
    size = 1 + np.abs(batch.scores).max(axis=1) + (np.abs(batch.gram) @ np.abs(tau)).max(axis=1)
    noise = 1e-13 * size / np.maximum(np.diag(batch.gram), np.finfo(float).tiny)  # of a tau
    assert np.all(tau <= np.where(wrong, noise[:, None], np.inf))
    assert np.all(np.abs(tau.sum(axis=1)) <= noise * tau.shape[1])
    assert np.all(total <= batch.caps * (1 + 1e-12))
    worst = np.where(wrong, losses, -np.inf).max(axis=1)
    xi = batch.ridges * total
    xi = np.where(total >= batch.caps * (1 - 1e-12), np.maximum(worst, 0), xi)
    above = np.maximum(worst - xi, 0)
    active = wrong & (tau < -100 * noise[:, None])
    apart = np.where(active, np.abs(losses - xi[:, None]), 0).max(axis=1)
    still = np.diag(batch.gram) == 0
    return np.max(np.where(still, 0, np.maximum(above, apart)) / size)


def rows_of_shape(rng, shape, count):
    """Return rows: independent, dependent, equal, of lengths from 1e-4 to 1e4, some zero."""
    features = max(1, count // 3) if shape == "flat" else count + 3
    X = rng.normal(size=(count, features))
    if shape == "copies":
        X = X[rng.integers(0, max(1, count // 2), count)]
    if shape == "scaled":
        X *= 10.0 ** rng.uniform(-4, 4, size=(count, 1))
    if shape == "zeros":
        X *= rng.random((count, 1)) < 0.7
    return X


def random_batch(rng, task, loss, shape, count, classes=5):
    X = rows_of_shape(rng, shape, count)
    same = np.arange(count)
    if shape == "copies":  # equal rows with equal targets are feasible
        same = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    outputs = 1 if task in ("margin", "tube") else classes
    scores = X @ rng.normal(size=(X.shape[1], outputs)) + rng.normal()
    labels = rng.integers(0, 2 if task == "margin" else classes, count)[same]
    y = rng.normal(size=count)[same] * 3 if task == "tube" else labels.astype(np.int64)
    gram = X @ X.T + (0.0 if shape == "zeros" else float(rng.integers(0, 2)))
    weights = rng.choice([0.5, 1.0, 3.0], count)
    return Batch(task, loss, gram, scores, y, weights, C=float(10.0 ** rng.uniform(-2, 2)))
