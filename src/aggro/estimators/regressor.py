"""Regression: numbers in, numbers out; and its linear form."""

from __future__ import annotations

from typing import Any

from aggro.estimators.base import OnlineEstimator, all_or_nothing
from aggro.estimators.judges import ByHeldOutRows, ByLoss
from aggro.estimators.passes import Passes
from aggro.estimators.stopping import Determination, hold_out, r2_score
from aggro.estimators.targets import read_values
from aggro.estimators.weights import LinearEstimator
from aggro.learner import Array
from aggro.selection.common import AnyLearner
from aggro.settings import Settings
from aggro.training_batch import TrainingBatch, read_weights


class OnlineRegressor(OnlineEstimator):
    """Regression: numbers in, numbers out. The learner is the subclass's."""

    _estimator_kind = "regressor"

    def predict(self, X: Any) -> Array:
        """Return the predicted target of each row."""
        scores = self._scores(X)
        return scores.ravel() if self._flat else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², the mean over all targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array of shape (n_samples,), optional
            How many times each row counts.
        """
        scores = self._scores(X)
        truth = read_values(y, len(scores))
        return r2_score(truth, scores, read_weights(sample_weight, len(scores)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    # -- learning ----------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, coef_init: Any, intercept_init: Any) -> Any:
        self._check_schedule()
        warm = self._continues()
        X = self._read(X, reset=not warm)
        settings = self._checked_settings("regression")
        values = read_values(y, X.shape[0])
        lesson = {"values": values, "weights": read_weights(sample_weight, X.shape[0])}
        if warm:
            self._check_columns(values)
            learner = self._continued(settings)
        else:
            learner = self._begin(X, lesson, settings)
        self._start(learner, coef_init, intercept_init)
        judge = self._judge(learner, X, values, lesson, lesson["weights"])
        self.n_iter_ = self._run_epochs(learner, X, lesson, judge)
        self._learner, self._known_params = learner, self._prices()
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from X and y once, in the given order; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_stream()
        X = self._read(X, reset=not hasattr(self, "_learner"))
        weights = read_weights(sample_weight, X.shape[0])
        self._learn_batch(self._prepare(X, y, weights), weights)
        return self

    def _prepare(self, X: Any, y: Any, weights: Array | None) -> TrainingBatch:
        """Return a batch for ``_learn_batch``."""
        values = read_values(y, X.shape[0])
        lesson = {"values": values, "weights": weights}
        if not hasattr(self, "_learner"):
            self._learner = self._begin(X, lesson, self._checked_settings("regression"))
            self._known_params = self._prices()
        self._check_columns(values)
        self._reconfigure("regression")
        self.n_iter_ = 1
        return self._lesson(X, lesson)

    def _learn_batch(
        self,
        batch: TrainingBatch,
        weights: Array | None,
        order: Array | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Learn a batch, or some of its rows, in an order (see ``OnlineClassifier``)."""
        batch.train(self._learner, order, undo=True)

    def _begin(self, X: Any, lesson: dict[str, Any], settings: Settings) -> Any:
        """Return a learner for as many targets as there are."""
        columns = lesson["values"].shape[1]
        self._flat = columns == 1
        self._look_at(X, lesson["weights"])
        return self._new_learner(settings, columns, X.dtype)

    def _new_learner(self, settings: Settings, outputs: int, dtype: Any) -> Any:
        raise NotImplementedError

    def _check_columns(self, values: Array) -> None:
        if values.shape[1] != self._learner.outputs:
            raise ValueError(
                f"y has {values.shape[1]} columns, but the model has {self._learner.outputs}; give "
                "as many targets as at first, or begin anew with fit and warm_start=False."
            )


class LinearRegressor(OnlineRegressor, LinearEstimator):
    """Regression by a linear learner. The rule is the subclass's."""

    def _new_learner(self, settings: Settings, outputs: int, dtype: Any) -> AnyLearner:
        return self._make_learner(settings, outputs, dtype)

    def _begin_batch(self, X: Any, y: Array, weights: Array | None) -> TrainingBatch:
        """Return a batch of a file for ``_learn_batch``; its rows may have new features."""
        return self._prepare(self._grown_for(X), y, weights)

    def _adopt(self, learner: AnyLearner, classes: Any, multilabel: bool) -> Any:
        """Become the fitted estimator around a learner."""
        self._learner, self._flat = learner, learner.outputs == 1
        self.n_features_in_, self.n_iter_ = learner.features, 1
        self._known_params = self._prices()
        return self

    def _coef(self) -> Array:
        coef = super()._coef()
        return coef.ravel() if self._flat else coef

    def _judge(
        self, learner: Any, X: Any, y: Array, lesson: dict[str, Any], weights: Array | None
    ) -> ByLoss:
        """Return what tells when the passes end: their loss, or R² on rows that are held out."""
        schedule = Passes.of(self)
        if not self.early_stopping:
            return schedule.by_loss()
        held_out = hold_out(len(y), self.validation_fraction, self.random_state)
        some = None if weights is None else weights[held_out]
        qualities = self._qualities_on(X, held_out, Determination(y[held_out], y, some))
        return ByHeldOutRows(held_out, qualities, schedule.needed, schedule.n_iter_no_change)
