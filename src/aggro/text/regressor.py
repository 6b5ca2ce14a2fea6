"""Regression on texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.checks import threads_of
from aggro.estimators.held_out import regressor_rule
from aggro.estimators.passes import Passes
from aggro.learner import Array
from aggro.settings import Settings
from aggro.sklearn_api import store_parameters
from aggro.text.base import TextBatch, TextEstimator, check_count_of, with_weight
from aggro.text.explain import Explained
from aggro.text.options import WORDS
from aggro.text.table import Table
from aggro.training_batch import read_weights
from aggro.transaction import Transaction, checkpoint_of
from aggro.variants import ESTIMATORS

LARGEST = 1e30  # of a target: the weights are single precision


class TextRegressor(Explained, TextEstimator):
    """Regressor of texts that selects its settings while it learns.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube in which errors are ignored.
    criterion : {"absolute", "squared"}, default="absolute"
        The recent error by which candidates are compared.
    ngram_range, idf, C, metric, average, analyzer, lowercase, stop_words, token_pattern, \
strip_accents, n_features, sublinear_tf, binary, min_df, max_df, columns, features, forgetting, \
keep_names, memory, mergeable, n_jobs, random_state
        As in ``TextClassifier``; the candidate with the least recent error predicts.
    max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, verbose
        As in ``AutoRegressor``.

    Examples
    --------
    >>> from aggro import TextRegressor
    >>> reg = TextRegressor().fit(["good", "bad", "good good"] * 20, [5.0, 1.0, 5.0] * 20)
    >>> bool(reg.predict_one("good") > reg.predict_one("bad"))
    True
    """

    _kind = ESTIMATORS["PassiveAggressiveRegressor"]
    _river_base = "Regressor"
    epsilon: float

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        criterion: str = "absolute",
        ngram_range: Any = "auto",
        idf: bool | str = "auto",
        C: Any = "auto",
        metric: str = "auto",
        average: bool | int | str = "auto",
        analyzer: str = "word",
        lowercase: bool = True,
        stop_words: Any = None,
        token_pattern: str = WORDS,
        strip_accents: str | None = None,
        n_features: int = 2**20,
        sublinear_tf: bool = False,
        binary: bool = False,
        min_df: float = 0,
        max_df: float = 1.0,
        columns: Any = None,
        features: str = "linear",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        forgetting: float = 0.0,
        keep_names: bool | int = True,
        memory: int | float | str | None = None,
        mergeable: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        store_parameters(self, locals())

    _estimator_kind = "regressor"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TextRegressor:
        """Learn from texts and their values, from scratch; return the estimator."""
        table, targets = self._prepared(self._table(X), y, sample_weight)
        if not len(table):
            raise ValueError("fit needs texts of positive weight; X has none.")
        with Transaction(checkpoint_of(self)):
            learner, passes = self._new_learner(1), Passes.of(self)
            batch = TextBatch(table, targets, threads_of(self.n_jobs))
            rule = regressor_rule(self, passes, learner.selection, batch, targets["values"])
            self._run_passes(learner, batch, passes, rule)
            self._learner = learner
            return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> TextRegressor:
        """Learn texts once, in the given order; return the estimator."""
        table, targets = self._prepared(self._table(X), y, sample_weight)
        learner = self.__dict__.get("_learner") or self._new_learner(1)
        learner.learn(table, targets, threads_of(self.n_jobs))
        self._learner = learner
        return self

    def learn_one(self, x: Any, y: float, w: float = 1.0) -> None:
        """Learn a text x, or a dict where ``columns`` is given, of value y; w multiplies C."""
        self.partial_fit([x], [y], sample_weight=None if w == 1 else [w])

    def _prepared(self, table: Table, y: Any, weights: Any) -> tuple[Table, dict[str, Any]]:
        """Return rows and targets as the learner takes them."""
        values = self._read_values(y, len(table))
        return with_weight(table, {"values": values}, read_weights(weights, len(table), "text"))

    @staticmethod
    def _read_values(y: Any, count: int) -> Array:
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers: {error}.") from None
        if values.ndim != 1:
            raise ValueError(f"y has shape {values.shape}; give one number for each text.")
        check_count_of(values, count)
        wrong = ~(np.abs(values) < LARGEST)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"y of row {row} is {values[row]}; give numbers below {LARGEST:g}.")
        return np.ascontiguousarray(values.reshape(-1, 1))

    def _settings(self, outputs: int, several: bool) -> Settings:
        return Settings(
            task="regression",
            loss="auto",
            epsilon=self.epsilon,
            criterion=self.criterion,
            C=self.C,
            metric=self.metric,
            average=self.average,
            forgetting=self.forgetting,
            mergeable=self.mergeable,
            memory=self.memory,
        )

    def predict(self, X: Any) -> Array:
        """Return the predicted value of each text."""
        return self._scores_of(X).ravel()

    def predict_one(self, x: Any) -> float:
        """Return the predicted value of one text; 0 before the first example."""
        return float(self.predict([x])[0]) if self.__sklearn_is_fitted__() else 0.0

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination."""
        table = self._table(X)
        values = self._read_values(y, len(table)).ravel()
        weights = read_weights(sample_weight, len(table), "text")
        mean = np.average(values, weights=weights)
        rest = np.average((values - self.predict(X)) ** 2, weights=weights)
        spread = np.average((values - mean) ** 2, weights=weights)
        return float(1.0 - rest / spread) if spread > 0 else 0.0

    @property
    def mean_error_(self) -> float:
        """Mean error of the predictions, each made before its text was learned.

        ``criterion`` says which error. Later passes of ``fit`` are not counted.
        """
        learner = self._fitted()
        return learner.selection.distance / max(learner.examples - learner.repeated, 1)
