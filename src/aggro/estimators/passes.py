"""Passes over the same rows: their order, their number, and the rules that end them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from aggro import _core
from aggro.checks import check_count, check_number
from aggro.learner import Array
from aggro.selection.common import Kind, choose, keep_promising, kinds_considered
from aggro.sklearn_api import check_seed, exception, random_seeds
from aggro.training_batch import TrainingBatch
from aggro.transaction import Checkpoint

# Qualities of the candidates of a learner on held-out rows; the predicting one is first.
Qualities = Callable[[Any], dict[Any, float]]


class Train(Protocol):
    """A function that learns rows in an order; ``again``: they are known from an earlier pass."""

    def __call__(self, order: Array | None, *, again: bool) -> None:
        """Learn the rows."""


@dataclass(frozen=True)
class Passes:
    """The parameters of the passes of ``fit``, and the loop over them."""

    max_iter: int
    tol: float | None
    n_iter_no_change: int
    shuffle: bool
    random_state: Any
    verbose: int

    @classmethod
    def of(cls, estimator: Any) -> Passes:
        """Return the passes for the parameters of an estimator; raise if one is invalid."""
        passes = cls(**{each.name: getattr(estimator, each.name) for each in fields(cls)})
        check_count("max_iter", passes.max_iter)
        if passes.tol is not None:
            check_number("tol", passes.tol, above=-np.inf)
        check_count("n_iter_no_change", passes.n_iter_no_change)
        check_seed(passes.random_state)
        return passes

    @property
    def patience(self) -> tuple[float, int]:
        """The required improvement, and the number of passes without it before ``fit`` ends."""
        return -np.inf if self.tol is None else self.tol, self.n_iter_no_change

    def run(
        self,
        learner: Any,
        batch: TrainingBatch,
        rule: StopByLoss | None = None,
        train: Train | None = None,
    ) -> int:
        """Learn pass after pass until a rule ends them; return the number of passes.

        ``train`` replaces ``batch.train``.
        """
        if batch.weights is not None and not batch.weights.any():
            raise ValueError("The weights of all rows are zero; give at least one positive weight.")
        seeds = random_seeds(self.random_state)
        rule = rule or StopByLoss(*self.patience)
        train = train or functools.partial(batch.train, learner)
        learned, total = _all_but(rule.held_out, batch.count), learner.progress.loss
        for epoch in range(1, self.max_iter + 1):
            before, examples = total, learner.examples
            rule.before_pass(learner)
            train(self._order(seeds, batch.count, learned), again=epoch > 1)
            last = epoch == self.max_iter
            learner.freeze_means(not last)  # the same rows may follow
            total = learner.progress.loss
            loss = (total - before) / max(1, learner.examples - examples)  # of weighted rows
            self._report(epoch, learner, loss)
            if rule.ends(learner, loss) and self.tol is not None:
                break
        else:
            if self.tol is not None and not rule.trial:
                self.warn_not_converged()
        learner.freeze_means(False)  # later rows are new
        rule.finish(learner, functools.partial(train, again=True))
        return epoch

    def _order(self, seeds: Iterator[int], rows: int, learned: Array | None) -> Array | None:
        """Return the order of a pass over the given rows, or all; None keeps the order."""
        if not self.shuffle:
            return learned
        return permutation(rows if learned is None else learned, next(seeds))

    def _report(self, epoch: int, learner: Any, loss: float) -> None:
        if self.verbose:
            norm = float(np.linalg.norm(learner.coef()))
            print(
                f"-- Epoch {epoch}: norm {norm:.6g}, examples {learner.examples}, loss {loss:.6g}"
            )

    def warn_not_converged(self, stacklevel: int = 5) -> None:
        """Warn the caller of ``fit`` that ``max_iter`` was reached before convergence."""
        warnings.warn(
            f"Maximum number of passes ({self.max_iter}) reached before convergence; raise "
            "max_iter, or set tol=None to make a fixed number of passes.",
            exception("ConvergenceWarning"),
            stacklevel=stacklevel,
        )


def permutation(rows: Array | int, seed: int) -> Array:
    """Return rows, or the numbers below a count, in random order."""
    order = np.arange(rows, dtype=np.int64) if isinstance(rows, int) else rows.copy()
    _core.shuffle(order, seed)
    return order


def _all_but(held_out: Array | None, rows: int) -> Array | None:
    """Return the rows that are not held out; None: all."""
    if held_out is None:
        return None
    learned = np.ones(rows, bool)
    learned[held_out] = False
    return np.flatnonzero(learned)


class Patience:
    """Detect a number of consecutive passes without improvement.

    A pass improves when its quality is at least the best so far plus ``needed``.

    >>> patience = Patience(needed=0.5, passes=2)
    >>> [patience.ends_with(quality) for quality in (1.0, 1.5, 1.75, 1.875)]
    [False, False, False, True]
    """

    def __init__(self, needed: float, passes: int) -> None:
        self.needed, self.passes = needed, passes
        self.best, self.idle = -np.inf, 0

    def ends_with(self, quality: float) -> bool:
        """Return whether a pass of this quality is the last; NaN is no improvement."""
        improved = quality > -np.inf and quality >= self.best + self.needed
        self.idle = 0 if improved else self.idle + 1
        self.best = max(self.best, quality) if quality == quality else self.best
        return self.idle >= self.passes


class StopByLoss:
    """End the passes when the mean progressive loss stops decreasing."""

    held_out: Array | None = None  #: rows that the passes do not learn
    trial = False  #: whether the learner is discarded

    def __init__(self, tol: float, passes: int) -> None:
        self.patience = Patience(tol, passes)

    def ends(self, learner: Any, loss: float) -> bool:
        """Return whether the last pass was the final one."""
        return self.patience.ends_with(-loss)

    def before_pass(self, learner: Any) -> None:
        """Prepare for the next pass."""

    def finish(self, learner: Any, learn: Callable[[Array], None]) -> None:
        """Complete ``fit``; ``learn`` trains the learner on held-out rows."""


class StopByHeldOutRows(StopByLoss):
    """End the passes by the quality on rows that are never learned, like scikit-learn."""

    def __init__(self, held_out: Array, qualities: Qualities, tol: float, passes: int) -> None:
        super().__init__(tol, passes)
        self.held_out, self.qualities = held_out, qualities

    def quality(self, learner: Any) -> float:
        """Return the quality of the candidate that predicts."""
        predicts, *_ = self.qualities(learner).values()
        return predicts

    def ends(self, learner: Any, loss: float) -> bool:
        """Return whether the last pass was the final one."""
        return self.patience.ends_with(self.quality(learner))


class EvaluatePasses(StopByLoss):
    """Record the qualities of the candidates on held-out rows after each pass.

    The passes end when ``passes`` of them in a row have not improved the best quality by ``tol``,
    or, with ``needs_loss``, the training loss.
    """

    trial = True

    def __init__(
        self,
        held_out: Array,
        qualities: Qualities,
        tol: float,
        passes: int,
        *,
        needs_loss: bool = True,
    ) -> None:
        super().__init__(tol if needs_loss else -np.inf, passes)
        self.held_out, self.qualities = held_out, qualities
        self.improvement = Patience(tol, passes)
        self.record: list[dict[Any, float]] = []

    def ends(self, learner: Any, loss: float) -> bool:
        """Evaluate the candidates after a pass; return whether it was the last one."""
        self.record.append(self.qualities(learner))
        converged = super().ends(learner, loss)
        return self.improvement.ends_with(max(self.record[-1].values())) or converged


class StopAfterPass(StopByLoss):
    """End after a pass that trials have selected, with the best candidate of their kind."""

    def __init__(self, number: int, kind: Kind, max_iter: int) -> None:
        super().__init__(-np.inf, max_iter)
        self.left = number if number < max_iter else np.inf  # more passes may be better
        self.kind, self.made = kind, 0

    def before_pass(self, learner: Any) -> None:
        """Continue with the candidate of the selected kind, once the first pass has placed C."""
        if self.made == 1:
            self._choose(learner)

    def ends(self, learner: Any, loss: float) -> bool:
        """Return whether the last pass was the selected one."""
        self.made += 1
        self.left -= 1
        return self.left == 0

    def finish(self, learner: Any, learn: Callable[[Array], None]) -> None:
        """Let the candidate of the selected kind predict, also if new rows may follow."""
        self._choose(learner)

    def _choose(self, learner: Any) -> None:
        kinds = kinds_considered(learner)
        predicts = next(iter(kinds.values()))  # the kind may have been removed in the first pass
        choose(learner, kinds.get(self.kind, predicts))


class KeepBestPass(EvaluatePasses):
    """Restore the best pass, judged by held-out rows, which are learned at the end.

    At the end the learner returns to the best pass and candidate, and learns the held-out rows. At
    most one copy of what the passes change is stored at a time. The passes also end when
    ``decline`` of them in a row have not improved the best quality at all.
    """

    trial = False

    def __init__(
        self,
        held_out: Array,
        qualities: Qualities,
        checkpoint: Callable[[Any], Checkpoint],
        tol: float,
        passes: int,
        *,
        needs_loss: bool = True,
        decline: int | None = None,
    ) -> None:
        super().__init__(held_out, qualities, tol, passes, needs_loss=needs_loss)
        self.checkpoint = checkpoint
        self.decline = None if decline is None else Patience(0.0, decline)
        self.made, self.best = 0, -np.inf
        self.best_pass, self.candidate = 1, 0
        self.restore: Checkpoint | None = None

    def before_pass(self, learner: Any) -> None:
        """Copy the learner if the previous pass was the best so far."""
        if self.made and self.best_pass == self.made:
            self.restore = None  # frees the older copy first
            self.candidate = keep_promising(learner, self.record[-1])
            self.restore = self.checkpoint(learner)

    def ends(self, learner: Any, loss: float) -> bool:
        """Evaluate the candidates after a pass; return whether it was the last one."""
        self.made += 1
        ends, qualities = super().ends(learner, loss), self.record[-1]
        candidate = max(qualities, key=qualities.__getitem__)
        if self.made == 1 or qualities[candidate] > self.best:
            self.best, self.best_pass = qualities[candidate], self.made
            self.candidate = candidate
        return ends or (self.decline is not None and self.decline.ends_with(qualities[candidate]))

    def finish(self, learner: Any, learn: Callable[[Array], None]) -> None:
        """Restore the best pass and learn the held-out rows."""
        if self.restore is not None and self.best_pass < self.made:
            self.restore()
        learner.freeze_means(False)  # the held-out rows are new
        choose(learner, self.candidate)
        assert self.held_out is not None
        learn(self.held_out)
