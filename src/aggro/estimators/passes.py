"""Passes over the same rows: how many, in which order, and when they end."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from aggro._core import permutation
from aggro.checks import check_count, check_number
from aggro.estimators.judges import ByLoss
from aggro.learner import Array
from aggro.sklearn_api import check_random_state, check_seed, exception


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
        check_seed(self.random_state)

    def by_loss(self) -> ByLoss:
        """Return the judge that goes by the loss of the passes alone."""
        return ByLoss(self.needed, self.n_iter_no_change)

    @property
    def needed(self) -> float:
        """What a pass must be better by."""
        return -np.inf if self.tol is None else self.tol

    def run(self, learner: Any, rows: int, teach: Teach, judge: ByLoss | None = None) -> int:
        """Learn pass after pass until nothing improves; return the number of passes."""
        random = check_random_state(self.random_state) if self.shuffle else None
        judge = judge or self.by_loss()
        total = learner.progress.loss
        for epoch in range(1, self.max_iter + 1):
            before, examples = total, learner.examples
            order = self._order(random, rows, judge.held_out)
            judge.before_pass(learner)
            teach(order, again=epoch > 1)
            last = epoch == self.max_iter
            learner.freeze_means(not last)  # the same rows may come again
            learned = learner.examples - examples  # rows of weight zero are absent
            total = learner.progress.loss
            loss = (total - before) / max(1, learned)
            self._report(epoch, learner, loss)
            over = judge.ends(learner, loss) and self.tol is not None
            if over:
                break
        else:
            if self.tol is not None:
                self.warn_of_end()
        learner.freeze_means(False)  # what comes later is new
        judge.finish(learner, functools.partial(teach, again=True))
        return epoch

    def _order(self, random: Any, rows: int, held_out: Array | None) -> Array | None:
        """Return the order of a pass over the rows that are not held out; None: as they are."""
        learned = None
        if held_out is not None:
            there = np.ones(rows, bool)
            there[held_out] = False
            learned = np.flatnonzero(there)
        if not self.shuffle:
            return learned
        count = rows if learned is None else len(learned)
        order = permutation(count, random.randint(2**31 - 1))
        return order if learned is None else learned[order]

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
            exception("ConvergenceWarning"),
            stacklevel=stacklevel,
        )
