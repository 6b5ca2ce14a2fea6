"""``probability=True``: what estimators record while they learn, and ``predict_proba``."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import softmax
from aggro.calibration.recorder import Recorder
from aggro.estimators.base import OnlineEstimator
from aggro.estimators.passes import Teach
from aggro.learner import Array
from aggro.reference_row import ReferenceRow
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings, Task
from aggro.sklearn_api import available_if, check_fitted, exception
from aggro.training_batch import TrainingBatch
from aggro.transaction import Transaction


def _wanted(estimator: Any) -> None:
    if not estimator.probability:
        raise AttributeError(
            f"{type(estimator).__name__} has probabilities only with probability=True."
        )


class Probabilities(OnlineEstimator):
    """Classifiers that can tell how sure they are, once ``probability=True``."""

    _calibrator: Calibrator
    _typical: ReferenceRow  # the kernel estimators have no use for one
    _has_typical = True

    @available_if(_wanted)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, or of each label.

        They are fitted to margins that examples got before they were learned. ``predict`` follows
        the margins alone and may, close to the border, choose another class than the most
        probable.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to judge.
        """
        check_fitted(self)
        if not hasattr(self, "_calibrator"):
            raise exception("NotFittedError")(
                "The model was learned without probability=True; learn it again with it."
            )
        return self._probabilities_of(self._scores(X))

    def _probabilities_of(self, scores: Array) -> Array:
        """Return the probability of each class; a softmax if no margins were recorded."""
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        if not hasattr(self, "_calibrator"):
            return softmax(scores)
        return self._record.probabilities(self._learner, scores)

    @available_if(_wanted)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of ``predict_proba``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to judge.
        """
        with np.errstate(divide="ignore"):  # a probability may be too small for a float
            return np.asarray(np.log(self.predict_proba(X)))

    def _checked_settings(self, task: Task) -> Settings:
        if not isinstance(self.probability, (bool, np.bool_)):
            raise ValueError(f"probability={self.probability!r} is not valid; give True or False.")
        return super()._checked_settings(task)

    # -- recording ---------------------------------------------------------------------------

    @property
    def _record(self) -> Recorder:
        """What was recorded so far."""
        return Recorder(self._calibrator, getattr(self, "_typical", None))

    @_record.setter
    def _record(self, record: Recorder) -> None:
        self._calibrator = record.calibrator
        if record.typical is not None:
            self._typical = record.typical

    def _empty_record(self, seen: int = 0) -> Recorder:
        features = self.n_features_in_ if self._has_typical else None
        return Recorder.empty(len(self.classes_), self._multilabel, features, seen)

    def _learn_and_record(
        self, lesson: TrainingBatch, weights: Array | None, order: Array | None = None
    ) -> None:
        """Learn new rows once, in the given order, and record them all, or none of them."""
        if not hasattr(self, "_calibrator"):
            self._record = self._empty_record(self._learner.examples)
        with Transaction(lesson.checkpoint(self._learner)):
            self._record = self._record.after(self._learner, lesson, weights, order)

    def _once(
        self, learner: Any, X: Any, parts: dict[str, Any], weights: Array | None
    ) -> Teach | None:
        """Return how to learn rows that are met only once, if margins are to be recorded."""
        for name in ("_calibrator", "_typical"):
            self.__dict__.pop(name, None)
        several = self.max_iter > 1 or learner.examples > 0 or isinstance(learner, ModelSelection)
        if several or not self.probability:
            return None
        lesson = self._lesson(X, parts)

        def once(order: Array | None, *, again: bool) -> None:
            self._record = self._empty_record().after(learner, lesson, weights, order)

        return once

    def _calibrate(
        self, learner: Any, X: Any, parts: dict[str, Any], weights: Array | None
    ) -> None:
        """Record what twins say of rows that the learner knows too well."""
        lesson = self._lesson(X, parts)
        self._record = self._empty_record().of_clones(learner, lesson, weights, self.shuffle)

    def _grow_record(self, old: Settings, position: Array) -> None:
        """Let the recorded margins follow the classes that were admitted."""
        if hasattr(self, "_calibrator"):
            new, classes = self._learner.settings, len(self.classes_)
            self._record = self._record.grown(old, new, position, classes)
