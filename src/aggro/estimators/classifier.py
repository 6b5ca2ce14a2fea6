"""Classification: labels in, classes out; and its linear form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro._core import permutation
from aggro.classes import Classes, decode, encode_known
from aggro.estimators import counters
from aggro.estimators.base import NoExample, all_or_nothing
from aggro.estimators.judges import (
    ByHeldOutRows,
    ByLoss,
    ByRowsLearnedLast,
    Qualities,
    rows_to_hold_out,
    scaled_log_loss,
)
from aggro.estimators.passes import Passes
from aggro.estimators.probability import Probabilities
from aggro.estimators.stopping import hold_out, mean_of
from aggro.estimators.targets import class_weights, read_classes
from aggro.estimators.weights import LinearEstimator
from aggro.labels import shown, sorted_classes
from aggro.learner import Array
from aggro.selection.common import AnyLearner, keep_smaller_C
from aggro.settings import Settings, Task, class_task
from aggro.sklearn_api import draw_seed
from aggro.training_batch import TrainingBatch, read_weights
from aggro.transaction import Transaction

# Returns y as an array, and whether it is an indicator matrix; takes y and the number of rows.
ReadClasses = Callable[[Any, int], tuple[Array, bool]]


class OnlineClassifier(Probabilities):
    """Classification: labels in, classes out. The learner is the subclass's."""

    _estimator_kind = "classifier"
    classes_: Array
    _multilabel: bool
    _counters: counters.Counters

    def decision_function(self, X: Any) -> Array:
        """Return the scores: one per row for two classes, else one per row and class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 and not self._multilabel else scores

    def predict(self, X: Any) -> Array:
        """Return the class of each row, or the indicator matrix of its labels."""
        return self._answers(self._scores(X))

    def _answers(self, scores: Array) -> Array:
        """Return what scores speak for; the first class, or no label, where they are even."""
        if self._multilabel:
            return (scores > 0).astype(np.int64)
        return decode(self.classes_, scores)

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
        predicted = self.predict(X)
        truth, multilabel = read_classes(y, len(predicted))
        right = (predicted == (truth > 0)).all(axis=1) if multilabel else predicted == truth
        return mean_of(right, read_weights(sample_weight, len(predicted)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # -- learning ----------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, coef_init: Any, intercept_init: Any) -> Any:
        self._check_schedule()
        before = (self.classes_, self._multilabel) if self._continues() else None
        if before is None:
            self.__dict__.pop("_counters", None)
        X = self._read(X, reset=before is None)
        y, self._multilabel = read_classes(y, X.shape[0])
        lesson = self._begin_classes(y)
        settings = self._checked_settings(self._task())
        weights = read_weights(sample_weight, X.shape[0])
        lesson["weights"] = self._all_weights(lesson.get("labels"), weights)
        if before is None:
            self._look_at(X, weights)
            learner = self._new_learner(settings, X.dtype)
        else:
            self._check_continues(*before)
            learner = self._continued(settings)
        self._start(learner, coef_init, intercept_init)
        judge = self._judge(learner, X, y, lesson, weights)
        once = self._once(learner, X, lesson, weights)
        self.n_iter_ = self._run_epochs(learner, X, lesson, judge, once)
        if self.probability and once is None:
            self._calibrate(learner, X, lesson, weights)
        self._learner, self._known_params = learner, self._prices()
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
            How many times each example counts: multiplies C. A row of weight zero was never there:
            a first call of such rows alone, without ``classes``, leaves the estimator unfitted.
        """
        self._check_stream()
        X = self._read(X, reset=not hasattr(self, "_learner"))
        weights = read_weights(sample_weight, X.shape[0])
        known_counters = self.__dict__.get("_counters")
        batch = self._prepare(X, y, weights, classes)
        # Once classes or counters of all rows are known, all rows are learned, or none.
        counted = self.class_weight is not None
        counted = counted or self.__dict__.get("_counters") is not known_counters
        self._learn_batch(batch, weights, whole=counted)
        return self

    def _prepare(
        self,
        X: Any,
        y: Any,
        weights: Array | None,
        classes: Any = None,
        read: ReadClasses = read_classes,
    ) -> TrainingBatch:
        """Return a batch for ``_learn_batch``; the learner gets its classes.

        ``read`` validates y where it does not hold known classes alone.
        """
        first = not hasattr(self, "_learner")
        X = self._without_counters(X, weights, first)
        if first:
            self._look_at(X, weights)
        parts = self._meet(X, y, classes, first, weights, read)
        parts["weights"] = self._all_weights(parts.get("labels"), weights)
        self._reconfigure(self._task())
        self.n_iter_ = 1
        return self._lesson(X, parts)

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
        if self.probability and not again:
            self._learn_and_record(batch, weights, order)
        elif whole:
            with Transaction(batch.checkpoint(self._learner)):
                batch.train(self._learner, order)
        else:
            batch.train(self._learner, order, undo=True)

    def _without_counters(self, X: Any, weights: Array | None, first: bool) -> Any:
        """Return rows of a stream as they are to be learned: columns of counters count as zero.

        Only where the scale of the features is "auto", and learning began with ``partial_fit``.
        """
        sought = first and "_counters" not in self.__dict__
        if sought and self._checked_settings("binary").scale == "auto":
            self._counters = counters.begin(X)
        known = self.__dict__.get("_counters")
        if known is None:
            return X
        self._counters, X = counters.follow(known, X, weights)
        if known["rows"] < counters.ROWS:
            counters.warn(self._counters, getattr(self, "feature_names_in_", None))
        return X

    # -- classes ----------------------------------------------------------------------------

    @property
    def _classes(self) -> Classes:
        """The classes known so far."""
        return Classes(self.classes_, self._classes_given)

    def _task(self) -> Task:
        return "multilabel" if self._multilabel else class_task(len(self.classes_))

    def _begin_classes(self, y: Array) -> dict[str, Any]:
        """Take the classes from all labels at once, and number the labels."""
        self._classes_given = True
        if self._multilabel:
            self.classes_ = np.arange(y.shape[1])
            self._counts = np.zeros(len(self.classes_))
            return {"values": y}
        known, labels = Classes.numbered(y)
        self.classes_ = known.labels
        if len(known) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: "
                f"{self.classes_[0]!r}. A stream may begin with one: use partial_fit."
            )
        self._counts = np.zeros(len(known))
        return {"labels": labels}

    def _meet(
        self,
        X: Any,
        y: Any,
        classes: Any,
        first: bool,
        weights: Array | None,
        read: ReadClasses,
    ) -> dict[str, Any]:
        """Read the targets of a batch, making or growing the learner as they need.

        A row of weight zero was never there: its class is not admitted.
        """
        labels = None if first else encode_known(self.classes_, y, X.shape[0])
        if labels is not None and not self._multilabel:
            self._check_same(classes)
            return {"labels": labels}
        y, multilabel = read(y, X.shape[0])
        present = None if weights is None else weights > 0
        there = y if present is None else y[present]
        if first:
            self._multilabel = multilabel
            if classes is None and not multilabel and len(there) == 0:
                self._checked_settings("binary")
                raise NoExample  # rows without weight were never there
            known = self._first_classes(classes, there)
            self.classes_, self._classes_given = known.labels, known.given
            self._counts = np.zeros(len(known))
            self._learner = self._new_learner(self._checked_settings(self._task()), X.dtype)
            self._known_params = self._prices()
        elif multilabel != self._multilabel or (multilabel and y.shape[1] != len(self.classes_)):
            was, now = (
                f"an indicator matrix of {labels} columns" if several else "one label per row"
                for labels, several in (
                    (len(self.classes_), self._multilabel),
                    (y.shape[-1], multilabel),
                )
            )
            raise ValueError(
                f"y is {now}, but the model was begun with {was}; y must keep its kind in all "
                "calls of partial_fit, or begin anew with fit."
            )
        else:
            self._check_same(classes)
        if multilabel:
            return {"values": y}
        if not first:
            self._admit(there)
        return {"labels": self._classes.encode(y, present)}

    def _check_continues(self, classes: Array, multilabel: bool) -> None:
        """Raise unless y has the classes, or as many labels, as the model that goes on."""
        if multilabel == self._multilabel and classes.tolist() == self.classes_.tolist():
            return
        was, now = (
            f"{len(labels)} labels per row" if several else f"the classes {shown(labels)}"
            for labels, several in ((classes, multilabel), (self.classes_, self._multilabel))
        )
        raise ValueError(
            f"warm_start continues a model of {was}, but y has {now}. Give rows of the same "
            "classes, use partial_fit to let new ones appear, or begin anew with warm_start=False."
        )

    def _check_same(self, classes: Any) -> None:
        if classes is not None and sorted_classes(classes).tolist() != self.classes_.tolist():
            raise ValueError(
                f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
                f"{self.classes_!r}; give the same classes, or none."
            )

    def _new_learner(self, settings: Settings, dtype: Any) -> Any:
        """Return a learner for the classes known so far."""
        raise NotImplementedError

    def _admit(self, y: Array) -> None:
        """Let classes that were never seen enter; what is known of the others goes on."""
        known = self._classes
        everybody = known.admit(y)
        if len(everybody) == len(known):
            return
        self._reconfigure(self._task())
        position, old = known.among(everybody), self._learner.settings
        self.classes_, self._counts = everybody.labels, known.moved(self._counts, everybody)
        settings = self._settings_to_go_on(self._task())
        self._learner = self._learner.add_classes(settings, position, len(everybody))
        self._grow_record(old, position)

    def _first_classes(self, classes: Any, y: Array) -> Classes:
        if self._multilabel:
            return Classes(np.arange(y.shape[1]), given=True)
        known = Classes.of(y) if classes is None else Classes.named(classes)
        if len(known) == 0:
            raise ValueError("classes is empty; name the classes, or leave it out.")
        return known

    def _all_weights(self, labels: Array | None, weights: Array | None) -> Array | None:
        """Return the weights of the rows times those of their classes."""
        if self.class_weight is None:
            return weights
        if labels is None:
            raise ValueError(
                "class_weight needs one label per row, and y is an indicator matrix; use "
                "sample_weight, or class_weight=None."
            )
        present = labels if weights is None else labels[weights > 0]
        self._counts = self._counts + np.bincount(present, minlength=len(self.classes_))
        growing = not self._classes_given
        by_class = class_weights(self.class_weight, self.classes_, self._counts, growing)
        assert by_class is not None
        return by_class[labels] if weights is None else by_class[labels] * weights


