"""The course of a race: when it is looked at, and whether its stream has changed.

A race that has settled follows one learner, whose steps have become small. When the stream changes,
a learner that knows nothing may soon be better: the race then begins anew, beside the leader.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aggro.learn.grids import is_settled, next_look

PATIENCE = 2048  # examples of a race before which a change cannot be told from learning
# What the examples since the last look must cost, compared with those before, to be a change. On 25
# real sets of 3000 rows or more in random order, three orders each, none was noticed.
WORSE, DEVIATIONS = 1.2, 3.5  # times the mistakes, and beyond that as many standard deviations
WINDOW = 4096  # examples that are usual, about
FARTHER = 1.5  # times the distance, of a regression


@dataclass(frozen=True)
class Course:
    """How far a race has come."""

    began: int = 0  # examples before its first
    next_look: int = next_look(0)
    looked: tuple[int, float] = (0, 0.0)  # examples and their cost at the last settled look
    usual: float = 0.0  # cost of an example, of those before
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

    def after_settling(self, examples: int, cost: float, regression: bool) -> Course:
        """Return the course after a settled look, by what all examples have cost until then."""
        (before, spent), raced = self.looked, self.raced(examples)
        count, made = examples - max(before, self.began), cost - spent
        share = min(1.0, count / min(raced, WINDOW))
        known = raced >= PATIENCE and before > self.began  # what is usual
        return replace(
            self.after_look(examples),
            looked=(examples, cost),
            usual=(1.0 - share) * self.usual + share * made / count,
            changed=known and is_change(count, made, self.usual, regression),
        )

    @classmethod
    def anew(cls, examples: int, cost: float) -> Course:
        """Return the course of a race that begins after so many examples at such a cost."""
        return cls(examples, examples + next_look(0), (examples, cost))


def is_change(count: int, made: float, usual: float, regression: bool) -> bool:
    """Tell whether so many examples cost so much more than usual that they are unlike those before.

    >>> is_change(1000, 100.0, 0.08, regression=False), is_change(1000, 140.0, 0.08, False)
    (False, True)
    """
    expected = count * usual
    if regression:
        return made > FARTHER * expected
    spread = math.sqrt(expected * (1.0 - usual) + 1.0)
    return made > WORSE * expected + DEVIATIONS * spread
