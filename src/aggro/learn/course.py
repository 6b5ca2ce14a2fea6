"""The course of a race: when it is looked at, and whether its stream has changed.

A race that has settled follows one learner, whose steps have become small. When the stream changes,
a learner that knows nothing may soon be better: the race then begins anew, beside the leader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aggro.learn.grids import is_settled, next_look

PATIENCE = 2048  # examples of a race before which a change cannot be told from learning
# What the examples since the last look must cost, compared with those before, to be a change. On 28
# real sets of 3000 rows or more in random order, three orders each, none was noticed.
WORSE, DEVIATIONS = 1.2, 4.0  # times the mistakes, and beyond that as many standard deviations
FARTHER = 1.5  # times the distance, of a regression


@dataclass(frozen=True)
class Course:
    """How far a race has come."""

    began: int = 0  # examples before its first
    next_look: int = next_look(0)
    looked: tuple[int, float] = (0, 0.0)  # examples and their cost at the last settled look
    changed: bool = False  # the stream has: beginners join with the next example

    def raced(self, examples: int) -> int:
        """Return how many examples this race has had, of so many in all."""
        return examples - self.began

    def settles(self, examples: int) -> bool:
        """Tell whether a look after so many examples may do more than follow the unit."""
        return is_settled(self.raced(examples), self.next_look - self.began)

    def after_look(self, examples: int) -> Course:
        """Return the course when somebody has looked."""
        return replace(self, next_look=self.began + next_look(self.raced(examples)))

    def after_settling(
        self, examples: int, cost: float, record: Sequence[float], regression: bool
    ) -> Course:
        """Return the course after a settled look, by what all examples have cost until then.

        ``record`` is the leader's recent one, the examples since the last look included.
        """
        count, made = examples - self.looked[0], cost - self.looked[1]
        patient = self.raced(examples) >= PATIENCE and self.looked[0] > self.began
        changed = patient and is_change(count, made, record, regression)
        return replace(self.after_look(examples), looked=(examples, cost), changed=changed)

    @classmethod
    def anew(cls, examples: int) -> Course:
        """Return the course of a race that begins after so many examples."""
        return cls(began=examples, next_look=examples + next_look(0))


def is_change(count: int, made: float, record: Sequence[float], regression: bool) -> bool:
    """Tell whether so many examples cost so much more than those before that they are unlike them.

    >>> is_change(1000, 100.0, (0, 320.0, 0.0, 4000.0), regression=False)
    False
    >>> is_change(1000, 140.0, (0, 360.0, 0.0, 4000.0), regression=False)
    True
    """
    _, mistakes, distance, recent = record
    before = recent - count
    if before <= 0:
        return False
    if regression:
        return made * before > FARTHER * count * max(distance - made, 0.0)
    share = max(mistakes - made, 0.0) / before
    usual = count * share
    return made > WORSE * usual + DEVIATIONS * math.sqrt(usual * (1.0 - share) + 1.0)
