"""``probability=True``: what estimators record while they learn, and ``predict_proba``."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from aggro.estimators.base import OnlineEstimator
from aggro.learn.calibration import RING, Calibrator
from aggro.learn.growth import output_map
from aggro.learn.learner import Array
from aggro.learn.lessons import read_weights
from aggro.learn.race import AutoLearner
from aggro.learn.typical import FEATURES, Typical, next_change
from aggro.rules import Settings, Task

UNSEEN = 5  # the twin of a model of several passes leaves every fifth row for the last pass
FEW = 1000  # margins; for less than that there are more twins


def _wanted(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError(
            f"{type(estimator).__name__} has probabilities only with probability=True."
        )
    return True


class Probabilities(OnlineEstimator):
    """Classifiers that can tell how sure they are, once ``probability=True``."""

    _calibrator: Calibrator
    _typical: Typical  # the kernel estimators have no use for one
    _has_typical = True

    @available_if(_wanted)  # type: ignore[untyped-decorator]
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
        check_is_fitted(self)
        if not hasattr(self, "_calibrator"):
            raise NotFittedError("The model was learned without probability=True; learn it anew.")
        scores, centre = self._scores(X), np.zeros(self._learner.outputs)
        if self._has_typical:
            centre = self._learner.scores(self._typical.rows(self._learner.features))[0]
        return self._calibrator.probabilities(scores, centre)

    @available_if(_wanted)  # type: ignore[untyped-decorator]
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

    def _walk(
        self,
        learner: Any,
        X: Any,
        lesson: dict[str, Any],
        sample_weight: Any,
        order: Array | None,
        unseen: Array | None = None,
        follow: bool = True,
    ) -> None:
        """Learn rows in an order; record how those never seen (default: all) are scored before.

        The typical example follows the rows, if it shall. A model that has learned nothing gives no
        margins. What has no weight was never there. The record is kept only when all are learned.
        """
        weights = read_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        order = np.arange(X.shape[0]) if order is None else order
        if lesson["weights"] is not None:
            order = order[lesson["weights"][order] > 0]
        news = order if unseen is None else order[unseen[order]]
        recorded = self._calibrator.most * (1 if unseen is None else UNSEEN)
        known = unseen is not None and learner.examples > 0
        margins = [np.empty((0, 2, learner.outputs))]
        unrecorded = len(order) - recorded
        for part in self._pieces(len(order), unrecorded, learner, follow):
            rows, again = order[part], known or part.start > 0
            if learner.examples > 0 and part.stop > unrecorded:
                found = self._watch(learner, X, lesson, rows, again)
                margins.append(found if unseen is None else found[unseen[rows]])
            else:
                self._teach(learner, X, lesson, rows, again)
            if follow and self._has_typical:
                self._typical = self._typical.after(X, rows, learner.settings.batch_size)
        scores, centres = np.concatenate(margins).transpose(1, 0, 2)
        labels = lesson["values" if self._multilabel else "labels"][news]
        self._calibrator = self._calibrator.plus(labels, weights[news], scores, centres)

    def _pieces(self, count: int, unrecorded: int, learner: Any, follow: bool) -> list[slice]:
        """Cut rows in whole batches: where the typical example changes, and after the first.

        Those that are not recorded are one piece: nobody asks in between what is typical.
        """
        met = self._typical.met if follow and self._has_typical else learner.examples
        cuts = [0]
        while cuts[-1] < count:
            cuts.append(cuts[-1] + next_change(met + cuts[-1], learner.settings.batch_size))
        cuts = [0, *cuts[max(1, bisect.bisect_right(cuts, unrecorded) - 1) :]]
        pieces = [slice(start, min(end, count)) for start, end in itertools.pairwise(cuts)]
        return pieces or [slice(0, 0)]  # a call of no rows is a call

    # -- partial_fit and fit -----------------------------------------------------------------

    def _learn_and_record(self, X: Any, lesson: dict[str, Any], sample_weight: Any) -> None:
        """Learn new rows once, in the given order, and record them all, or none of them."""
        if not hasattr(self, "_calibrator"):
            self._begin_record(self._learner.examples)
        with self._undone_if_cut(X, lesson):
            self._walk(self._learner, X, lesson, sample_weight, None)

    def _begin_record(self, seen: int = 0) -> None:
        self._calibrator = Calibrator.empty(len(self.classes_), self._multilabel, seen)
        if self._has_typical:
            self._typical = Typical.of(np.zeros(self.n_features_in_))

    def _once(
        self, learner: Any, X: Any, lesson: dict[str, Any], sample_weight: Any
    ) -> Callable[[Array | None], None] | None:
        """Return how to learn rows that are met only once, if margins are to be recorded."""
        for name in ("_calibrator", "_typical"):
            self.__dict__.pop(name, None)
        if not self.probability:
            return None
        self._begin_record()
        if self.max_iter > 1 or learner.examples > 0 or isinstance(learner, AutoLearner):
            return None
        return functools.partial(self._walk, learner, X, lesson, sample_weight)

    def _calibrate(self, learner: Any, X: Any, lesson: dict[str, Any], sample_weight: Any) -> None:
        """Take the margins of a twin that keeps every fifth row for its last pass.

        After several passes the learner knows all its rows; what it says of them is no news. Few
        rows have up to five twins, each keeping others. A race has had many leaders; its twin
        learns with the settings of the last one alone, and after one pass all rows are news.
        """
        count, random = X.shape[0], np.random.default_rng(0)
        passes = max(1, round(learner.examples / count))
        last = random.permutation(count) if self.shuffle else np.arange(count)
        self._begin_record(learner.examples if passes > 1 else 0)
        self._take_mean(X, lesson["weights"])
        if passes == 1:
            self._walk(self._twin(learner), X, lesson, sample_weight, last, follow=False)
            return
        for first in range(min(UNSEEN, -(-FEW * UNSEEN // count))):
            unseen = np.zeros(count, bool)
            unseen[last[-RING * UNSEEN :][first::UNSEEN]] = True
            twin, order = self._twin(learner), np.flatnonzero(~unseen)
            for again in range(passes - 1):
                order = random.permutation(order) if self.shuffle else order
                self._teach(twin, X, lesson, order, again > 0)
                twin.freeze_means()
            self._walk(twin, X, lesson, sample_weight, last, unseen, follow=False)

    def _take_mean(self, X: Any, weights: Array | None) -> None:
        """Let the mean of all rows be the typical one, where all are there at once.

        Of many features it has the largest: each of them costs time whenever it is scored.
        """
        if self._has_typical:
            rows = X if weights is None else X[np.flatnonzero(weights > 0)]
            mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
            mean[np.argsort(-np.abs(mean), kind="stable")[FEATURES:]] = 0.0
            self._typical = Typical.of(mean, met=rows.shape[0])

    def _grow_calibrator(self, before: Array, old: Settings) -> None:
        """Let the recorded margins follow the classes that were admitted."""
        if not hasattr(self, "_calibrator") or len(before) == len(self.classes_):
            return
        classes, position = len(self.classes_), np.searchsorted(self.classes_, before)
        change = output_map(old, self._learner.settings, position, classes)
        self._calibrator = self._calibrator.grown(change, position, classes)
