"""Features brought to one scale by what was seen of them so far."""

import numpy as np

from .rules import Array


class Moments:
    """Mean and standard deviation of rows of numbers that come one at a time."""

    def __init__(self, size: int) -> None:
        self.rows: list[Array] = []
        self.mean, self.deviation = np.zeros(size), np.zeros(size)

    def meet(self, row: Array) -> None:
        """Count one more row."""
        self.rows.append(row)
        self.mean, self.deviation = np.mean(self.rows, axis=0), np.std(self.rows, axis=0)


class Scaler:
    """Brings features to one scale.

    ``online`` divides by the root mean square of the values that were not zero; ``standard`` takes
    the mean away and divides by the standard deviation; ``none`` does nothing.
    """

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.moments = Moments(size)

    def learn(self, row: Array) -> Array:
        """Count a row, then return it scaled."""
        if self.kind == "none":
            return row
        self.moments.meet(row)
        return (row - self.centre) * self.factor

    @property
    def centre(self) -> Array:
        """What is taken away from each feature."""
        mean = self.moments.mean
        return mean if self.kind == "standard" else np.zeros_like(mean)

    @property
    def factor(self) -> Array:
        """What each feature is multiplied by; 0 if it never said anything."""
        if self.kind == "none":
            return np.ones_like(self.moments.mean)
        size = self.moments.deviation
        if self.kind == "online" and self.moments.rows:
            rows = np.array(self.moments.rows)
            seen = np.count_nonzero(rows, axis=0)
            size = np.sqrt(np.sum(rows**2, axis=0) / np.maximum(seen, 1))
        return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
