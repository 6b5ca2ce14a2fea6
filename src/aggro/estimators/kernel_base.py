"""What the kernel estimators share: reading input, passes over it, fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.estimators.base import OnlineEstimator, all_or_nothing, read_only
from aggro.estimators.validation import check_finite, read_columns
from aggro.kernel_learner import KernelLearner
from aggro.kernel_settings import KernelChoice
from aggro.learner import Array
from aggro.settings import Settings, check_unchanged
from aggro.sklearn_api import check_fitted


class KernelEstimator(OnlineEstimator):
    """An estimator around a ``KernelLearner``."""

    _learner: Any  # a KernelLearner
    _has_typical = False

    # -- input and settings -----------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return X as the core reads it: C-ordered or CSR, every value finite."""
        precomputed = (self.kernel if reset else self._kernel()) == "precomputed"
        X = read_columns(self, X, reset=reset, sparse=not precomputed)
        check_finite(X)
        if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        if precomputed and reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel must be a square matrix of all rows with all rows; X has "
                f"shape {X.shape}."
            )
        if precomputed and reset and not np.allclose(X, X.T, rtol=1e-6, atol=1e-8):
            raise ValueError(
                "A precomputed kernel must be a symmetric matrix; X differs from its transpose by "
                f"up to {np.abs(X - X.T).max():.3g}. Give the kernel of all rows with all rows."
            )
        return X

    def _choice(self) -> KernelChoice:
        return KernelChoice(
            self.kernel, self.gamma, self.degree, self.coef0, self.budget, self.budget_strategy
        )

    def _checked_settings(self, task: Any) -> Settings:
        settings = super()._checked_settings(task)
        if not isinstance(self.average, (bool, np.bool_)):
            raise ValueError(f"average={self.average!r} is not valid; give True or False.")
        if settings.C == "auto":
            raise ValueError("C='auto' races linear models; give a kernel estimator a number.")
        self._choice().check(settings.batch_size)
        if self.average and self.budget and self.budget_strategy in ("simple", "oldest"):
            raise ValueError(
                "average=True is the mean of all that was ever learned, and "
                f"budget_strategy={self.budget_strategy!r} loses most of it; use 'projection' or "
                "'nearest', or no budget."
            )
        return settings

    def _look_at(self, X: Any, weights: Array | None) -> None:
        there = X if weights is None or not weights.any() else X[weights > 0]
        self._gamma, self._sparse = self._choice().gamma_for(there), hasattr(X, "indptr")

    def _kernel_learner(self, settings: Settings, outputs: int) -> KernelLearner:
        shape = (self.n_features_in_, outputs)
        return KernelLearner(settings, self._choice(), self._gamma, *shape, self._sparse)

    def _reconfigure(self, task: Any) -> None:
        """Let changed prices take effect; the kernel and its budget are fixed at the first call."""
        for name, was in vars(self._learner.choice).items():
            check_unchanged(name, was, getattr(self, name))
        super()._reconfigure(task)

    def _check_stream(self) -> None:
        if self.kernel == "precomputed":
            raise ValueError(
                "partial_fit needs the rows themselves, a precomputed kernel has none; use fit, "
                "or a kernel by name or function."
            )

    # -- learning ---------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from; their kernel matrix for ``kernel="precomputed"``.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Classes, or an indicator matrix for several labels at once; for regression, targets.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        return self._fit(X, y, sample_weight, None, None)

    def _scores(self, X: Any) -> Array:
        check_fitted(self)
        scores: Array = self._learner.score_rows(self._read(X, reset=False))
        return scores

    # -- fitted attributes ------------------------------------------------------------------

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, an array or a CSR matrix; empty for a precomputed kernel."""
        return self._fitted("support_vectors_", lambda: read_only(self._learner.support()))

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the support vectors, one row per output."""
        result: Array = self._fitted("dual_coef_", lambda: read_only(self._learner.coef()))
        return result

    @property
    def support_(self) -> Array:
        """Rows of the training data that became support vectors, counted over all calls."""
        result: Array = self._fitted("support_", lambda: read_only(self._learner.model.ids()))
        return result

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        return int(self._fitted("n_support_", lambda: self._learner.model.size))

    @property
    def intercept_(self) -> Array:
        """Intercept of each output: the sum of its coefficients."""
        result: Array = self._fitted("intercept_", lambda: read_only(self._learner.intercept()))
        return result

    @property
    def coef_(self) -> Array:
        """Weights of the features, one row per output; for the linear kernel only."""
        if self._kernel() != "linear":
            raise AttributeError("coef_ is only available when kernel='linear'.")
        product = self._fitted("coef_", lambda: self.dual_coef_ @ self.support_vectors_)
        result: Array = read_only(product)
        return result

    def _kernel(self) -> Any:
        """Return the kernel that the model was begun with; before that, the parameter."""
        return self._learner.choice.kernel if hasattr(self, "_learner") else self.kernel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
