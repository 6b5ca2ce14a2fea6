"""The joint answer of a race of two classes: a mean of many margins (docs/tuning.md)."""

import numpy as np

from .rules import Array

STRETCHES = np.array([0.5, 1.0, 2.0, 4.0])
RATE = 2.0


class JointAnswer:
    """How wrong the margins of each voice were, and what part it has in the answer by that.

    A margin m, in units of its usual size and stretched, is the chance (1 + m / sqrt(1 + m^2)) / 2
    of the second class. A voice loses the square of the chance it gave to the wrong class, by the
    stretch that loses least.

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
        self.memory, self.examples = memory, 0.0
        self.sizes, self.losses = np.zeros(voices), np.zeros((voices, len(STRETCHES)))

    def units(self) -> Array:
        """Return the usual sizes of the margins: one while nothing is known."""
        sizes = self.sizes / max(self.examples, 1.0)
        return np.where(sizes > 0, sizes, 1.0)

    def judge(self, margins: Array, y: float) -> None:
        """Take the margins that the voices gave to an example, before it was learned."""
        z = (y * margins / self.units())[:, None] * STRETCHES
        wrong = (1.0 - z / np.sqrt(1.0 + z**2)) / 2.0
        self.losses = self.memory * self.losses + wrong**2
        self.sizes = self.memory * self.sizes + np.abs(margins)
        self.examples = self.memory * self.examples + 1.0

    def parts(self) -> Array:
        """Return what the margin of each voice is multiplied by in the joint answer."""
        best = np.argmin(self.losses, axis=1)
        least = self.losses.min(axis=1)
        weights = np.exp(RATE * (least.min() - least))
        weights /= weights.sum()
        units = self.units() / STRETCHES[best]
        return np.asarray(weights / units * units[np.argmin(least)])
