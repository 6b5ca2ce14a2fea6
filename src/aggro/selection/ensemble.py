"""The ensemble that predicts the first examples of a model selection, or all examples.

After a few examples it is a matter of chance which candidate is the best, and a mean of all has
fewer errors. The last weights of a candidate and their mean are separate members. The weight of a
member falls with the errors of its margins, which count in units of their usual size
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


def may_begin(settings: Settings, learners: Sequence[Learner]) -> bool:
    """Return True if an ensemble predicts first: of two classes, if more than C is selected."""
    return settings.task == "binary" and settings.C == "auto" and len(learners) > 1


def predicts(learners: Sequence[Learner]) -> bool:
    """Return True if an ensemble of these learners predicts."""
    return any(each.model.forms_ensemble for each in learners)


def weight(learners: Sequence[Learner], predict: bool) -> None:
    """Set the weight of each candidate in the ensemble by its errors, or end the ensemble."""
    models: list[Any] = [each.model for each in learners]
    _core.set_ensemble_weights(models, predict)


@dataclass(frozen=True)
class Ensemble:
    """All candidates of some learners predict."""

    learners: Sequence[Learner]

    @property
    def learner(self) -> Learner:
        """One of the learners, which all have the same representation."""
        return self.learners[0]

    def scores(self, rows: _core.Rows, threads: int) -> Array:
        """Return the scores of rows: one column."""
        parts = [each.model.ensemble_score(rows, threads) for each in self.learners]
        return self._sum(parts)[:, None]

    def coef(self) -> Array:
        """Return the weights that predict: one row."""
        return self._weights()[None, :-1]

    def intercept(self) -> Array:
        """Return the intercept that predicts."""
        return self._weights()[-1:]

    def _weights(self) -> Array:
        return self._sum([each.model.ensemble_coefficients() for each in self.learners])

    def _sum(self, parts: Sequence[Array]) -> Array:
        with np.errstate(over="ignore"):  # scores of huge rows are infinite
            return np.asarray(np.sum(parts, axis=0), dtype=self.learners[0].dtype)


@dataclass(frozen=True)
class Single:
    """One candidate of a learner predicts."""

    learner: Learner
    candidate: int

    def scores(self, rows: _core.Rows, threads: int) -> Array:
        """Return the scores of rows, one column for each output."""
        return self.learner.scores(rows, self.candidate, threads)

    def coef(self) -> Array:
        """Return the weights that predict, outputs x features."""
        return self.learner.coef(self.candidate)

    def intercept(self) -> Array:
        """Return the intercepts that predict."""
        return self.learner.intercept(self.candidate)
