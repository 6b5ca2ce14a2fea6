"""Passive-Aggressive classification and regression behind scikit-learn's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from aggro.auto import grown, make_learner
from aggro.estimator import LinearEstimator, all_or_nothing, keep_parameters
from aggro.learner import Array, Learner, rows_of
from aggro.rules import CLASSIFIER_LOSSES, REGRESSOR_LOSSES, Settings, Task
from aggro.targets import class_weights, encode, read_classes, read_values


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Classification: labels in, classes out. The rule is the subclass's."""

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from, read in place if C-ordered float32 or float64.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Classes, or an indicator matrix for several labels at once.
        coef_init, intercept_init : arrays, optional
            Weights to start from.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_schedule()
        X = self._read(X, reset=True)
        y, self._multilabel = read_classes(y, X.shape[0])
        lesson: dict[str, Array | None]
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            lesson = {"values": y}
        else:
            self.classes_, labels = np.unique(y, return_inverse=True)
            lesson = {"labels": labels.astype(np.int64)}
            if len(self.classes_) < 2:
                raise ValueError(
                    "The number of classes has to be greater than one; got 1 class: "
                    f"{self.classes_[0]!r}. A stream may begin with one: use partial_fit."
                )
        self._classes_given = True
        self._counts = np.zeros(len(self.classes_))
        settings = self._checked_settings(self._task())
        lesson["weights"] = self._all_weights(lesson.get("labels"), sample_weight, X.shape[0])
        learner = self._first_learner(settings, X.dtype)
        self._start(learner, coef_init, intercept_init)
        held_out, validate = self._validation(X, y)
        self.n_iter_ = self._run_epochs(learner, X, lesson, held_out, validate)
        self._learner, self._known_prices = learner, self._prices()
        self.__dict__.pop("_sparse_coef", None)
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        """Learn from X and y once, in the given order; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes.
        classes : array, optional
            All classes that may ever appear. When it is never given, classes may appear at any
            time and enter with zero weights.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._require_dense()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit.")
        first = not hasattr(self, "_learner")
        X = self._read(X, reset=first)
        lesson = self._meet(X, y, classes, first)
        lesson["weights"] = self._all_weights(lesson.get("labels"), sample_weight, X.shape[0])
        self._reconfigure(self._task())
        self._learner.learn(rows_of(X), **lesson)
        self.n_iter_ = 1
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the scores: one per row for two classes, else one per row and class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 and not self._multilabel else scores

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or the indicator matrix of its labels."""
        scores = self.decision_function(X)
        if self._multilabel:
            return (scores > 0).astype(np.int64)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[np.minimum(index, len(self.classes_) - 1)]  # a stream may know one

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = False
        return tags

    # -- classes ----------------------------------------------------------------------------

    def _adopt(self, learner: Learner, classes: Array, multilabel: bool) -> Any:
        """Become the fitted estimator around a learner."""
        self._learner, self.classes_, self._multilabel = learner, classes, multilabel
        self._classes_given, self._counts = True, np.zeros(len(classes))
        self.n_features_in_, self.n_iter_ = learner.features, 1
        self._known_prices = self._prices()
        return self

    def _task(self) -> Task:
        if self._multilabel:
            return "multilabel"
        return "binary" if len(self.classes_) == 2 else "multiclass"

    def _new_learner(self, settings: Settings, dtype: Any) -> Learner:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return make_learner(settings, self.n_features_in_, len(self.classes_), dtype, seed)

    def _first_learner(self, settings: Settings, dtype: Any) -> Learner:
        """Return a new learner, or the old one when ``warm_start`` asks for it."""
        old: Learner | None = getattr(self, "_learner", None)
        if not self.warm_start or old is None:
            return self._new_learner(settings, dtype)
        outputs = 1 if settings.task == "binary" else len(self.classes_)
        if (old.features, old.outputs) != (self.n_features_in_, outputs):
            raise ValueError(
                f"warm_start continues a model of {old.features} features and {old.outputs} "
                f"outputs, but the data have {self.n_features_in_} and {outputs}."
            )
        old.configure(settings)
        return old

    def _meet(self, X: Any, y: Any, classes: Any, first: bool) -> dict[str, Array | None]:
        """Read the targets of a batch, making or growing the learner as they need."""
        y, multilabel = read_classes(y, X.shape[0])
        if first:
            self._multilabel = multilabel
            self._classes_given = classes is not None or multilabel
            self.classes_ = self._given_classes(classes, y)
            self._counts = np.zeros(len(self.classes_))
            self._learner = self._new_learner(self._checked_settings(self._task()), X.dtype)
            self._known_prices = self._prices()
        elif multilabel != self._multilabel or (multilabel and y.shape[1] != len(self.classes_)):
            raise ValueError(
                "y must keep its kind: one label per row, or an indicator matrix with the same "
                "number of columns, in all calls of partial_fit."
            )
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
                f"{self.classes_!r}."
            )
        if multilabel:
            return {"values": y}
        if not self._classes_given and not first:
            self._admit(y)
        return {"labels": encode(y, self.classes_)}

    def _given_classes(self, classes: Any, y: Array) -> Array:
        if self._multilabel:
            return np.arange(y.shape[1])
        return np.unique(y if classes is None else classes)

    def _admit(self, y: Array) -> None:
        """Let classes that were never seen enter, with zero weights."""
        everybody = np.union1d(self.classes_, y)
        if len(everybody) == len(self.classes_):
            return
        self._reconfigure(self._task())
        position = np.searchsorted(everybody, self.classes_)
        counts = np.zeros(len(everybody))
        counts[position] = self._counts
        self.classes_, self._counts = everybody, counts
        settings = self._checked_settings(self._task())
        self._learner = grown(self._learner, settings, position, len(everybody))

    def _all_weights(self, labels: Array | None, sample_weight: Any, count: int) -> Array | None:
        weights = self._weights(sample_weight, count)
        if self.class_weight is None:
            return weights
        if labels is None:
            raise ValueError("class_weight needs one label per row; y is an indicator matrix.")
        present = labels if weights is None else labels[weights > 0]
        self._counts = self._counts + np.bincount(present, minlength=len(self.classes_))
        by_class = class_weights(self.class_weight, self.classes_, self._counts)
        assert by_class is not None
        return by_class[labels] if weights is None else by_class[labels] * weights

    # -- early stopping ---------------------------------------------------------------------

    def _validation(self, X: Any, y: Array) -> tuple[Array | None, Any]:
        """Hold out a part of the rows and return it with the function that scores a learner."""
        if not self.early_stopping:
            return None, None
        split = ShuffleSplit if self._multilabel else StratifiedShuffleSplit
        parts = split(test_size=self.validation_fraction, random_state=self.random_state)
        held_out = next(parts.split(np.zeros(len(y)), y))[1].astype(np.int64)
        rows, truth = rows_of(X[np.sort(held_out)]), y[np.sort(held_out)]

        def accuracy(learner: Learner) -> float:
            scores = learner.scores(rows)
            if self._multilabel:
                return float(((scores > 0) == (truth > 0)).all(axis=1).mean())
            index = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
            return float((self.classes_[index] == truth).mean())

        return held_out, accuracy


