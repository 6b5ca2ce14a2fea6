"""Scaling of features, the centre of a step, and the metric."""

from collections import deque

import numpy as np

from .rules import Array, Labels


class Moments:
    """Running mean and standard deviation of rows."""

    def __init__(self, size: int) -> None:
        self.rows: list[Array] = []
        self.mean, self.deviation = np.zeros(size), np.zeros(size)

    def update(self, row: Array) -> None:
        """Add a row."""
        self.rows.append(row)
        self.mean, self.deviation = np.mean(self.rows, axis=0), np.std(self.rows, axis=0)


class Scaler:
    """Scales features online.

    ``online`` divides by the root mean square of the values that were not zero; ``standard``
    subtracts the mean and divides by the standard deviation; ``none`` does nothing.
    """

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.moments = Moments(size)

    def learn(self, row: Array) -> Array:
        """Count a row, then return it scaled."""
        if self.kind == "none":
            return row
        self.moments.update(row)
        return (row - self.centre) * self.factor

    @property
    def centre(self) -> Array:
        """The value subtracted from each feature."""
        mean = self.moments.mean
        return mean if self.kind == "standard" else np.zeros_like(mean)

    @property
    def factor(self) -> Array:
        """The factor of each feature; 0 for a constant one."""
        if self.kind == "none":
            return np.ones_like(self.moments.mean)
        size = self.moments.deviation
        if self.kind == "online" and self.moments.rows:
            rows = np.array(self.moments.rows)
            seen = np.count_nonzero(rows, axis=0)
            size = np.sqrt(np.sum(rows**2, axis=0) / np.maximum(seen, 1))
        return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)


FORGOTTEN = 0.01  # of an example
METRICS = ("euclidean", "diagonal", "adagrad", "newton", "full")


class Metric:
    """||v||^2 = v' P v with a precision P = Sigma^-1 that starts at 1 and grows with each update.

    ``euclidean`` never grows, ``diagonal`` stores a vector, ``full`` a matrix (paper 001, eq. 9).
    ``adagrad`` uses the square root of that of ``diagonal``. ``newton`` stores a vector that grows
    before the update, by the squared loss.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import Metric
    >>> metric = Metric("diagonal", 2)
    >>> metric.grow(np.array([1.0, 0.0]))
    >>> metric.times_sigma(np.array([[1.0, 1.0]])).tolist()
    [[0.5, 1.0]]
    """

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.precision = np.eye(size) if kind == "full" else np.ones(size)

    def times_sigma(self, rows: Array) -> Array:
        """Sigma x for every row x."""
        if self.kind == "full":
            return np.asarray(np.linalg.solve(self.precision, rows.T).T)
        return rows / (np.sqrt(self.precision) if self.kind == "adagrad" else self.precision)

    def grow(self, x: Array, kappa: float = 1.0, forgetting: float = 0.0) -> None:
        """P += kappa x x', or its diagonal, after the used part of P - 1 decays."""
        if self.kind == "full":
            self.precision = self.precision + kappa * np.outer(x, x)
        elif self.kind != "euclidean":
            kept = 1 + (1 - forgetting) * (self.precision - 1)
            used = x != 0  # avoid 0 * inf
            self.precision = self.precision.copy()
            self.precision[used] = kept[used] + kappa * x[used] ** 2

    def rescale_last(self, factor: float) -> None:
        """Multiply the last feature by a factor and adjust the growth of its precision."""
        last = (-1, -1) if self.kind == "full" else -1
        if self.kind != "euclidean":
            self.precision[last] = 1 + factor**2 * (self.precision[last] - 1)


class ClassMeans:
    """Weighted mean of the examples of each class; 0 if there are none.

    About 1/forgetting examples are remembered. A class is forgotten when its remaining examples
    weigh less than a hundredth of one example.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import ClassMeans
    >>> means = ClassMeans(2, 1)
    >>> means.update(np.array([[1.0], [3.0]]), np.array([1, 1]), np.ones(2))
    >>> means.classifier(None).tolist()
    [[0.0], [2.0]]
    """

    def __init__(self, n_classes: int, size: int) -> None:
        self.sums = np.zeros((n_classes, size))
        self.weights = np.zeros(n_classes)
        self.forgotten = 0.0  # a share of all weights
        self.frozen = False

    def update(self, rows: Array, classes: Labels, weights: Array, forgetting: float = 0.0) -> None:
        """Add examples to the means unless they are frozen; earlier ones decay."""
        self.forgotten = FORGOTTEN * forgetting
        for row, label, weight in zip(rows, classes, weights, strict=True):
            if not self.frozen:
                self.sums *= 1 - forgetting
                self.weights *= 1 - forgetting
                self.sums[label] += weight * row
                self.weights[label] += weight

    def classifier(self, constant: float | None) -> Array:
        """Return the nearest-centroid classifier: rows m_u, intercepts -||m_u||^2 / 2."""
        met = self.weights > self.forgotten * self.weights.sum()
        means = np.where(met[:, None], self.sums / np.where(met, self.weights, 1.0)[:, None], 0.0)
        if constant is not None:
            means[:, -1] = -np.sum(means[:, :-1] ** 2, axis=1) / 2 / constant
        return means


class Centre:
    """c = (mean of the last Q weights + gamma m) / (1 + gamma): PAm and PAmW (paper 000, eq. 2).

    min 1/2 ||w - wbar||^2 + gamma/2 ||w - m||^2 + C penalty  is a PA step from c with
    C / (1 + gamma); gamma = 0 and Q = 1 give c = w.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import Centre
    >>> Centre(gamma=1.0, length=1).move(np.array([0.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(self, gamma: float, length: int) -> None:
        self.gamma = gamma
        self.queue: deque[Array] = deque(maxlen=length)

    def move(self, weights: Array, pull: Array) -> Array:
        """Append the current weights to the queue and return the centre."""
        self.queue.append(weights)
        return np.asarray((np.mean(self.queue, axis=0) + self.gamma * pull) / (1 + self.gamma))
