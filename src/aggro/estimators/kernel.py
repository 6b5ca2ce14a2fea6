"""Passive-Aggressive learning with kernels, and with a budget of support vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aggro.checks import check_choice
from aggro.estimators.classifier import OnlineClassifier
from aggro.estimators.kernel_base import KernelEstimator
from aggro.estimators.regressor import OnlineRegressor
from aggro.settings import Settings
from aggro.sklearn_api import store_parameters

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
        Price of a missed margin.
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
    loss : {"hinge", "squared_hinge", "hard", "least_squares"}, default="hinge"
        How a missed margin is penalised. The values give the variants PA-I, PA-II, PA and PALS.
    multiclass : {"support", "top", "ovr"}, default="support"
        Which constraints an example imposes: a margin over every wrong class with one shared slack
        (SPA), over the best wrong class, or one binary problem for each class.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It counts in the norm.
    batch_size : int, default=1
        Number of examples that are learned together, by the exact solution of their joint problem.
    budget : int or None, default=None
        Maximum number of support vectors. None means no limit.
    budget_strategy : {"simple", "nearest", "projection", "oldest"}, default="simple"
        What absorbs a support vector that is removed: the new example ("simple"), the new example
        and the nearest neighbour ("nearest"), or all others ("projection"). "oldest" drops the
        oldest support vector without replacement.
    max_iter, tol, n_iter_no_change, shuffle, verbose, random_state
        As in ``PassiveAggressiveClassifier``.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They multiply C.
    average : bool, default=False
        Whether to predict with the mean over all rounds. With a budget, the mean is projected like
        the model, which needs the strategy "projection" or "nearest".
    probability : bool, default=False
        Whether margins are recorded while learning, so that ``predict_proba`` can be used.

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
        store_parameters(self, locals())

    def _checked_settings(self, task: Any) -> Settings:
        check_choice("multiclass", self.multiclass, MULTICLASS)
        return super()._checked_settings(task)

    def _new_learner(self, settings: Settings, dtype: Any) -> Any:
        return self._kernel_learner(settings, len(self.classes_))


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
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard"}, \
default="epsilon_insensitive"
        How an error outside the tube is penalised. The values give the variants PA-I, PA-II and
        PA.
    epsilon : float, default=0.1
        Half the width of the tube: smaller errors cost nothing.

    Examples
    --------
    >>> from aggro import KernelPassiveAggressiveRegressor
    >>> reg = KernelPassiveAggressiveRegressor(gamma=1.0, epsilon=0.0, C=10.0, random_state=0)
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
        random_state: Any = None,
        average: bool = False,
    ) -> None:
        store_parameters(self, locals())

    def _new_learner(self, settings: Settings, outputs: int, dtype: Any) -> Any:
        return self._kernel_learner(settings, outputs)
