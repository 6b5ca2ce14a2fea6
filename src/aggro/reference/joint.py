"""The ensemble prediction of a model selection with two classes (docs/tuning.md)."""

import numpy as np

from .rules import Array

STRETCHES = np.array([0.5, 1.0, 2.0, 4.0])
RATE = 2.0


class JointAnswer:
    """The losses of several rivals' margins, and the coefficient of each in the prediction.

    A margin m, in units of its mean size and stretched, is the chance (1 + m / sqrt(1 + m^2)) / 2
    of the second class. A rival loses the square of the chance it gave to the wrong class, by the
    stretch that loses least. The prediction is a weighted mean of margins in these units. Examples
    count by their weights; losses, in units of the mean weight sum w^2 / sum w.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro.reference import JointAnswer
    >>> joint = JointAnswer(voices=2)
    >>> for _ in range(3):
    ...     joint.judge(np.array([1.0, -10.0]), 1.0)
    >>> first, second = joint.parts()
    >>> bool(first > 1000 * second > 0)
    True
    """

    def __init__(self, voices: int, memory: float = 1.0) -> None:
        self.memory, self.weight, self.squares = memory, 0.0, 0.0
        self.sizes, self.losses = np.zeros(voices), np.zeros((voices, len(STRETCHES)))

    def units(self) -> Array:
        """Return the mean sizes of the margins: one while nothing is known."""
        sizes = self.sizes / self.weight if self.weight else self.sizes
        return np.where(sizes > 0, sizes, 1.0)

    def judge(self, margins: Array, y: float, weight: float = 1.0) -> None:
        """Take the margins that the rivals gave to an example before it was learned."""
        z = (y * margins / self.units())[:, None] * STRETCHES
        wrong = (1.0 - z / np.sqrt(1.0 + z**2)) / 2.0
        self.losses = self.memory * self.losses + weight * wrong**2
        self.sizes = self.memory * self.sizes + weight * np.abs(margins)
        self.weight = self.memory * self.weight + weight
        self.squares = self.memory * self.squares + weight**2

    def parts(self) -> Array:
        """Return the coefficient of each rival's margin in the prediction."""
        best = np.argmin(self.losses, axis=1)
        least = self.losses.min(axis=1) / (self.squares / self.weight if self.weight else 1.0)
        weights = np.exp(RATE * (least.min() - least))
        return np.asarray(weights / weights.sum() / (self.units() / STRETCHES[best]))
