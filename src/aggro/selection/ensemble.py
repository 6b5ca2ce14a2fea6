"""The joint answer of a race that has just begun: all its lanes have a part in it.

Who is best is a matter of chance after a few examples, and a mean of all errs less than the lane
that happens to lead. The last weights of a lane and their mean speak apart. The weight of a voice
falls with how wrong its margins were, and these count in units of their usual size
(``core/linear/ensemble.hpp``). A mean of linear models is a linear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner
from aggro.settings import Settings

# Examples of a race that are answered jointly. On 19 sets of two classes that is worth almost as
# much as joint answers without an end (0.965 and 0.961 times the mistakes of the leader). With
# several classes it is level (0.998 times), and means of regressions are farther off (1.035 times).
EXAMPLES = 1024


def may_begin(settings: Settings, learners: Sequence[Learner]) -> bool:
    """Tell whether a race begins with a joint answer: of two classes, more than C to be chosen."""
    return settings.task == "binary" and settings.C == "auto" and len(learners) > 1


def answers(learners: Sequence[Learner]) -> bool:
    """Tell whether these learners answer jointly."""
    return any(each.model.answers_jointly for each in learners)


def join(learners: Sequence[Learner], jointly: bool) -> None:
    """Let each lane have the part that it has earned, or none."""
    models: list[Any] = [each.model for each in learners]
    _core.join_answers(models, jointly)


@dataclass(frozen=True)
class Joint:
    """All lanes of some learners answer."""

    learners: Sequence[Learner]

    def scores(self, rows: _core.Rows, threads: int) -> Array:
        """Return the scores of rows: one column."""
        parts = [each.model.joint_score(rows, threads) for each in self.learners]
        return self._sum(parts)[:, None]

    def coef(self) -> Array:
        """Return the weights that predict: one row."""
        return self._weights()[None, :-1]

    def intercept(self) -> Array:
        """Return the intercept that predicts."""
        return self._weights()[-1:]

    def _weights(self) -> Array:
        return self._sum([each.model.joint_weights() for each in self.learners])

    def _sum(self, parts: Sequence[Array]) -> Array:
        with np.errstate(over="ignore"):  # scores of huge rows are infinite, as those of one lane
            return np.asarray(np.sum(parts, axis=0), dtype=self.learners[0].dtype)


@dataclass(frozen=True)
class Alone:
    """One lane of a learner answers."""

    learner: Learner
    lane: int

    def scores(self, rows: _core.Rows, threads: int) -> Array:
        """Return the scores of rows, one column for each output."""
        return self.learner.scores(rows, self.lane, threads)

    def coef(self) -> Array:
        """Return the weights that predict, outputs x features."""
        return self.learner.coef(self.lane)

    def intercept(self) -> Array:
        """Return the intercepts that predict."""
        return self.learner.intercept(self.lane)
