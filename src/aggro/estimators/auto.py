"""Self-tuning estimators: settings are selected while learning."""

from __future__ import annotations

from typing import Any

from aggro.estimators.classifier import Classifier
from aggro.estimators.linear import LinearModel
from aggro.estimators.regressor import Regressor
from aggro.sklearn_api import store_parameters


class AutoClassifier(LinearModel, Classifier):
    """Passive-Aggressive classifier that chooses its own settings while it learns.

    It compares the columns with non-linear features of them, and a grid of C in several metrics and
    scales of the features, with the last weights and with their mean. Every example is predicted
    before it is learned, and the candidate with the fewest recent mistakes predicts; the first 1024
    examples of two classes are predicted by an ensemble of all linear candidates, or of all
    others. It is ``PassiveAggressiveClassifier`` with ``C``, ``metric``, ``scale`` and ``features``
    set to "auto" and ``loss="squared_hinge"``.

    The parameters come in groups:

    - Update rule: ``class_weight``;
    - Features: ``fit_intercept``, ``features``;
    - Prediction: ``probability``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``early_stopping``,
      ``validation_fraction``, ``shuffle``, ``random_state``, ``warm_start``, ``verbose``;
    - Resources and merging: ``n_jobs``, ``memory``, ``mergeable``.

    Parameters
    ----------
    class_weight
        As in ``PassiveAggressiveClassifier``.
    fit_intercept : bool, default=True
        Whether an intercept is learned.
    features : {"auto", "linear", "fourier", "bins", "both"}, default="auto"
        Features to learn from. "linear": the columns. "fourier", "bins" and "both" are non-linear
        features of the columns (see ``FeatureMap``), for curved boundaries. "auto" selects between
        "linear" and "both" if there are at most 300 columns, unless the model is ``mergeable``;
        otherwise it is "linear". ``coef_`` exists if the best candidate is linear.
    probability
        As in ``PassiveAggressiveClassifier``.
    max_iter, tol, n_iter_no_change, early_stopping, validation_fraction, shuffle, random_state, \
warm_start, verbose
        As in ``PassiveAggressiveClassifier``. ``fit`` selects in its first pass; held-out rows then
        choose the number of passes, between linear and other features, and between the best C and
        the next smaller one. With "auto", ``fit`` on 100 to 2999 rows makes up to five trials for
        that, each with another fifth of the rows held out, if it considers non-linear features.
    n_jobs, memory, mergeable
        As in ``PassiveAggressiveClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from aggro import AutoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoClassifier().fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> sorted(model.selection_report().best)[:3]
    ['C', 'average', 'behind']
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        features: str = "auto",
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
        probability: bool = False,
        mergeable: bool = False,
        memory: int | float | str | None = None,
    ) -> None:
        store_parameters(self, locals())


class AutoRegressor(LinearModel, Regressor):
    """Passive-Aggressive regressor that chooses its own settings while it learns.

    It compares the columns with non-linear features of them, and a grid of C in several metrics and
    scales of the features, with the last weights and with their mean, and predicts with the
    candidate that was recently closest to the targets. It is ``PassiveAggressiveRegressor`` with
    ``C``, ``metric``, ``scale``, ``features`` and ``loss`` set to "auto" and ``epsilon=0``.

    The parameters come in groups:

    - Features: ``fit_intercept``, ``features``;
    - Prediction: ``criterion``;
    - Passes of ``fit``: ``max_iter``, ``tol``, ``n_iter_no_change``, ``early_stopping``,
      ``validation_fraction``, ``shuffle``, ``random_state``, ``warm_start``, ``verbose``;
    - Resources and merging: ``n_jobs``, ``memory``, ``mergeable``.

    Parameters
    ----------
    fit_intercept, features
        As in ``AutoClassifier``.
    criterion : {"absolute", "squared"}, default="absolute"
        The error that the selected model minimises: the mean absolute error, which outlying targets
        hardly change, or the mean squared error, which R² measures.
    max_iter, tol, n_iter_no_change
        As in ``AutoClassifier``.
    early_stopping : bool or "auto", default="auto"
        True: ``fit`` stops by R² on held-out rows instead of the loss. "auto": ``fit`` on 500 rows
        or more holds a tenth of them (at most 1000) out. The model returns to the pass, which may
        be the first, with the smallest error of ``criterion`` on them, and then learns them. On
        100 to 499 rows it makes trials, as ``AutoClassifier`` does.
    validation_fraction, shuffle, random_state, warm_start, verbose
        As in ``AutoClassifier``.
    n_jobs, memory, mergeable
        As in ``AutoClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from aggro import AutoRegressor
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> model = AutoRegressor().fit(X, X @ [1.0, -2.0, 3.0])
    >>> model.score(X, X @ [1.0, -2.0, 3.0]) > 0.9
    True
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        features: str = "auto",
        criterion: str = "absolute",
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
        mergeable: bool = False,
        memory: int | float | str | None = None,
    ) -> None:
        store_parameters(self, locals())
