"""The optimisation problem of one round, independent of the solving code."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Round:
    """min 1/2|W - recent|^2 + gamma/2 |W - pull|^2 + sum C omega penalty(xi), in a metric."""

    kind: str
    loss: str
    C: float
    epsilon: float
    recent: np.ndarray
    pull: np.ndarray
    gamma: float
    precision: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    omega: np.ndarray

    @property
    def centre(self):
        return (self.recent + self.gamma * self.pull) / (1 + self.gamma)

    def norm2(self, D):
        P = self.precision
        return np.sum((D @ P if P.ndim == 2 else D * P) * D)

    def violations(self, W):
        """Return xi of each example at W; the constrained class of top and predicted is the
        centre's.
        """
        s = self.rows @ W.T
        if self.kind == "binary":
            gap = 1 - self.y * s[:, 0]
            return np.abs(gap) if self.loss == "least_squares" else np.maximum(gap, 0)
        if self.kind == "regression":
            width = 0 if self.loss == "least_squares" else self.epsilon
            return np.maximum(np.abs(self.y - s[:, 0]) - width, 0)
        at_centre = self.rows @ self.centre.T
        xi = []
        for k, y in enumerate(self.y.astype(int)):
            wrong = [v for v in range(s.shape[1]) if v != y]
            if self.kind != "support":
                predicted_right = np.argmax(at_centre[k]) == y
                wrong = [max(wrong, key=lambda v: at_centre[k][v])]
                if self.kind == "predicted" and predicted_right:
                    wrong = []
            gap = max([1 - s[k, y] + s[k, v] for v in wrong], default=0.0)
            xi.append(abs(gap) if self.loss == "least_squares" else max(gap, 0.0))
        return np.array(xi)

    def objective(self, W, tolerance=0.0):
        near = self.norm2(W - self.recent) / 2 + self.gamma * self.norm2(W - self.pull) / 2
        xi = self.violations(W)
        if self.loss == "hard":
            return near if np.all(xi <= tolerance) else np.inf
        power = 1 if self.loss in ("hinge", "epsilon_insensitive") else 2
        return near + self.C * np.sum(self.omega * xi**power)

    def assert_minimised_by(self, W, rng, tries=12):
        """Assert F(W + D) >= F(W) + (1 + gamma)/2 |D|^2, which holds only at the minimiser."""
        value = self.objective(W, tolerance=1e-9)
        assert np.isfinite(value), "a hard constraint is violated"
        scale = 1e-9 * (1 + abs(value))
        for _ in range(tries):
            mix = rng.normal(size=(len(W), len(self.rows))) * (rng.random(len(self.rows)) < 0.7)
            if len(W) > 1 and rng.random() < 0.7:  # +x on the true class, -x on another
                y = int(self.y[0])
                mix = np.zeros_like(mix)
                mix[y, 0], mix[(y + rng.integers(1, len(W))) % len(W), 0] = 1, -1
                mix *= rng.choice([-1, 1])
            D = mix @ self.rows * 10 ** rng.uniform(-4, 0)
            if rng.random() < 0.2:
                D += 0.1 * rng.normal(size=W.shape)
            gain = value + (1 + self.gamma) / 2 * self.norm2(D) - self.objective(W + D)
            assert gain <= scale


def class_mean_pull(history, kind, n_outputs, size, intercept):
    """Return m, the nearest-centroid classifier, from the history of (row, label, weight)."""

    def centroid(chosen):
        if not chosen:
            return np.zeros(size)
        mean = sum(w * row for row, w in chosen) / sum(w for _, w in chosen)
        if intercept:
            mean = np.append(mean[:-1], -mean[:-1] @ mean[:-1] / 2)
        return mean

    if kind == "binary":
        plus = centroid([(row, w) for row, label, w in history if label > 0])
        minus = centroid([(row, w) for row, label, w in history if label < 0])
        return (plus - minus)[None]
    return np.array(
        [centroid([(row, w) for row, lab, w in history if lab == u]) for u in range(n_outputs)]
    )


def labels_for(task, rng, n, n_outputs):
    if task == "binary":
        return rng.choice([-1.0, 1.0], n)
    if task == "multiclass":
        return rng.integers(0, n_outputs, n)
    if task == "multilabel":
        return rng.choice([-1.0, 1.0], (n, n_outputs))
    return rng.normal(size=(n, n_outputs)) * 2


def group_targets(task, coupled, y, n_outputs):
    """Return the labels of each group of outputs."""
    if coupled or task == "binary":
        return [np.asarray(y, dtype=float)]
    if task == "multiclass":
        return [np.where(np.asarray(y) == u, 1.0, -1.0) for u in range(n_outputs)]
    return list(np.asarray(y, dtype=float).T)
