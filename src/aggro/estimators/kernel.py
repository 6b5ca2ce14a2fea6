"""Kernel Passive-Aggressive estimators, with a budget of support vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.checks import check_choice
from aggro.estimators.base import Fitted, OnlineEstimator, read_only
from aggro.estimators.classifier import Classifier
from aggro.estimators.regressor import Regressor
from aggro.estimators.validation import check_finite, read_columns
from aggro.kernel_learner import KernelChoice, KernelLearner
from aggro.learner import Array
from aggro.settings import Settings, check_unchanged
from aggro.sklearn_api import check_fitted, store_parameters
from aggro.transaction import Transaction, checkpoint_of

MULTICLASS = ("support", "top", "ovr")


class KernelModel(OnlineEstimator):
    """Mixin of estimators around a ``KernelLearner``."""

    # -- learning ---------------------------------------------------------------------------

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
        with self._lock.take(), Transaction(checkpoint_of(self)):
            self._fit(X, y, sample_weight)
            return self

    def _continued(self) -> None:
        """Return None: ``fit`` always starts a new model."""

    def _new_learner(
        self, settings: Settings, outputs: int, X: Any, weights: Array | None, passes: int = 1
    ) -> KernelLearner:
        """Return a learner for rows like these, whose variance may determine gamma."""
        choice = self._choice()
        counted = X if weights is None or not weights.any() else X[weights > 0]
        gamma = choice.gamma_for(counted)
        return KernelLearner(settings, choice, gamma, X.shape[1], outputs, hasattr(X, "indptr"))

    def _check_stream(self) -> None:
        """Raise unless ``partial_fit`` is possible."""
        if self.kernel == "precomputed":
            raise ValueError(
                "partial_fit needs the rows themselves, a precomputed kernel has none; use fit, "
                "or a kernel by name or function."
            )

    # -- input and settings -----------------------------------------------------------------

    def _read(self, X: Any, known: Fitted | None) -> tuple[Any, Array | None]:
        """Return X in the format of the core, with finite values, and its feature names."""
        first = known is None
        precomputed = (self.kernel if first else self._kernel()) == "precomputed"
        columns = () if known is None else (known.learner.features, known.feature_names)
        X, names = read_columns(type(self).__name__, X, *columns, sparse=not precomputed)
        check_finite(X)
        if hasattr(X, "has_canonical_format") and not X.has_canonical_format:
            X = X.copy()  # do not change the caller's matrix
            X.sum_duplicates()
        if precomputed and first:
            _check_kernel_matrix(X)
        return X, names

    def _scores(self, X: Any) -> Array:
        check_fitted(self)
        scores: Array = self._learner.score_rows(self._read(X, self._fitted)[0])
        return scores

    def _choice(self) -> KernelChoice:
        return KernelChoice(
            self.kernel, self.gamma, self.degree, self.coef0, self.budget, self.budget_strategy
        )

    def _checked_settings(self, task: Any) -> Settings:
        if self._estimator_kind == "classifier":
            check_choice("multiclass", self.multiclass, MULTICLASS)
        settings = super()._checked_settings(task)
        if not isinstance(self.average, (bool, np.bool_)):
            raise ValueError(f"average={self.average!r} is not valid; give True or False.")
        if settings.C == "auto":
            raise ValueError("C='auto' compares linear models; give a kernel estimator a number.")
        self._choice().check(settings.batch_size)
        if self.average and self.budget and self.budget_strategy in ("simple", "oldest"):
            raise ValueError(
                "average=True is the mean of all that was ever learned, and "
                f"budget_strategy={self.budget_strategy!r} loses most of it; use 'projection' or "
                "'nearest', or no budget."
            )
        return settings

    def _configured(self, fitted: Fitted) -> Fitted:
        """Return the state after changed parameters have taken effect.

        The kernel and its budget are fixed at the first call.
        """
        for name, was in vars(fitted.learner.choice).items():
            check_unchanged(name, was, getattr(self, name))
        return super()._configured(fitted)

    # -- fitted attributes ------------------------------------------------------------------

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, an array or a CSR matrix; empty for a precomputed kernel."""
        return read_only(self._state("support_vectors_").learner.support())

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the support vectors, one row per output."""
        coef: Array = read_only(self._state("dual_coef_").learner.coef())
        return coef

    @property
    def support_(self) -> Array:
        """Rows of the training data that became support vectors, counted over all calls."""
        ids: Array = read_only(self._state("support_").learner.model.ids())
        return ids

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        return int(self._state("n_support_").learner.model.size)

    @property
    def intercept_(self) -> Array:
        """Intercept of each output: the sum of its coefficients."""
        intercept: Array = read_only(self._state("intercept_").learner.intercept())
        return intercept

    @property
    def coef_(self) -> Array:
        """Weights of the features, one row per output; for the linear kernel only."""
        if self._kernel() != "linear":
            raise AttributeError("coef_ is only available when kernel='linear'.")
        learner = self._state("coef_").learner
        coef: Array = read_only(learner.coef() @ learner.support())
        return coef

    def _kernel(self) -> Any:
        """Return the kernel of the model, or the parameter before the first call."""
        fitted: Fitted | None = vars(self).get("_fitted")
        return self.kernel if fitted is None else fitted.learner.choice.kernel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _check_kernel_matrix(X: Array) -> None:
    """Raise unless X can be a kernel matrix of all rows with all rows."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel must be a square matrix of all rows with all rows; X has "
            f"shape {X.shape}."
        )
    if not np.allclose(X, X.T, rtol=1e-6, atol=1e-8):
        raise ValueError(
            "A precomputed kernel must be a symmetric matrix; X differs from its transpose by "
            f"up to {np.abs(X - X.T).max():.3g}. Give the kernel of all rows with all rows."
        )


