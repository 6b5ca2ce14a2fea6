"""Passive-Aggressive estimators with scikit-learn's names."""

from __future__ import annotations

from typing import Any

from aggro.estimators.classifier import Classifier
from aggro.estimators.linear import LinearModel
from aggro.estimators.regressor import Regressor
from aggro.sklearn_api import store_parameters


class PassiveAggressiveClassifier(LinearModel, Classifier):
    """Passive-Aggressive classifier: the smallest step that satisfies the margin.

    Each example solves ::

        minimise  ½‖w − c‖² + C·ξ   subject to   y·f(x) ≥ 1 − ξ

    whose solution is ``w = c + τ y x`` with ``τ = min(C, loss/‖x‖²)`` for the hinge loss.

    The parameters come in groups:

    - Update rule: ``C``, ``loss``, ``multiclass``, ``class_weight``, ``metric``, ``class_mean``,
      ``trigger``, ``queue``, ``batch_size``, ``forgetting``;
    - Features: ``fit_intercept``, ``intercept_scaling``, ``scale``, ``features``;
    - Prediction: ``average``, ``reservoir_size``, ``probability``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``early_stopping``,
      ``validation_fraction``, ``shuffle``, ``random_state``, ``warm_start``, ``verbose``;
    - Resources and merging: ``n_jobs``, ``memory``, ``mergeable``.

    Parameters
    ----------
    C : float or "auto", default=1.0
        Aggressiveness: the cost of a violated margin. With the hinge loss, C is the largest step;
        with the squared hinge, a smaller C makes all steps shorter. ``np.inf`` gives the hard rule.
        "auto" trains a grid of values side by side and predicts with the one that has made the
        fewest mistakes recently; see ``C_`` and ``candidates_``.
    loss : {"hinge", "squared_hinge", "hard", "least_squares"}, default="hinge"
        How a missed margin is penalised. The values give the variants PA-I, PA-II, PA and PALS.
    multiclass : {"support", "top", "predicted", "ovr"}, default="support"
        Which constraints an example with more than two classes imposes. "support": a margin over
        every wrong class (SPA). "top": a margin over the best wrong class. "predicted": the same,
        but only if the prediction was wrong. "ovr": one binary problem for each class.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They multiply C. "balanced" uses the class counts seen since the
        parameter was set. If the classes of a stream were not given in advance, a dict may name
        classes that have not appeared yet.
    metric : {"euclidean", "diagonal", "adagrad", "newton", "full", "auto"}, default="euclidean"
        Metric in which the step is measured (PAM). In all others than "euclidean", features that
        have taken part in many updates move less. "adagrad" takes the root of the diagonal metric,
        as AdaGrad does, so that they slow down later. "newton" lets a feature slow down by what its
        examples cost, and before the step. "auto" selects among all but "full", for regression
        all but these two.
    class_mean : float, default=0.0
        Strength γ of the pull towards the nearest-centroid classifier (PAm). 0 means no pull.
    trigger : {"loss", "always"}, default="loss"
        Whether the pull acts only when an example suffers a loss, or at every example.
    queue : int, default=1
        Each step starts from the mean of the last ``queue`` classifiers (PAmW).
    batch_size : int, default=1
        Number of examples that are learned together, as a mini-batch (BPA).
    forgetting : float, default=0.0
        For streams that change. At each example, this fraction of the class means is replaced; at
        each update, this fraction of the precision of a diagonal metric is forgotten. 0.001
        remembers about a thousand examples. The records by which "auto" chooses forget at the same
        rate.
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature, and this feature
        counts in the norm of the row.
    intercept_scaling : float or "auto", default="auto"
        Value of the constant feature. With a large value, the intercept takes most of each step
        when rows are short. "auto" uses a fifth of the length of the first non-zero row, and at
        most 1.
    scale : {"none", "online", "standard", "auto"}, default="none"
        How features are scaled, using statistics of the rows seen so far. "online" divides each
        feature by the root mean square of its non-zero values; zeros stay zero. "standard"
        subtracts the mean and divides by the standard deviation; it is for dense rows. "auto"
        selects among the three. ``coef_`` and ``intercept_`` always refer to the original features.
    features : {"linear", "fourier", "bins", "both", "auto"}, default="linear"
        Features that are learned. "linear": the columns. "fourier", "bins" and "both" are
        non-linear features of the columns (see ``FeatureMap``), for curved boundaries; ``coef_``
        does not exist then. "auto" selects among all four if there are at most 300 columns, unless
        the model is ``mergeable``; otherwise it is "linear".
    average : bool, int, "reservoir" or "auto", default="auto"
        Which weights predict. False: the last ones. True: the mean over all rounds. An integer n:
        the mean from the n-th example on. "reservoir": the mean of a sample of past classifiers,
        in which those that lasted longer are more likely. "auto": a mean in which late rounds
        count more (the round after n new examples weighs n³), unless the last weights have made
        significantly fewer mistakes lately. Both are evaluated on each example before it is
        learned. The last weights predict for the first ten examples.
    reservoir_size : int, default=16
        Number of classifiers in the reservoir.
    probability : bool, default=False
        Whether margins are recorded while learning, so that ``predict_proba`` can be used. The
        model itself does not change.
    max_iter : int, default=1000
        Maximum number of passes over the data in ``fit``.
    tol : float or None, default=1e-3
        ``fit`` stops when the mean loss has not decreased by at least ``tol`` for
        ``n_iter_no_change`` passes. With None it makes all ``max_iter`` passes.
    n_iter_no_change : int, default=5
        Number of passes without improvement after which ``fit`` stops.
    early_stopping : bool or "auto", default="auto"
        True: ``fit`` stops by the accuracy on held-out rows instead of the loss. "auto": ``fit`` on
        3000 rows or more holds a twentieth of them (at most 1000) out. The model returns to the
        pass, which may be the first, in which their log loss was smallest, and then learns them.
        For that, one copy of what the passes change is kept at a time. ``n_iter_`` counts all
        passes, ``t_`` the examples that the model has learned. It is the same as False with fewer
        rows (of mapped features: see ``AutoClassifier``), without ``tol``, when ``fit`` continues a
        model, and unless ``average="auto"``.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out for ``early_stopping``.
    shuffle : bool, default=True
        Whether ``fit`` takes the rows in a new random order in each pass.
    random_state : int, RandomState or None, default=0
        Seed for the order of the rows, non-linear features and the reservoir. The same program
        trains the same model; None draws another seed in each call.
    warm_start : bool, default=False
        Whether ``fit`` continues the current model instead of starting again. Features and classes
        must be the same. A failing call leaves the model unchanged.
    verbose : int, default=0
        If positive, ``fit`` prints a line after each pass.
    n_jobs : int, default=None
        Number of threads. None means one thread, -1 means all cores. While learning, the threads
        share independent outputs: those of one-vs-rest, of several labels, and the models of
        ``C="auto"``. They are used when there are at least 64 outputs in float64. While
        predicting, they share the rows. The result does not depend on the number of threads.
    memory : int, float or str, default=None
        Maximum memory of the model selection, copies included: bytes, or a size such as "512MiB".
        By default one GiB, or a quarter of the machine's memory if that is less. With wide rows or
        many classes it limits the number of candidates. Without a selection it has no effect.
    mergeable : bool, default=False
        Whether the updates of each weight are counted, so that ``aggro.merge`` can be used. The
        model itself does not change. It takes twice the memory in the Euclidean metric, and no more
        in the others.

    Examples
    --------
    >>> from aggro import PassiveAggressiveClassifier
    >>> clf = PassiveAggressiveClassifier(C=0.1)
    >>> clf.fit([[0.0, 1.0], [1.0, 0.0]], ["cold", "hot"]).predict([[0.9, 0.2]])
    array(['hot'], dtype='<U4')

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer: Online Passive-Aggressive Algorithms,
    JMLR 7 (2006).
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "hinge",
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        average: bool | int | str = "auto",
        multiclass: str = "support",
        metric: str = "euclidean",
        class_mean: float = 0.0,
        trigger: str = "loss",
        queue: int = 1,
        batch_size: int = 1,
        reservoir_size: int = 16,
        scale: str = "none",
        features: str = "linear",
        forgetting: float = 0.0,
        intercept_scaling: float | str = "auto",
        probability: bool = False,
        mergeable: bool = False,
        memory: int | float | str | None = None,
    ) -> None:
        store_parameters(self, locals())


class PassiveAggressiveRegressor(LinearModel, Regressor):
    """Passive-Aggressive regressor: the smallest step into the tube around the target.

    Each example solves ::

        minimise  ½‖w − w_t‖² + C·ξ   subject to   |y − f(x)| ≤ ε + ξ

    whose solution is ``w = w_t + sign(y − f) τ x`` with ``τ = min(C, loss/‖x‖²)``.

    The parameters come in groups:

    - Update rule: ``C``, ``loss``, ``epsilon``, ``relative_epsilon``, ``metric``, ``queue``,
      ``batch_size``, ``forgetting``;
    - Features: ``fit_intercept``, ``intercept_scaling``, ``scale``, ``features``;
    - Prediction: ``average``, ``reservoir_size``, ``criterion``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``early_stopping``,
      ``validation_fraction``, ``shuffle``, ``random_state``, ``warm_start``, ``verbose``;
    - Resources and merging: ``n_jobs``, ``memory``, ``mergeable``.

    Parameters
    ----------
    C
        As in ``PassiveAggressiveClassifier``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard", "auto"}, \
default="epsilon_insensitive"
        How an error outside the tube is penalised. The values give the variants PA-I, PA-II and
        PA. PA-II with ``epsilon=0`` is least squares (PALS). "auto" is the loss that minimises the
        error of ``criterion``: PA-I for absolute and PA-II for squared errors.
    epsilon : float, default=0.1
        Half the width of the tube: smaller errors cost nothing.
    relative_epsilon : bool, default=False
        Whether ``epsilon`` is in units of the running standard deviation of the targets.
    metric, queue, batch_size, forgetting
        As in ``PassiveAggressiveClassifier``.
    fit_intercept
        As in ``PassiveAggressiveClassifier``.
    intercept_scaling : float or "auto", default=1.0
        Value of the constant feature whose weight is the intercept.
    scale, features
        As in ``PassiveAggressiveClassifier``.
    average, reservoir_size
        As in ``PassiveAggressiveClassifier``.
    criterion : {"absolute", "squared"}, default="absolute"
        The error of predictions that is recorded before each example is learned, and that selects
        what is "auto". The squared error of predictions is least where they are the mean of the
        targets of similar rows, the absolute error where they are the median.
    max_iter, tol, n_iter_no_change
        As in ``PassiveAggressiveClassifier``.
    early_stopping : bool or "auto", default=False
        True: ``fit`` stops by R² on held-out rows instead of the loss. "auto": ``fit`` on 500 rows
        or more holds a tenth of them (at most 1000) out. The model returns to the pass, which may
        be the first, with the smallest error of ``criterion`` on them, and then learns them.
    validation_fraction, shuffle, random_state, warm_start, verbose
        As in ``PassiveAggressiveClassifier``.
    n_jobs, memory, mergeable
        As in ``PassiveAggressiveClassifier``.

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        early_stopping: bool | str = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        verbose: int = 0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        average: bool | int | str = "auto",
        metric: str = "euclidean",
        queue: int = 1,
        batch_size: int = 1,
        reservoir_size: int = 16,
        scale: str = "none",
        features: str = "linear",
        relative_epsilon: bool = False,
        criterion: str = "absolute",
        forgetting: float = 0.0,
        intercept_scaling: float | str = 1.0,
        mergeable: bool = False,
        memory: int | float | str | None = None,
    ) -> None:
        store_parameters(self, locals())