class LinearRegressor(MultiOutputMixin, RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Regression: numbers in, numbers out. The rule is the subclass's."""

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Learn from X and y in up to ``max_iter`` passes; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from, read in place if C-ordered float32 or float64.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        coef_init, intercept_init : arrays, optional
            Weights to start from.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C.
        """
        self._check_schedule()
        X = self._read(X, reset=True)
        settings = self._checked_settings("regression")
        values = read_values(y, X.shape[0])
        self._flat = values.shape[1] == 1
        lesson = {"values": values, "weights": self._weights(sample_weight, X.shape[0])}
        learner = getattr(self, "_learner", None) if self.warm_start else None
        if learner is None:
            learner = make_learner(settings, self.n_features_in_, values.shape[1], X.dtype)
        learner.configure(settings)
        self._start(learner, coef_init, intercept_init)
        held_out, validate = self._validation(X, values)
        self.n_iter_ = self._run_epochs(learner, X, lesson, held_out, validate)
        self._learner, self._known_prices = learner, self._prices()
        self.__dict__.pop("_sparse_coef", None)
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
        self._require_dense()
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit.")
        first = not hasattr(self, "_learner")
        X = self._read(X, reset=first)
        values = read_values(y, X.shape[0])
        weights = self._weights(sample_weight, X.shape[0])
        if first:
            self._flat = values.shape[1] == 1
            settings = self._checked_settings("regression")
            self._learner = make_learner(settings, self.n_features_in_, values.shape[1], X.dtype)
            self._known_prices = self._prices()
        elif values.shape[1] != self._learner.outputs:
            raise ValueError(
                f"y has {values.shape[1]} columns, but the model has {self._learner.outputs}."
            )
        self._reconfigure("regression")
        self._learner.learn(rows_of(X), values=values, weights=weights)
        self.n_iter_ = 1
        return self

    def _adopt(self, learner: Learner, classes: Any, multilabel: bool) -> Any:
        """Become the fitted estimator around a learner."""
        self._learner, self._flat = learner, learner.outputs == 1
        self.n_features_in_, self.n_iter_ = learner.features, 1
        self._known_prices = self._prices()
        return self

    def predict(self, X: Any) -> Array:
        """Return the predicted target of each row."""
        scores = self._scores(X)
        return scores.ravel() if self._flat else scores

    def _coef(self) -> Array:
        coef = self._learner.coef()
        return coef.ravel() if self._flat else coef

    def _validation(self, X: Any, values: Array) -> tuple[Array | None, Any]:
        """Hold out a part of the rows and return it with the function that scores a learner."""
        if not self.early_stopping:
            return None, None
        parts = ShuffleSplit(test_size=self.validation_fraction, random_state=self.random_state)
        held_out = np.sort(next(parts.split(values))[1]).astype(np.int64)
        rows, truth = rows_of(X[held_out]), values[held_out]
        spread = ((truth - truth.mean(axis=0)) ** 2).sum()

        def r2(learner: Learner) -> float:
            return float(1 - ((truth - learner.scores(rows)) ** 2).sum() / max(spread, 1e-300))

        return held_out, r2


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
        Threads for independent outputs (``multiclass="ovr"``, several labels).
    random_state : int, RandomState or None
        Seed of the orders and of the reservoir.
    warm_start : bool, default=False
        Continue from the model as it is when ``fit`` is called again.
    class_weight : dict, "balanced" or None
        Weight of each class: multiplies C. "balanced" follows the counts seen so far.
    average : bool, int, "reservoir" or "auto", default=False
        Predict with the mean of the weights of all rounds (from the given example on), or of a
        reservoir of classifiers that survived long. "auto" races the last weights against their
        mean.
    multiclass : {"support", "top", "predicted", "ovr"}, default="support"
        Constrain every wrong class (SPA), the best wrong class, the predicted class only when it
        is wrong, or one binary problem for each class.
    metric : {"euclidean", "diagonal", "full"}, default="euclidean"
        Geometry of the step (PAM): features seen often in updates move less.
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
shuffle, verbose, random_state, warm_start, average, metric, queue, batch_size, reservoir_size
        As in ``PassiveAggressiveClassifier``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive", "hard"}
        PA-I (default), PA-II and PA. PA-II with ``epsilon=0`` is least squares (PALS).
    epsilon : float, default=0.1
        Half the width of the tube.

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
        random_state: Any = None,
        warm_start: bool = False,
        average: bool | int | str = False,
        metric: str = "euclidean",
        queue: int = 1,
        batch_size: int = 1,
        reservoir_size: int = 16,
    ) -> None:
        keep_parameters(self, locals())
