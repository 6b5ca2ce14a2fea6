"""Classifiers around any learner: labels, classes and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.calibration.probability_map import uncalibrated
from aggro.calibration.recorder import Recorder
from aggro.classes import Classes, encode_known, predicted
from aggro.estimators import counters
from aggro.estimators.base import Fitted, OnlineEstimator
from aggro.estimators.held_out import accuracy_of, classifier_rule
from aggro.estimators.passes import Train
from aggro.estimators.targets import (
    check_kind,
    check_same_classes,
    check_warm_start,
    class_weights,
    classes_of,
    first_classes,
    read_classes,
    task_of,
)
from aggro.kernel_learner import KernelLearner
from aggro.learner import Array
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, Task
from aggro.sklearn_api import available_if, check_fitted, exception
from aggro.training_batch import TrainingBatch, read_weights
from aggro.transaction import Transaction, checkpoint_of

# A function of y and the number of rows that returns y as an array, and whether it is an indicator
# matrix.
ReadClasses = Callable[[Any, int], tuple[Array, bool]]


class NoExample(Exception):
    """Raised if the first call has no example of positive weight: the estimator stays unfitted."""


def check_probability(estimator: Any) -> None:
    """Raise unless an estimator has probabilities."""
    if not estimator.probability:
        raise AttributeError(
            f"{type(estimator).__name__} has probabilities only with probability=True."
        )


def check_recorded(record: Any) -> None:
    """Raise ``NotFittedError`` if the margins of a model were not recorded."""
    if record is None:
        raise exception("NotFittedError")(
            "The model was learned without probability=True; learn it again with it."
        )


class Classifier(OnlineEstimator):
    """A classifier around a linear or a kernel learner."""

    _estimator_kind = "classifier"

    # -- predicting -------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Return the scores: one per row for two classes, else one per row and class.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        """
        scores: Array = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 and not self._multilabel else scores

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or the indicator matrix of its labels.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        """
        scores = self._scores(X)
        fitted = self._fitted
        assert fitted.classes is not None
        multilabel = fitted.learner.settings.task == "multilabel"
        return predicted(None if multilabel else fitted.classes.labels, scores)

    @available_if(check_probability)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, or of each label.

        They are fitted to margins of examples before they were learned. ``predict`` follows the
        margins and may, close to the boundary, choose another class than the most probable.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        """
        check_fitted(self)
        check_recorded(self._fitted.record)
        return self._probabilities_of(self._scores(X))

    @available_if(check_probability)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        """
        with np.errstate(divide="ignore"):  # a probability may be too small for a float
            return np.asarray(np.log(self.predict_proba(X)))

    def _probabilities_of(self, scores: Array) -> Array:
        """Return the probability of each class; a softmax if no margins were recorded."""
        record = self._fitted.record
        if record is None:
            return uncalibrated(scores, len(self.classes_), self._multilabel)
        return record.probabilities(self._learner, scores)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows that are predicted correctly (all labels of a row).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to predict.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes.
        sample_weight : array of shape (n_samples,), optional
            How many times each row counts.
        """
        answers = self.predict(X)
        truth, _ = read_classes(y, len(answers))
        return accuracy_of(answers, truth, read_weights(sample_weight, len(answers)))

    # -- fitted attributes ------------------------------------------------------------------

    @property
    def classes_(self) -> Array:
        """The classes, sorted; the numbers of the labels for an indicator matrix."""
        return self._classes.labels

    @property
    def _classes(self) -> Classes:
        classes = self._state("classes_").classes
        assert classes is not None
        return classes

    @property
    def _multilabel(self) -> bool:
        return bool(self._learner.settings.task == "multilabel")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # -- fit ----------------------------------------------------------------------------------

    def _checked_settings(self, task: Task) -> Settings:
        if not isinstance(self.probability, (bool, np.bool_)):
            raise ValueError(f"probability={self.probability!r} is not valid; give True or False.")
        return super()._checked_settings(task)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, start: Callable[[Any], None] | None = None
    ) -> None:
        """Learn in several passes; ``start`` gives a new learner its first weights."""
        passes, known = self._checked_passes(), self._continued()
        X, names = self._read(X, known)
        y, multilabel = read_classes(y, X.shape[0])
        classes, targets = classes_of(y, multilabel)
        settings = self._checked_settings(task_of(classes, multilabel))
        weights = read_weights(sample_weight, X.shape[0])
        targets["weights"], counts = self._weighted(targets, weights, classes)
        if known is None:
            learner = self._new_learner(settings, len(classes), X, weights, passes.max_iter)
        else:
            check_warm_start(known, classes, multilabel)
            learner = self._copied_learner(settings)
        if start is not None:
            start(learner)
        batch = self._batch(X, targets)
        labels = None if multilabel else classes.labels
        rule = classifier_rule(self, passes, learner, batch, y, labels, weights)
        made = Fitted(learner, self._parameters(), names, classes=classes, counts=counts)
        train = self._recording(made, batch, weights) if self.probability else None
        n_iter = passes.run(learner, batch, rule, train)
        record = None
        if train is not None:
            record = train.record
        elif self.probability:
            record = self._empty_record(made).of_clones(learner, batch, weights, self.shuffle)
        kept = None if known is None else known.counters
        self._fitted = made.changed(n_iter=n_iter, record=record, counters=kept)

    def _recording(
        self, made: Fitted, batch: TrainingBatch, weights: Array | None
    ) -> RecordedPass | None:
        """Return how to learn rows that are seen only once, if their margins are to be recorded."""
        learner = made.learner
        several = self.max_iter > 1 or learner.examples > 0 or isinstance(learner, ModelSelection)
        return None if several else RecordedPass(learner, batch, weights, self._empty_record(made))

    # -- partial_fit --------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn from X and y once, in the given order; return the estimator.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to learn from.
        y : array of shape (n_samples,) or (n_samples, n_labels)
            Their classes.
        classes : array, optional
            All classes that may appear. If it is never given, classes may appear at any time: the
            first is learned against the second, others start with zero weights.
        sample_weight : array of shape (n_samples,), optional
            How many times each example counts: multiplies C. Rows of weight zero are ignored: a
            first call of such rows alone, without ``classes``, leaves the estimator unfitted.
        """
        with self._lock.take(), Transaction(self._checkpoint()):
            self._check_stream()
            known: Fitted | None = self.__dict__.get("_fitted")
            X, names = self._read(X, known)
            weights = read_weights(sample_weight, X.shape[0])
            try:
                batch = self._prepare(X, y, weights, classes, names)
            except NoExample:
                return self
            # counts of classes and monotonic columns include all rows, so all are learned or none
            found = None if known is None else known.counters
            whole = self.class_weight is not None or self._fitted.counters is not found
            self._learn_batch(batch, weights, whole=whole)
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        weights: Array | None,
        classes: Any = None,
        names: Array | None = None,
        *,
        read: ReadClasses = read_classes,
        ignore_counters: bool = True,
    ) -> TrainingBatch:
        """Return a batch for ``_learn_batch``, and add its classes to the learner.

        Parameters
        ----------
        X, y, weights, classes
            The arguments of ``partial_fit``, validated except y and classes.
        names : array, optional
            Names of the features, for the first batch.
        read : function
            Function that validates y unless all its classes are known.
        ignore_counters : bool, default=True
            Whether monotonic columns count as zero.
        """
        fitted: Fitted | None = self.__dict__.get("_fitted")
        found = None if fitted is None else fitted.counters
        if found is not None or (fitted is None and ignore_counters):
            X, found = self._without_counters(X, weights, fitted, names)
        if fitted is None:
            fitted, targets = self._begin(X, y, weights, classes, read)
            fitted = fitted.changed(feature_names=names)
        else:
            fitted, targets = self._encoded(fitted, X, y, weights, classes, read)
        assert fitted.classes is not None
        rows = self._weighted(targets, weights, fitted.classes, fitted.counts)
        targets["weights"], counts = rows
        fitted = self._configured(fitted)
        self._fitted = fitted.changed(n_iter=1, counts=counts, counters=found)
        return self._batch(X, targets)

    def _learn_batch(
        self,
        batch: TrainingBatch,
        weights: Array | None,
        order: Array | None = None,
        *,
        again: bool = False,
        whole: bool = False,
    ) -> None:
        """Learn a batch, or some of its rows, in an order.

        Parameters
        ----------
        batch : TrainingBatch
            Result of ``_prepare``.
        weights : array, optional
            Weights of its rows, without those of the classes.
        order : array, optional
            Numbers of the rows. By default all of them, as they come.
        again : bool, default=False
            Whether the rows were learned in an earlier pass. Their margins are not recorded.
        whole : bool, default=False
            Whether an interrupt undoes all rows, instead of keeping those already learned.
        """
        fitted = self._fitted
        learner = fitted.learner
        if self.probability and not again:
            with Transaction(batch.checkpoint(learner), checkpoint_of(self)):
                record = fitted.record or self._empty_record(fitted)
                record = record.after(learner, batch, weights, order)
                self._fitted = fitted.changed(record=record)
        elif whole:
            with Transaction(batch.checkpoint(learner)):
                batch.train(learner, order)
        else:
            batch.train(learner, order, undo=True)

    def _empty_record(self, fitted: Fitted) -> Recorder:
        """Return an empty record of margins."""
        learner, classes = fitted.learner, fitted.classes
        assert classes is not None
        features = None if isinstance(learner, KernelLearner) else learner.features
        multilabel = learner.settings.task == "multilabel"
        return Recorder.empty(len(classes), multilabel, features, learner.examples)

    def _without_counters(
        self, X: Any, weights: Array | None, fitted: Fitted | None, names: Array | None
    ) -> tuple[Any, counters.Counters | None]:
        """Return rows with zeros in monotonic columns, and the statistics of these columns.

        Only with ``scale="auto"``, and if the first call was ``partial_fit``.
        """
        if fitted is not None:
            known = fitted.counters
        elif self._checked_settings("binary").scale == "auto":
            known = counters.begin(X)
        else:
            known = None
        if known is None:
            return X, None
        found, X = counters.follow(known, X, weights)
        if known["rows"] < counters.ROWS:
            counters.warn(found, names if fitted is None else fitted.feature_names)
        return X, found

    # -- targets ------------------------------------------------------------------------------

    def _begin(
        self, X: Any, y: Any, weights: Array | None, classes: Any, read: ReadClasses
    ) -> tuple[Fitted, dict[str, Any]]:
        """Return the state and the targets of the first batch."""
        y, multilabel = read(y, X.shape[0])
        present = None if weights is None else weights > 0
        labels = y if present is None else y[present]
        if classes is None and not multilabel and len(labels) == 0:
            self._checked_settings("binary")
            raise NoExample
        known = first_classes(classes, labels, multilabel)
        settings = self._checked_settings(task_of(known, multilabel))
        learner = self._new_learner(settings, len(known), X, weights)
        fitted = Fitted(learner, self._parameters(), classes=known, counts=np.zeros(len(known)))
        return fitted, {"values": y} if multilabel else {"labels": known.encode(y, present)}

    def _encoded(
        self,
        fitted: Fitted,
        X: Any,
        y: Any,
        weights: Array | None,
        classes: Any,
        read: ReadClasses,
    ) -> tuple[Fitted, dict[str, Any]]:
        """Return the state with new classes, and the targets of a batch.

        Rows of weight zero do not add classes.
        """
        known, multilabel = fitted.classes, fitted.learner.settings.task == "multilabel"
        assert known is not None
        labels = None if multilabel else encode_known(known.labels, y, X.shape[0])
        if labels is None:
            y, several = read(y, X.shape[0])
            check_kind(y, several, known, multilabel)
        check_same_classes(classes, known)
        if labels is not None:
            return fitted, {"labels": labels}
        if multilabel:
            return fitted, {"values": y}
        present = None if weights is None else weights > 0
        fitted = self._with_classes(fitted, y if present is None else y[present])
        assert fitted.classes is not None
        return fitted, {"labels": fitted.classes.encode(y, present)}

    def _with_classes(self, fitted: Fitted, y: Array) -> Fitted:
        """Return the state with the classes of y added."""
        known, counts = fitted.classes, fitted.counts
        assert known is not None and counts is not None
        classes = known.admit(y)
        if len(classes) == len(known):
            return fitted
        fitted = self._configured(fitted)
        position, old = known.among(classes), fitted.learner.settings
        settings = self._settings_for(fitted.learner, classes.task)
        learner = fitted.learner.add_classes(settings, position, len(classes))
        record = fitted.record
        if record is not None:
            record = record.grown(old, learner.settings, position, len(classes))
        counts = known.moved(counts, classes)
        return fitted.changed(learner=learner, classes=classes, counts=counts, record=record)

    def _weighted(
        self,
        targets: dict[str, Any],
        weights: Array | None,
        classes: Classes,
        counts: Array | None = None,
    ) -> tuple[Array | None, Array]:
        """Return the weights of the rows times those of their classes, and the class counts."""
        counts = np.zeros(len(classes)) if counts is None else counts
        if self.class_weight is None:
            return weights, counts
        labels = targets.get("labels")
        if labels is None:
            raise ValueError(
                "class_weight needs one label per row, and y is an indicator matrix; use "
                "sample_weight, or class_weight=None."
            )
        present = labels if weights is None else labels[weights > 0]
        counts = counts + np.bincount(present, minlength=len(classes))
        by_class = class_weights(self.class_weight, classes.labels, counts, not classes.given)
        assert by_class is not None
        return by_class[labels] if weights is None else by_class[labels] * weights, counts


class RecordedPass(Train):
    """One pass over new rows that records the margin of each before it is learned."""

    def __init__(
        self, learner: Any, batch: TrainingBatch, weights: Array | None, record: Recorder
    ) -> None:
        self.learner, self.batch, self.weights, self.record = learner, batch, weights, record

    def __call__(self, order: Array | None, *, again: bool) -> None:
        """Learn the rows."""
        self.record = self.record.after(self.learner, self.batch, self.weights, order)