class LinearClassifier(OnlineClassifier, LinearEstimator):
    """Classification by a linear learner. The rule is the subclass's."""

    _EARLY_STOPPING = ("auto",)

    # -- the learner -------------------------------------------------------------------------

    def _adopt(self, learner: AnyLearner, classes: Any, multilabel: bool) -> Any:
        """Become the fitted estimator around a learner."""
        self._learner, self.classes_, self._multilabel = learner, classes, multilabel
        self._classes_given, self._counts = True, np.zeros(len(classes))
        self.n_features_in_, self.n_iter_ = learner.features, 1
        self._known_params = self._prices()
        return self

    def _new_learner(self, settings: Settings, dtype: Any) -> AnyLearner:
        return self._make_learner(settings, len(self.classes_), dtype)

    def _begin_batch(self, X: Any, y: Array, weights: Array | None) -> TrainingBatch:
        """Return a batch of a file for ``_learn_batch``; the model grows as the batch needs.

        Unlike those of ``partial_fit``, its rows may have more features than the model, and labels
        need not be whole numbers.
        """
        return self._prepare(self._grown_for(X), y, weights, read=lambda y, count: (y, False))

    # -- early stopping ---------------------------------------------------------------------

    def _judge(
        self, learner: AnyLearner, X: Any, y: Array, lesson: dict[str, Any], weights: Array | None
    ) -> ByLoss:
        """Return the rule that ends the passes: by their loss, or by held-out rows."""
        schedule = Passes.of(self)
        patience = schedule.needed, schedule.n_iter_no_change
        if self.early_stopping == "auto":
            rows = self._held_out_for_now(learner, lesson)
            if rows is not None:
                keep_smaller_C(learner)
                qualities = self._closeness(X, rows, lesson)
                snapshot = self._lesson(X, lesson).checkpoint
                return ByRowsLearnedLast(rows, qualities, snapshot, *patience)
        elif self.early_stopping:
            rows = self._held_out(y)
            return ByHeldOutRows(rows, self._accuracy(X, rows, y, weights), *patience)
        return ByLoss(*patience)

    def _held_out(self, y: Array) -> Array:
        """Return the rows that are never learned."""
        classes = None if self._multilabel else np.unique(y, return_inverse=True)[1]
        return hold_out(len(y), self.validation_fraction, self.random_state, classes)

    def _held_out_for_now(self, learner: AnyLearner, lesson: dict[str, Any]) -> Array | None:
        """Return the rows that are learned at the end, if a new learner chooses what predicts."""
        several = self.max_iter > 1 and self.tol is not None
        new = learner.examples == 0 and learner.settings.average == "auto"
        if not (several and new):
            return None
        classes = lesson["labels"] if "labels" in lesson else np.zeros(len(lesson["values"]), int)
        seed = draw_seed(self.random_state)
        return rows_to_hold_out(classes, permutation(len(classes), seed))

    def _accuracy(self, X: Any, rows: Array, y: Array, weights: Array | None) -> Qualities:
        """Return the accuracy on rows, as a function of a learner."""
        truth, some = y[rows], None if weights is None else weights[rows]

        def accuracy(scores: Array) -> float:
            answers = self._answers(scores)
            right = (answers == (truth > 0)).all(axis=1) if self._multilabel else answers == truth
            return mean_of(right, some)

        return self._qualities_on(X, rows, accuracy)

    def _closeness(self, X: Any, rows: Array, lesson: dict[str, Any]) -> Qualities:
        """Return minus the log loss on rows, as a function of a learner."""
        targets = self._lesson(X, lesson).targets[rows]
        some = None if lesson["weights"] is None else lesson["weights"][rows]
        return self._qualities_on(X, rows, lambda each: -scaled_log_loss(each, targets, some))
