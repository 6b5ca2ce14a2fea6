"""Classification: labels in, classes out; and its linear form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state

from aggro.auto import AnyLearner, grown, make_learner
from aggro.estimator import all_or_nothing
from aggro.growth import joined
from aggro.learner import Array, rows_of
from aggro.probability import Probabilities
from aggro.rules import Settings, Task
from aggro.targets import class_weights, classes_of, encode, known_labels, read_classes
from aggro.threads import threads_of
from aggro.weights import LinearEstimator


class OnlineClassifier(ClassifierMixin, Probabilities):  # type: ignore[misc]  # sklearn is untyped
    """Classification: labels in, classes out. The learner is the subclass's."""

    classes_: Array
    _multilabel: bool

    def decision_function(self, X: Any) -> Array:
        """Return the scores: one per row for two classes, else one per row and class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 and not self._multilabel else scores

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or the indicator matrix of its labels."""
        scores = self.decision_function(X)
        if self._multilabel:
            return (scores > 0).astype(np.int64)
        index = scores > 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_.take(index, mode="clip")  # a stream may know one class only

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = False
        return tags

    # -- classes ----------------------------------------------------------------------------

    def _task(self) -> Task:
        if self._multilabel:
            return "multilabel"
        return "binary" if len(self.classes_) <= 2 else "multiclass"

    def _meet(self, X: Any, y: Any, classes: Any, first: bool) -> dict[str, Any]:
        """Read the targets of a batch, making or growing the learner as they need."""
        labels = None if first else known_labels(y, self.classes_, X.shape[0])
        if labels is not None and not self._multilabel:
            self._check_same(classes)
            return {"labels": labels}
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
        else:
            self._check_same(classes)
        if multilabel:
            return {"values": y}
        if not self._classes_given and not first:
            before = self.classes_, self._learner.settings
            self._admit(y)
            self._grow_calibrator(*before)
        return {"labels": encode(y, self.classes_)}

    def _check_same(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
                f"{self.classes_!r}."
            )

    def _new_learner(self, settings: Settings, dtype: Any) -> Any:
        """Return a learner for the classes known so far."""
        raise NotImplementedError

    def _grown(self, settings: Settings, position: Array, classes: int) -> Any:
        """Return the learner with more classes (see ``grow_classes``)."""
        raise NotImplementedError

    def _admit(self, y: Array) -> None:
        """Let classes that were never seen enter."""
        everybody, position = joined(self.classes_, y)
        if len(everybody) == len(self.classes_):
            return
        self._reconfigure(self._task())
        counts = np.zeros(len(everybody))
        counts[position] = self._counts
        self.classes_, self._counts = everybody, counts
        settings = self._checked_settings(self._task())
        self._learner = self._grown(settings, position, len(everybody))

    def _given_classes(self, classes: Any, y: Array) -> Array:
        if self._multilabel:
            return np.arange(y.shape[1])
        return np.unique(y if classes is None else classes)

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


class LinearClassifier(OnlineClassifier, LinearEstimator):
    """Classification by a linear learner. The rule is the subclass's."""

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
        lesson: dict[str, Any]
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            lesson = {"values": y}
        else:
            self.classes_, labels = classes_of(y)
            lesson = {"labels": labels}
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
        once = self._once(learner, X, lesson, sample_weight)
        self.n_iter_ = self._run_epochs(learner, X, lesson, held_out, validate, once)
        if self.probability and once is None:
            self._calibrate(learner, X, lesson, sample_weight)
        self._learner, self._known_prices = learner, self._prices()
        self.__dict__.pop("_sparse_coef", None)
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
            time: the first is learned against the second, others enter with zero weights.
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
        if self.probability:
            self._learn_and_record(X, lesson, sample_weight)
        else:
            self._learner.learn(rows_of(X), threads=threads_of(self.n_jobs), **lesson)
        self.n_iter_ = 1
        return self

    # -- the learner -------------------------------------------------------------------------

    def _adopt(self, learner: AnyLearner, classes: Any, multilabel: bool) -> Any:
        """Become the fitted estimator around a learner."""
        self._learner, self.classes_, self._multilabel = learner, classes, multilabel
        self._classes_given, self._counts = True, np.zeros(len(classes))
        self.n_features_in_, self.n_iter_ = learner.features, 1
        self._known_prices = self._prices()
        return self

    def _new_learner(self, settings: Settings, dtype: Any) -> AnyLearner:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return make_learner(settings, self.n_features_in_, len(self.classes_), dtype, seed)

    def _first_learner(self, settings: Settings, dtype: Any) -> AnyLearner:
        """Return a new learner, or the old one when ``warm_start`` asks for it."""
        old: AnyLearner | None = getattr(self, "_learner", None)
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

    def _grown(self, settings: Settings, position: Array, classes: int) -> AnyLearner:
        return grown(self._learner, settings, position, classes)

    # -- early stopping ---------------------------------------------------------------------

    def _validation(self, X: Any, y: Array) -> tuple[Array | None, Any]:
        """Hold out a part of the rows and return it with the function that scores a learner."""
        if not self.early_stopping:
            return None, None
        split = ShuffleSplit if self._multilabel else StratifiedShuffleSplit
        parts = split(test_size=self.validation_fraction, random_state=self.random_state)
        held_out = next(parts.split(np.zeros(len(y)), y))[1].astype(np.int64)
        rows, truth = rows_of(X[np.sort(held_out)]), y[np.sort(held_out)]

        def accuracy(learner: AnyLearner) -> float:
            scores = learner.scores(rows)
            if self._multilabel:
                return float(((scores > 0) == (truth > 0)).all(axis=1).mean())
            index = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(1)
            return float((self.classes_[index] == truth).mean())

        return held_out, accuracy
