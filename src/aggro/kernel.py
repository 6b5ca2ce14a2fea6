"""Passive-Aggressive learning with kernels, and with a budget of support vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.classifier import OnlineClassifier
from aggro.estimator import all_or_nothing, keep_parameters
from aggro.kernel_estimator import KernelEstimator
from aggro.kernel_learner import KernelLearner
from aggro.learner import Array
from aggro.regressor import OnlineRegressor
from aggro.rules import CLASSIFIER_LOSSES, Settings, check_choice
from aggro.targets import read_classes, read_values

REGRESSOR_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "hard")
MULTICLASS = ("support", "top", "ovr")


class KernelPassiveAggressiveClassifier(KernelEstimator, OnlineClassifier):
    """Passive-Aggressive classifier on remembered examples: f(x) = sum_i a_i k(x_i, x) + b.

    Each example solves, in the space of the kernel, ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   y f(x) ≥ 1 − ξ,  ξ ≥ 0

    whose solution remembers x with the coefficient ``y τ``, ``τ = min(C, loss/k(x, x))``. With an
    intercept the kernel is ``k + 1``. When a budget is full the support vector whose removal,
    after projection, costs least is forgotten; the score of the new example stays exact.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violated margin.
    kernel : {"rbf", "poly", "linear", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable gets two sets of rows and returns the matrix of their kernel values.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of rbf, factor of poly and sigmoid; "scale" is 1 / (n_features · X.var()), "auto"
        1 / n_features.
    degree : int, default=3
        Power of poly.
    coef0 : float, default=0.0
        Constant of poly and sigmoid.
    loss : {"hinge", "squared_hinge", "hard", "least_squares"}
        PA-I (default), PA-II, PA and PALS.
    multiclass : {"support", "top", "ovr"}
        Every wrong class shares one slack (SPA, default), the best wrong class, or one-vs-rest.
    fit_intercept : bool, default=True
        Learn an intercept; it counts in the norm.
    batch_size : int, default=1
        Examples that are learned together, by the exact solution of their joint problem.
    budget : int, optional
        The most support vectors to keep.
    budget_strategy : {"simple", "nearest", "projection", "oldest"}
        Who absorbs a forgotten one: the new example (default), also its nearest neighbour, all
        others; "oldest" drops the oldest.
    max_iter, tol, n_iter_no_change, shuffle, verbose, random_state
        Passes of ``fit``, as in ``PassiveAggressiveClassifier``.
    class_weight : dict or "balanced", optional
        Factor of C for each class.
    average : bool, default=False
        Predict with the mean of all rounds. A budget projects the mean as it projects the model
        ("projection" and "nearest" only).
    probability : bool, default=False
        Record margins while learning, for ``predict_proba``.

    Examples
    --------
    >>> from aggro import KernelPassiveAggressiveClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]
    >>> clf = KernelPassiveAggressiveClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> clf.predict([[0.1, 0.1], [0.9, 0.1]]).tolist()
    ['even', 'odd']

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006). Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget, AISTATS (2010).
    """

    _losses = CLASSIFIER_LOSSES

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
        random_state: Any = None,
        class_weight: Any = None,
        average: bool = False,
        probability: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from; their kernel matrix for ``kernel="precomputed"``.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or an indicator matrix for several labels at once.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_schedule()
        X = self._read(X, reset=True)
        y, self._multilabel = read_classes(y, X.shape[0])
        self._classes_given = True
        self.classes_ = self._given_classes(None, y)
        if len(self.classes_) < 2 and not self._multilabel:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: "
                f"{self.classes_[0]!r}. A stream may begin with one: use partial_fit."
            )
        self._counts = np.zeros(len(self.classes_))
        lesson: dict[str, Array | None] = {"values": y}
        if not self._multilabel:
            lesson = {"labels": np.searchsorted(self.classes_, y).astype(np.int64)}
        weights = self._weights(sample_weight, X.shape[0])
        lesson["weights"] = self._all_weights(lesson.get("labels"), weights)
        settings = self._checked_settings(self._task())
        self._look_at(X, weights)
        learner = self._kernel_learner(settings, len(self.classes_))
        once = self._once(learner, X, lesson, sample_weight)
        self.n_iter_ = self._run_epochs(learner, X, lesson, once=once)
        if self.probability and once is None:
            self._calibrate(learner, X, lesson, sample_weight)
        self._learner, self._known_prices = learner, self._prices()
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from X and y once, in the given order; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes.
        classes : array, optional
            All classes that may ever appear. When it is never given, classes may appear at any
            time: the first is learned against the second, others enter with zero coefficients.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_stream()
        first = not hasattr(self, "_learner")
        X = self._read(X, reset=first)
        weights = self._weights(sample_weight, X.shape[0])
        if first:
            self._look_at(X, weights)
        lesson = self._meet(X, y, classes, first, weights)
        lesson["weights"] = self._all_weights(lesson.get("labels"), weights)
        self._reconfigure(self._task())
        self.n_iter_ = 1
        if self.probability:
            self._learn_and_record(X, lesson, sample_weight)
        else:
            self._learner.learn_rows(X, lesson)
        return self

    def _checked_settings(self, task: Any) -> Settings:
        check_choice("multiclass", self.multiclass, MULTICLASS)
        return super()._checked_settings(task)

    def _new_learner(self, settings: Settings, dtype: Any) -> Any:
        return self._kernel_learner(settings, len(self.classes_))

    def _twin(self, learner: Any) -> Any:
        return self._kernel_learner(learner.settings, len(self.classes_))

    def _grown(self, settings: Settings, position: Array, classes: int) -> Any:
        return self._learner.grown(settings, position, classes)


class KernelPassiveAggressiveRegressor(KernelEstimator, OnlineRegressor):
    """Passive-Aggressive regressor on remembered examples: f(x) = sum_i a_i k(x_i, x) + b.

    Each example solves, in the space of the kernel, ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   |y − f(x)| ≤ ε + ξ

    whose solution remembers x with the coefficient ``sign(y − f) τ``, ``τ = min(C, loss/k(x, x))``.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, fit_intercept, batch_size, budget, budget_strategy, max_iter, \