class KernelPassiveAggressiveClassifier(KernelModel, Classifier):
    """Kernel Passive-Aggressive classifier: f(x) = sum_i a_i k(x_i, x) + b.

    Each example solves, in the space of the kernel, ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   y f(x) ≥ 1 − ξ,  ξ ≥ 0

    whose solution adds x to the support vectors with the coefficient ``y τ``, ``τ = min(C,
    loss/k(x, x))``. With an intercept the kernel is ``k + 1``. When the budget is full, the support
    vector with the least cost of removal, after projection, is removed; the score of the new
    example stays exact.

    The parameters come in groups:

    - Update rule: ``C``, ``loss``, ``multiclass``, ``class_weight``, ``batch_size``;
    - Kernel: ``kernel``, ``gamma``, ``degree``, ``coef0``, ``fit_intercept``;
    - Budget: ``budget``, ``budget_strategy``;
    - Prediction: ``average``, ``probability``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``shuffle``, ``random_state``,
      ``verbose``.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the cost of a violated margin.
    loss : {"hinge", "squared_hinge", "hard", "least_squares"}, default="hinge"
        How a missed margin is penalised. The values give the variants PA-I, PA-II, PA and PALS.
    multiclass : {"support", "top", "ovr"}, default="support"
        Which constraints an example imposes: a margin over every wrong class with one shared slack
        (SPA), over the best wrong class, or one binary problem for each class.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They multiply C.
    batch_size : int, default=1
        Number of examples that are learned together, by the exact solution of one optimisation
        problem.
    kernel : {"rbf", "poly", "linear", "sigmoid", "precomputed"} or callable, default="rbf"
        Kernel function. A callable gets two sets of rows and returns the matrix of their kernel
        values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the rbf, poly and sigmoid kernels. "scale" is 1 / (n_features · X.var()),
        "auto" is 1 / n_features.
    degree : int, default=3
        Degree of the poly kernel.
    coef0 : float, default=0.0
        Constant term of the poly and sigmoid kernels.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It counts in the norm.
    budget : int or None, default=None
        Maximum number of support vectors. None means no limit.
    budget_strategy : {"simple", "nearest", "projection", "oldest"}, default="simple"
        What receives the weight of a removed support vector: the new example ("simple"), the new
        example and the nearest neighbour ("nearest"), or all others ("projection"). "oldest" drops
        the oldest support vector without replacement.
    average : bool, default=False
        Whether to predict with the mean over all rounds. With a budget, the mean is projected like
        the model, which needs the strategy "projection" or "nearest".
    probability : bool, default=False
        Whether margins are recorded while learning, so that ``predict_proba`` can be used.
    max_iter, tol, n_iter_no_change, shuffle, random_state, verbose
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import KernelPassiveAggressiveClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]
    >>> clf = KernelPassiveAggressiveClassifier(gamma=2.0).fit(X, y)
    >>> clf.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['even', 'odd']

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006). Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget, AISTATS (2010).
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "hinge",
        multiclass: str = "support",
        fit_intercept: bool = True,
        batch_size: int = 1,
        budget: int | None = None,
        budget_strategy: str = "simple",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        random_state: Any = 0,
        class_weight: Any = None,
        average: bool = False,
        probability: bool = False,
    ) -> None:
        store_parameters(self, locals())


class KernelPassiveAggressiveRegressor(KernelModel, Regressor):
    """Kernel Passive-Aggressive regressor: f(x) = sum_i a_i k(x_i, x) + b.

    Each example solves, in the space of the kernel, ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   |y − f(x)| ≤ ε + ξ

    whose solution adds x to the support vectors with the coefficient ``sign(y − f) τ``, ``τ =
    min(C, loss/k(x, x))``.

    The parameters come in groups:

    - Update rule: ``C``, ``loss``, ``epsilon``, ``batch_size``;
    - Kernel: ``kernel``, ``gamma``, ``degree``, ``coef0``, ``fit_intercept``;
    - Budget: ``budget``, ``budget_strategy``;
    - Prediction: ``average``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``shuffle``, ``random_state``,
      ``verbose``.

    Parameters
    ----------
    C
        As in ``KernelPassiveAggressiveClassifier``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard"}, \
default="epsilon_insensitive"
        How an error outside the tube is penalised. The values give the variants PA-I, PA-II and
        PA.
    epsilon : float, default=0.1
        Half the width of the tube: smaller errors cost nothing.
    batch_size
        As in ``KernelPassiveAggressiveClassifier``.
    kernel, gamma, degree, coef0, fit_intercept
        As in ``KernelPassiveAggressiveClassifier``.
    budget, budget_strategy
        As in ``KernelPassiveAggressiveClassifier``.
    average
        As in ``KernelPassiveAggressiveClassifier``.
    max_iter, tol, n_iter_no_change, shuffle, random_state, verbose
        As in ``KernelPassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import KernelPassiveAggressiveRegressor
    >>> reg = KernelPassiveAggressiveRegressor(gamma=1.0, epsilon=0.0, C=10.0)
    >>> reg = reg.fit([[-1.0], [0.0], [1.0]], [1.0, 0.0, 1.0])
    >>> reg.predict([[-1.0], [1.0]]).round(1).tolist()
    [1.0, 1.0]

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006). Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget, AISTATS (2010).
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        batch_size: int = 1,
        budget: int | None = None,
        budget_strategy: str = "simple",
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        random_state: Any = 0,
        average: bool = False,
    ) -> None:
        store_parameters(self, locals())
