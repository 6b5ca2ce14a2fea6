"""Second-order online learning, and the Perceptron."""

from __future__ import annotations

from typing import Any

from aggro.estimators.classifier import Classifier
from aggro.estimators.linear import LinearModel
from aggro.estimators.regressor import Regressor
from aggro.sklearn_api import store_parameters


class Perceptron(LinearModel, Classifier):
    """Perceptron: add the example to the weights after a mistake.

    ``w += y x`` when ``y·f(x) ≤ 0``. It solves no optimisation problem; on data that a vector u
    separates with margin 1 it makes at most ``max‖x‖²·‖u‖²`` mistakes.

    Parameters
    ----------
    fit_intercept, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, shuffle, \
verbose, n_jobs, random_state, warm_start, class_weight, reservoir_size, probability, mergeable
        As in ``PassiveAggressiveClassifier``.
    average : bool, int, "reservoir" or "auto", default=False
        As in ``PassiveAggressiveClassifier``.
    multiclass : {"top", "ovr"}, default="top"
        "top" moves the true class and the best wrong one; "ovr" learns one Perceptron per class.

    Examples
    --------
    >>> from aggro import Perceptron
    >>> model = Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> model.predict([[0.9, 0.2]])
    array([1])

    References
    ----------
    Rosenblatt: The Perceptron, Psychological Review 65 (1958).
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = False,
        multiclass: str = "top",
        reservoir_size: int = 16,
        probability: bool = False,
        mergeable: bool = False,
    ) -> None:
        store_parameters(self, locals())


class AROWClassifier(LinearModel, Classifier):
    """Adaptive regularisation of weights: steps that shrink as the weights become more certain.

    Each example with a loss solves ::

        minimise  KL(N(w, Σ) ‖ N(w_t, Σ_t)) + (ξ² + x'Σx) / 2r,   ξ = max(0, 1 − y·f(x))

    with ``w = w_t + τ y Σ x``, ``τ = loss/(x'Σx + r)``. With r = 1 it is PAM-II with C = ½.

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: larger values make smaller steps.
    metric : {"diagonal", "full"}, default="diagonal"
        Whether to keep only the variance of each weight or the full covariance matrix.
    multiclass : {"ovr", "support", "top"}, default="ovr"
        As in ``PassiveAggressiveClassifier``.
    fit_intercept, intercept_scaling, max_iter, tol, early_stopping, validation_fraction, \
n_iter_no_change, shuffle, verbose, n_jobs, random_state, warm_start, class_weight, \
reservoir_size, probability
        As in ``PassiveAggressiveClassifier``.
    average : bool, int, "reservoir" or "auto", default=False
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import AROWClassifier
    >>> model = AROWClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> model.predict([[0.9, 0.2]])
    array([1])

    References
    ----------
    Crammer, Kulesza, Dredze: Adaptive Regularization of Weight Vectors, NIPS 22 (2009).
    """

    def __init__(
        self,
        *,
        r: float = 1.0,
        metric: str = "diagonal",
        multiclass: str = "ovr",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = False,
        reservoir_size: int = 16,
        intercept_scaling: float | str = "auto",
        probability: bool = False,
    ) -> None:
        store_parameters(self, locals())


class AROWRegressor(LinearModel, Regressor):
    """Adaptive regularisation of weights for regression: recursive least squares with a tube.

    ``w = w_t + sign(y − f) τ Σ x`` with ``τ = max(0, |y − f| − ε)/(x'Σx + r)``; with ε = 0 and a
    full metric it is recursive least squares.

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: larger values make smaller steps.
    epsilon : float, default=0.0
        Half the width of the tube: smaller errors cost nothing.
    metric : {"diagonal", "full"}, default="diagonal"
        Whether to keep only the variance of each weight or the full covariance matrix.
    fit_intercept, intercept_scaling, max_iter, tol, validation_fraction, n_iter_no_change, \
shuffle, verbose, n_jobs, random_state, warm_start, reservoir_size
        As in ``PassiveAggressiveRegressor``.
    early_stopping : bool, default=False
        Whether R² on held-out rows tells when to stop, instead of the loss.
    average : bool, int, "reservoir" or "auto", default=False
        As in ``PassiveAggressiveRegressor``.

    Examples
    --------
    >>> from aggro import AROWRegressor
    >>> model = AROWRegressor(r=1e-6, metric="full").fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0])
    >>> model.predict([[4.0]]).round(2)
    array([8.])

    References
    ----------
    Vaits, Crammer: Re-adapting the Regularization of Weights for Non-stationary Regression,
    ALT (2011).
    """

    def __init__(
        self,
        *,
        r: float = 1.0,
        epsilon: float = 0.0,
        metric: str = "diagonal",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        average: bool | int | str = False,
        reservoir_size: int = 16,
        intercept_scaling: float | str = 1.0,
    ) -> None:
        store_parameters(self, locals())


class ConfidenceWeightedClassifier(LinearModel, Classifier):
    """Confidence-weighted learning: predict each example correctly with probability eta.

    Each example solves ::

        minimise  KL(N(w, Σ) ‖ N(w_t, Σ_t))   subject to   y·f(x) ≥ φ·s(x),   φ = Φ⁻¹(η)

    where s(x) is the variance x'Σx of the margin or its standard deviation.

    Parameters
    ----------
    eta : float, default=0.9
        Required probability of a correct prediction, at least ½ and below 1.
    loss : {"cw", "cw_stdev"}, default="cw"
        Whether the constraint uses the variance of the margin (Dredze, 2008) or its standard
        deviation (Crammer, 2008).
    metric : {"diagonal", "full"}, default="diagonal"
        Whether to keep only the variance of each weight or the full covariance matrix.
    fit_intercept, intercept_scaling, max_iter, tol, early_stopping, validation_fraction, \
n_iter_no_change, shuffle, verbose, n_jobs, random_state, warm_start, class_weight, \
reservoir_size, probability
        As in ``PassiveAggressiveClassifier``. Several classes are learned one against the rest.
    average : bool, int, "reservoir" or "auto", default=False
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import ConfidenceWeightedClassifier
    >>> model = ConfidenceWeightedClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> model.predict([[0.9, 0.2]])
    array([1])

    References
    ----------
    Dredze, Crammer, Pereira: Confidence-Weighted Linear Classification, ICML (2008).
    Crammer, Dredze, Pereira: Exact Convex Confidence-Weighted Learning, NIPS 21 (2008).
    """

    def __init__(
        self,
        *,
        eta: float = 0.9,
        loss: str = "cw",
        metric: str = "diagonal",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = False,
        reservoir_size: int = 16,
        intercept_scaling: float | str = "auto",
        probability: bool = False,
    ) -> None:
        store_parameters(self, locals())


class SoftConfidenceWeightedClassifier(LinearModel, Classifier):
    """Soft confidence-weighted learning: violations of the constraint cost C.

    Each example solves ::

        minimise  KL(N(w, Σ) ‖ N(w_t, Σ_t)) + C·ξ   subject to   y·f(x) ≥ φ·√(x'Σx) − ξ

    (``loss="scw1"``), or with the penalty C·ξ² (``loss="scw2"``).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the cost of a violated margin.
    eta : float, default=0.9
        Required probability of a correct prediction, at least ½ and below 1.
    loss : {"scw1", "scw2"}, default="scw1"
        Whether the penalty is linear ("scw1") or squared ("scw2").
    metric : {"diagonal", "full"}, default="diagonal"
        Whether to keep only the variance of each weight or the full covariance matrix.
    fit_intercept, intercept_scaling, max_iter, tol, early_stopping, validation_fraction, \
n_iter_no_change, shuffle, verbose, n_jobs, random_state, warm_start, class_weight, \
reservoir_size, probability
        As in ``PassiveAggressiveClassifier``. Several classes are learned one against the rest.
    average : bool, int, "reservoir" or "auto", default=False
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from aggro import SoftConfidenceWeightedClassifier
    >>> model = SoftConfidenceWeightedClassifier(C=0.5)
    >>> model.fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[0.9, 0.2]])
    array([1])

    References
    ----------
    Wang, Zhao, Hoi: Exact Soft Confidence-Weighted Learning, ICML (2012).
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eta: float = 0.9,
        loss: str = "scw1",
        metric: str = "diagonal",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = False,
        reservoir_size: int = 16,
        intercept_scaling: float | str = "auto",
        probability: bool = False,
    ) -> None:
        store_parameters(self, locals())
