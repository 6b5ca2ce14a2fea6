"""What the linear estimators share: passes over the rows, weights to look at and to set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from aggro.auto import AnyLearner, AutoLearner
from aggro.calibration import RING
from aggro.estimator import OnlineEstimator
from aggro.learner import Array, Learner, rows_of
from aggro.threads import threads_of


class LinearEstimator(OnlineEstimator):
    """An estimator around a ``Learner``, or a race of them."""

    _learner: AnyLearner

    # -- passes -----------------------------------------------------------------------------

    def _run_epochs(
        self,
        learner: AnyLearner,
        X: Any,
        lesson: dict[str, Any],
        held_out: Array | None = None,
        validate: Callable[[AnyLearner], float] | None = None,
        once: Callable[[Array | None], None] | None = None,
    ) -> int:
        """Learn pass after pass until nothing improves; return the number of passes.

        ``once`` learns in place of the learner where one pass is all.
        """
        weights = lesson["weights"]
        if weights is not None and not weights.any():
            raise ValueError("The weights of all rows are zero; give at least one positive weight.")
        random = check_random_state(self.random_state)
        count = X.shape[0] - (0 if held_out is None else len(held_out))
        best, idle = -np.inf, 0
        needed = 0.0 if self.tol is None else self.tol * (1 if validate else count)
        for epoch in range(1, self.max_iter + 1):
            before = learner.progress.loss
            order = random.permutation(X.shape[0]) if self.shuffle else None
            if held_out is not None:
                order = np.arange(X.shape[0]) if order is None else order
                order = order[~np.isin(order, held_out)]
            if once is not None:
                once(order)
            else:
                self._teach(learner, X, lesson, order, undo=self.warm_start)
            self._end_pass(learner)
            loss = learner.progress.loss - before
            self._report(epoch, learner, loss / count)
            quality = validate(learner) if validate else -loss
            idle = idle + 1 if quality < best + needed else 0
            best = max(best, quality)
            if self.tol is not None and idle >= self.n_iter_no_change:
                break
        learner.freeze_means(False)  # what comes later is new
        if self.tol is not None and idle < self.n_iter_no_change:
            self._warn_of_end()
        return epoch

    def _teach(
        self,
        learner: AnyLearner,
        X: Any,
        lesson: dict[str, Any],
        order: Array | None,
        again: bool = False,
        undo: bool = False,
    ) -> None:
        threads = threads_of(self.n_jobs)
        learner.learn(rows_of(X), order=order, undo=undo, threads=threads, **lesson)

    def _end_pass(self, learner: AnyLearner) -> None:
        learner.freeze_means()

    def _judge(self, learner: AnyLearner, X: Any) -> Array:
        return learner.scores(rows_of(X))

    def _scores(self, X: Any) -> Array:
        if not hasattr(self, "_learner"):
            check_is_fitted(self)
        rows = rows_of(self._read(X, reset=False))
        return self._learner.scores(rows, threads=threads_of(self.n_jobs))

    def _twin(self, learner: AnyLearner) -> Learner:
        """Return a new learner with the settings of this one, or of the leader of this race."""
        leader = learner if isinstance(learner, Learner) else learner.winner()
        return Learner(leader.settings, leader.features, leader.classes, leader.dtype)

    def _meet_typical(self, X: Any) -> None:
        """Let the mean row follow the rows, as far back as margins are remembered."""
        count, seen = X.shape[0], self._learner.examples if hasattr(self, "_learner") else 0
        with np.errstate(all="ignore"):  # learning will refuse what is not finite
            mean = np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(1, -1)
            known = getattr(self, "_typical", mean)
            moved = known + count / (min(seen, RING) + count) * (mean - known)
            self._typical = np.nan_to_num(moved.astype(X.dtype))

    def _start(self, learner: AnyLearner, coef_init: Any, intercept_init: Any) -> None:
        """Begin from given weights instead of zero."""
        if coef_init is None and intercept_init is None:
            return
        shape = (learner.outputs, learner.features)
        coef, intercept = np.zeros(shape), np.zeros(shape[0])
        if coef_init is not None:
            coef = np.asarray(coef_init, dtype=np.float64)
            if coef.size != shape[0] * shape[1] or coef.shape not in (shape, (shape[1],)):
                raise ValueError(
                    f"coef_init of shape {coef.shape} does not match dataset: expected {shape}."
                )
        if intercept_init is not None:
            intercept = np.asarray(intercept_init, dtype=np.float64).ravel()
            if intercept.shape != (shape[0],):
                raise ValueError(
                    f"intercept_init has {intercept.size} values and does not match dataset: "
                    f"expected {shape[0]}."
                )
        learner.set_coef(coef.reshape(shape), intercept)

    # -- fitted attributes ------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """Weights, one row per output; sparse after ``sparsify``."""
        return self._fitted("coef_", lambda: getattr(self, "_sparse_coef", self._coef()))

    @coef_.setter
    def coef_(self, value: Any) -> None:
        dense = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
        shape = (self._learner.outputs, self._learner.features)
        self._learner.set_coef(dense.reshape(shape), self._learner.intercept())
        self.__dict__.pop("_sparse_coef", None)

    def _coef(self) -> Array:
        return self._learner.coef()

    @property
    def intercept_(self) -> Array:
        """Intercept of each output."""
        result: Array = self._fitted("intercept_", lambda: self._learner.intercept())
        return result

    @intercept_.setter
    def intercept_(self, value: npt.ArrayLike) -> None:
        intercept = np.broadcast_to(np.asarray(value, np.float64), (self._learner.outputs,))
        self._learner.set_coef(self._learner.coef(), intercept)

    @property
    def C_(self) -> float:
        """The C in use: the chosen one when ``C="auto"``."""
        return float(self._fitted("C_", lambda: getattr(self._learner, "C", self.C)))

    @property
    def lanes_(self) -> list[dict[str, Any]]:
        """What ``C="auto"`` raced: each lane's C, averaging, mistakes and recent record."""
        lanes = self._fitted("lanes_", lambda: getattr(self._learner, "lanes", None))
        if lanes is None:
            raise AttributeError(
                "lanes_ exists only while something is left 'auto': C, metric, scale or average."
            )
        return list(lanes())

    def plot_lanes(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each lane against C, the leader marked; return the figure.

        Learners that fell far behind have left the race and are not shown.
        """
        from aggro.lanes_plot import draw_lanes

        return draw_lanes(self.lanes_, self._learner.settings.task == "regression", path)

    def settle(self) -> LinearEstimator:
        """End the race: keep the leader alone, as if there had been no other; return the estimator.

        Its weights stay the same, to the last bit; a copy or a file of it takes a small part of
        the room, and learning goes on at a small part of the price. Parameters that were "auto"
        become those of the leader; C may be set from then on. Without a race nothing happens.
        """
        check_is_fitted(self)
        if isinstance(self._learner, AutoLearner):
            chosen, winner = self._learner.choice, self._learner.winner()
            current = self._known_prices == self._prices()
            left = {name: value for name, value in chosen.items() if getattr(self, name) == "auto"}
            self.__dict__.update(left, _learner=winner)
            self._known_prices = self._prices() if current else None
        return self

    def sparsify(self) -> LinearEstimator:
        """Show ``coef_`` as a sparse matrix. Learning more needs ``densify`` first."""
        check_is_fitted(self)
        from scipy.sparse import csr_matrix

        self._sparse_coef = csr_matrix(self._coef())
        return self

    def densify(self) -> LinearEstimator:
        """Show ``coef_`` as an array again."""
        check_is_fitted(self)
        self.__dict__.pop("_sparse_coef", None)
        return self

    def _require_dense(self) -> None:
        if hasattr(self, "_sparse_coef"):
            raise ValueError("The model was sparsified; call densify() before learning more.")