tol, n_iter_no_change, shuffle, verbose, random_state, average
        As in ``KernelPassiveAggressiveClassifier``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard"}
        PA-I (default), PA-II and PA.
    epsilon : float, default=0.1
        Half the width of the tube.

    Examples
    --------
    >>> from aggro import KernelPassiveAggressiveRegressor
    >>> reg = KernelPassiveAggressiveRegressor(gamma=1.0, epsilon=0.0, C=10.0, random_state=0)
    >>> reg = reg.fit([[-1.0], [0.0], [1.0]], [1.0, 0.0, 1.0])
    >>> reg.predict([[-1.0], [0.0]]).round(1).tolist()
    [1.0, 0.0]

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006). Wang, Vucetic: Online Passive-Aggressive Algorithms on a Budget, AISTATS (2010).
    """

    _losses = REGRESSOR_LOSSES

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
        random_state: Any = None,
        average: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from; their kernel matrix for ``kernel="precomputed"``.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_schedule()
        X = self._read(X, reset=True)
        lesson, learner = self._begin(X, y, sample_weight)
        self.n_iter_ = self._run_epochs(learner, X, lesson)
        self._learner, self._known_prices = learner, self._prices()
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
        first = not hasattr(self, "_learner")
        X = self._read(X, reset=first)
        if first:
            lesson, self._learner = self._begin(X, y, sample_weight)
            self._known_prices = self._prices()
        else:
            lesson = self._lesson(X, y, sample_weight)
        self._check_columns(lesson["values"])
        self._reconfigure("regression")
        self.n_iter_ = 1
        self._learner.learn_rows(X, lesson)
        return self

    def _lesson(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        weights = self._weights(sample_weight, X.shape[0])
        return {"values": read_values(y, X.shape[0]), "weights": weights}

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> tuple[dict[str, Any], KernelLearner]:
        """Read the targets and make a learner for them."""
        lesson = self._lesson(X, y, sample_weight)
        values = lesson["values"]
        self._flat = values.shape[1] == 1
        settings = self._checked_settings("regression")
        self._look_at(X, lesson["weights"])
        return lesson, self._kernel_learner(settings, values.shape[1])
