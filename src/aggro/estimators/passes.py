"""Passes over the same rows: how many, in which order, and when they end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from aggro._core import permutation
from aggro.checks import check_count, check_number
from aggro.estimators.stopping import Patience
from aggro.learn.learner import Array


class Teach(Protocol):
    """Lets a learner learn rows in an order; ``again``: it knows them from the last pass."""

    def __call__(self, order: Array | None, *, again: bool) -> None:
        """Teach."""


@dataclass(frozen=True)
class Passes:
    """The schedule of ``fit``: its parameters, and the loop that follows them."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool
    random_state: Any
    verbose: int

    @classmethod
    def of(cls, estimator: Any) -> Passes:
        """Return the schedule that the parameters of an estimator ask for."""
        return cls(**{each.name: getattr(estimator, each.name) for each in fields(cls)})

    def check(self) -> None:
        """Raise where a parameter is not valid."""
        check_count("max_iter", self.max_iter)
        if self.tol is not None:
            check_number("tol", self.tol, above=-np.inf)
        check_count("n_iter_no_change", self.n_iter_no_change)

    def run(
        self,
        learner: Any,
        rows: int,
        teach: Teach,
        held_out: Array | None = None,
        validate: Callable[[Any], float] | None = None,
    ) -> int:
        """Learn pass after pass until nothing improves; return the number of passes."""
        random = check_random_state(self.random_state)
        count = rows - (0 if held_out is None else len(held_out))
        tol = -np.inf if self.tol is None else self.tol * (1 if validate else count)
        patience = Patience(tol, self.n_iter_no_change)
        for epoch in range(1, self.max_iter + 1):
            before = learner.progress.loss
            teach(self._order(random, rows, held_out), again=epoch > 1)
            learner.freeze_means()  # the same rows may come again
            loss = learner.progress.loss - before
            self._report(epoch, learner, loss / count)
            quality = validate(learner) if validate else -loss
            if patience.ends_with(quality) and self.tol is not None:
                break
        else:
            if self.tol is not None:
                self.warn_of_end()
        learner.freeze_means(False)  # what comes later is new
        return epoch

    def _order(self, random: Any, rows: int, held_out: Array | None) -> Array | None:
        order = permutation(rows, random.randint(2**31 - 1)) if self.shuffle else None
        if held_out is None:
            return order
        order = np.arange(rows) if order is None else order
        return order[~np.isin(order, held_out)]

    def _report(self, epoch: int, learner: Any, loss: float) -> None:
        if self.verbose:
            norm = float(np.linalg.norm(learner.coef()))
            print(
                f"-- Epoch {epoch}: norm {norm:.6g}, examples {learner.examples}, loss {loss:.6g}"
            )

    def warn_of_end(self, stacklevel: int = 7) -> None:
        """Warn whoever called ``fit`` that the passes have ended before nothing improved."""
        warnings.warn(
            f"Maximum number of passes ({self.max_iter}) reached before convergence; raise "
            "max_iter, or set tol=None to make a fixed number of passes.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
