"""Passive-Aggressive classification and regression behind scikit-learn's names."""

from __future__ import annotations

from typing import Any

from aggro.classifier import LinearClassifier
from aggro.estimator import keep_parameters
from aggro.regressor import LinearRegressor
from aggro.rules import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


class PassiveAggressiveClassifier(LinearClassifier):
    """Passive-Aggressive classifier: stay when the margin is met, else step just far enough.

    Each example solves ::

        minimise  ½‖w − c‖² + C·ξ   subject to   y·f(x) ≥ 1 − ξ

    whose solution is ``w = c + τ y x`` with ``τ = min(C, loss/‖x‖²)`` for the hinge loss.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Price of a broken margin: the largest step (hinge) or the softness of all steps
        (squared hinge). ``np.inf`` gives the hard rule. "auto" learns a grid of values side by
        side and follows the one with the best recent record (``C_``, ``lanes_``).
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature that counts in the norm.
    max_iter : int, default=1000
        Most passes that ``fit`` makes.
    tol : float or None, default=1e-3
        Stop when a pass does not lower the mean loss by this much, ``n_iter_no_change`` times.
    early_stopping : bool, default=False
        Judge passes by the accuracy on held-out rows instead.
    validation_fraction : float, default=0.1
        Part of the rows to hold out.
    n_iter_no_change : int, default=5
        Passes without improvement before stopping.
    shuffle : bool, default=True
        Take the rows in a new random order in each pass of ``fit``.
    verbose : int, default=0
        Print a line for each pass.
    loss : {"hinge", "squared_hinge", "hard", "least_squares"}, default="hinge"
        PA-I, PA-II, PA and PALS.
    n_jobs : int, default=None
        Threads: None is one, -1 all cores. They share what does not depend on each other (the
        outputs of one-vs-rest and of several labels, the lanes of ``C="auto"``) when learning, if
        there are at least 64 of float64, and the rows when predicting. The result is the same for
        any number.
    random_state : int, RandomState or None
        Seed of the orders and of the reservoir.
    warm_start : bool, default=False
        Continue from the model as it is when ``fit`` is called again, with the same features and
        classes. A fit that fails leaves the model as it was.
    class_weight : dict, "balanced" or None
        Weight of each class: multiplies C. "balanced" follows the counts seen since it was set. In
        a stream whose classes were not given, a dict may name classes that are still to come.
    average : bool, int, "reservoir" or "auto", default=False
        Predict with the mean of the weights of all rounds (from the given example on), or of a
        reservoir of classifiers that survived long. "auto" races the last weights against their
        mean.
    multiclass : {"support", "top", "predicted", "ovr"}, default="support"
        Constrain every wrong class (SPA), the best wrong class, the predicted class only when it
        is wrong, or one binary problem for each class.
    metric : {"euclidean", "diagonal", "full", "auto"}, default="euclidean"
        Geometry of the step (PAM): features seen often in updates move less. "auto" races the
        first two.
    class_mean : float, default=0.0
        Pull γ to the nearest-centroid classifier (PAm).
    trigger : {"loss", "always"}, default="loss"
        Pull only when a loss was suffered, or at each example.
    queue : int, default=1
        Start each step from the mean of the last Q classifiers (PAmW).
    batch_size : int, default=1
        Ask for the margins of this many examples together (BPA).
    reservoir_size : int, default=16
        Classifiers in the reservoir.
    scale : {"none", "online", "standard", "auto"}, default="none"
        Bring the features to one scale, by what was seen of them so far: "online" divides by the
        root mean square of the values that were not zero, so zeros stay zeros; "standard" takes
        the mean away and divides by the standard deviation, for dense rows. "auto" races them.
        ``coef_`` and ``intercept_`` are always for the features as they are given.
    forgetting : float, default=0.0
        For streams that change: the share that a new example replaces in the class means, and an
        update in the precision of a diagonal metric. 0.001 remembers about a thousand. With
        something to choose ("auto") the records forget as fast.
    probability : bool, default=False
        Record margins while learning, for ``predict_proba``. The model learned is the same.

    Examples
    --------
    >>> from aggro import PassiveAggressiveClassifier
    >>> clf = PassiveAggressiveClassifier(C=0.1, random_state=0)
    >>> clf.fit([[0.0, 1.0], [1.0, 0.0]], ["cold", "hot"]).predict([[0.9, 0.2]])
    array(['hot'], dtype='<U4')

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006).
    """

    _losses = CLASSIFIER_LOSSES

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "hinge",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = False,
        multiclass: str = "support",
        metric: str = "euclidean",
        class_mean: float = 0.0,
        trigger: str = "loss",
        queue: int = 1,
        batch_size: int = 1,
        reservoir_size: int = 16,
        scale: str = "none",
        forgetting: float = 0.0,
        probability: bool = False,
    ) -> None:
        keep_parameters(self, locals())


class PassiveAggressiveRegressor(LinearRegressor):
    """Passive-Aggressive regressor: stay inside the tube, else step just to its wall.

    Each example solves ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   |y − f(x)| ≤ ε + ξ

    whose solution is ``w = w_t + sign(y − f) τ x`` with ``τ = min(C, loss/‖x‖²)``.

    Parameters
    ----------
    C, fit_intercept, max_iter, tol, early_stopping, validation_fraction, n_iter_no_change, \
shuffle, verbose, n_jobs, random_state, warm_start, average, metric, queue, batch_size, \
reservoir_size
        As in ``PassiveAggressiveClassifier``.
    scale, forgetting
        As in ``PassiveAggressiveClassifier``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard"}
        PA-I (default), PA-II and PA. PA-II with ``epsilon=0`` is least squares (PALS).
    epsilon : float, default=0.1
        Half the width of the tube.
    relative_epsilon : bool, default=False
        Take ``epsilon`` in units of the running standard deviation of the targets.

    Examples
    --------
    >>> from aggro import PassiveAggressiveRegressor
    >>> reg = PassiveAggressiveRegressor(epsilon=0.0, loss="hard", shuffle=False)
    >>> reg.fit([[1.0], [2.0], [3.0]], [2.0, 4.0, 6.0]).predict([[4.0]]).round(2)
    array([8.])

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006).
    """

    _losses = REGRESSOR_LOSSES

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        average: bool | int | str = False,
        metric: str = "euclidean",
        queue: int = 1,
        batch_size: int = 1,
        reservoir_size: int = 16,
        scale: str = "none",
        relative_epsilon: bool = False,
        forgetting: float = 0.0,
    ) -> None:
        keep_parameters(self, locals())
