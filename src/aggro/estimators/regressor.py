"""Regressors around any learner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggro.estimators.base import Fitted, OnlineEstimator
from aggro.estimators.held_out import r2_score, regressor_rule
from aggro.estimators.targets import check_columns, read_values
from aggro.learner import Array
from aggro.training_batch import TrainingBatch, read_weights
from aggro.transaction import Transaction


class Regressor(OnlineEstimator):
    """A regressor around a linear or a kernel learner."""

    _estimator_kind = "regressor"

    def predict(self, X: Any) -> Array:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        """
        scores: Array = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

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

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, start: Callable[[Any], None] | None = None
    ) -> None:
        """Learn in several passes; ``start`` gives a new learner its first weights."""
        passes, known = self._checked_passes(), self._continued()
        X, names = self._read(X, known)
        settings = self._checked_settings("regression")
        values = read_values(y, X.shape[0])
        weights = read_weights(sample_weight, X.shape[0])
        if known is None:
            learner = self._new_learner(settings, values.shape[1], X, weights, passes.max_iter)
        else:
            check_columns(values, known.learner.outputs)
            learner = self._copied_learner(settings)
        if start is not None:
            start(learner)
        batch = self._batch(X, {"values": values, "weights": weights})
        n_iter = passes.run(learner, batch, regressor_rule(self, passes, learner, batch, values))
        self._fitted = Fitted(learner, self._parameters(), names, n_iter)

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
        with self._lock.take(), Transaction(self._checkpoint()):
            self._check_stream()
            X, names = self._read(X, self.__dict__.get("_fitted"))
            weights = read_weights(sample_weight, X.shape[0])
            self._learn_batch(self._prepare(X, y, weights, names), weights)
        return self

    def _prepare(
        self, X: Any, y: Any, weights: Array | None, names: Array | None = None
    ) -> TrainingBatch:
        """Return a batch for ``_learn_batch``; ``names`` are those of the first features."""
        values = read_values(y, X.shape[0])
        fitted: Fitted | None = self.__dict__.get("_fitted")
        if fitted is None:
            settings = self._checked_settings("regression")
            learner = self._new_learner(settings, values.shape[1], X, weights)
            fitted = Fitted(learner, self._parameters(), names)
        check_columns(values, fitted.learner.outputs)
        self._fitted = self._configured(fitted).changed(n_iter=1)
        return self._batch(X, {"values": values, "weights": weights})

    def _learn_batch(
        self,
        batch: TrainingBatch,
        weights: Array | None,
        order: Array | None = None,
        *,
        again: bool = False,
    ) -> None:
        """Learn a batch, or some of its rows, in an order (see ``Classifier``)."""
        batch.train(self._fitted.learner, order, undo=True)
