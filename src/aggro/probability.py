"""``probability=True``: what estimators record while they learn, and ``predict_proba``."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from aggro.auto import AutoLearner
from aggro.calibration import RING, Calibrator
from aggro.estimator import OnlineEstimator
from aggro.grids import PIECE, SETTLED
from aggro.growth import output_map
from aggro.learner import Array
from aggro.rules import Settings, Task

SHORTEST, LONGEST = 16, 64  # rows that one and the same model scores before it learns them
UNSEEN = 5  # the twin of a model of several passes leaves every fifth row for the last pass
FEW = 1000  # margins; for less than that there are more twins


def _wanted(estimator: Any) -> bool:
    if not estimator.probability:
        raise AttributeError(
            f"{type(estimator).__name__} has probabilities only with probability=True."
        )
    return True


def pieces(count: int, seen: int, batch: int, race: bool, recorded: int) -> Iterator[slice]:
    """Cut rows to be learned where a cut changes nothing of what is learned.

    Mini-batches stay whole. A race looks at its leader at the end of a block, or of a call, and
    moves its grid from ``SETTLED`` examples on: from there on its blocks stay whole too. What
    comes before the rows to be recorded is one piece.

    >>> list(pieces(40, 0, 1, False, 5000))
    [slice(0, 16, None), slice(16, 32, None), slice(32, 40, None)]
    """
    block = max(PIECE // batch, 1) * batch if race else batch
    start = max(0, count - recorded) // block * block
    if start:
        yield slice(0, start)
    while start < count:
        length = max(SHORTEST, min((start + seen) // 8, LONGEST))
        end = start + -(-length // batch) * batch
        if race:
            wall = (start // block + 1) * block
            end = min(end, wall) if seen + wall < SETTLED else wall
        yield slice(start, min(end, count))
        start = end


class Probabilities(OnlineEstimator):
    """Classifiers that can tell how sure they are, once ``probability=True``."""

    _calibrator: Calibrator
    _typical: Array  # the mean of recent rows; the kernel estimators have none

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
        centre = self._centre(self._learner)
        return self._calibrator.probabilities(self._scores(X), centre)

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

    def _centre(self, learner: Any) -> Array:
        """Return the scores of a typical row."""
        if not hasattr(self, "_typical"):
            return np.zeros(learner.outputs)
        centre: Array = self._judge(learner, self._typical)[0]
        return centre

    def _walk(
        self,
        learner: Any,
        X: Any,
        lesson: dict[str, Any],
        sample_weight: Any,
        order: Array | None,
        unseen: Array | None = None,
        undo: bool = False,
    ) -> None:
        """Learn rows in an order; record how those never seen (default: all) are scored before.

        The record is kept only when all are learned.
        """
        order = np.arange(X.shape[0]) if order is None else order
        batch, weights = learner.settings.batch_size, lesson["weights"]
        if batch > 1 and weights is not None:
            order = order[weights[order] > 0]  # others take no place in a mini-batch
        recorded = RING if unseen is None else RING * UNSEEN
        known, race = unseen is not None and learner.examples > 0, isinstance(learner, AutoLearner)
        found: list[tuple[Array, Array, Array]] = []
        for part in pieces(len(order), learner.examples, batch, race, recorded):
            rows = order[part] if unseen is None else order[part][unseen[order[part]]]
            if learner.examples > 0 and len(rows) and part.stop > len(order) - recorded:
                self._record(learner, X, rows, found)
            self._teach(learner, X, lesson, order[part], known or part.start > 0, undo)
        if found and (len(self.classes_) > 1 or self._multilabel):
            self._keep(found, lesson, self._weights(sample_weight, X.shape[0]))

    def _record(self, learner: Any, X: Any, rows: Array, found: list[Any]) -> None:
        try:
            scores, centre = self._judge(learner, X[rows]), self._centre(learner)
        except ValueError:
            return  # a bad row: learning it will tell which
        found.append((rows, scores, np.tile(centre, (len(rows), 1))))

    def _keep(self, found: list[Any], lesson: dict[str, Any], weights: Array | None) -> None:
        rows, scores, centres = map(np.concatenate, zip(*found, strict=True))
        weights = np.ones(len(rows)) if weights is None else weights[rows]
        labels = lesson["values" if self._multilabel else "labels"][rows]
        heavy = weights > 0
        parts = (part[heavy] for part in (scores, centres, labels, weights))
        self._calibrator = self._calibrator.plus(*parts)

    # -- partial_fit and fit -----------------------------------------------------------------

    def _learn_and_record(self, X: Any, lesson: dict[str, Any], sample_weight: Any) -> None:
        """Learn new rows once, in the given order; a failure leaves the old learner as it was."""
        if not hasattr(self, "_calibrator"):
            self._begin_record(self._learner.examples)
        self._meet_typical(X)
        one_piece = X.shape[0] <= SHORTEST
        if not one_piece:
            self._learner = copy.deepcopy(self._learner)
        self._walk(self._learner, X, lesson, sample_weight, None, undo=one_piece)

    def _begin_record(self, seen: int = 0) -> None:
        self._calibrator = Calibrator.empty(len(self.classes_), self._multilabel, seen)

    def _once(
        self, learner: Any, X: Any, lesson: dict[str, Any], sample_weight: Any
    ) -> Callable[[Array | None], None] | None:
        """Return how to learn rows that are met only once, if margins are to be recorded."""
        for name in ("_calibrator", "_typical"):
            self.__dict__.pop(name, None)
        if not self.probability:
            return None
        self._begin_record()
        self._meet_typical(X)
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
        if passes == 1:
            self._walk(self._twin(learner), X, lesson, sample_weight, last)
            return
        self._begin_record(learner.examples)
        for first in range(min(UNSEEN, -(-FEW * UNSEEN // count))):
            unseen = np.zeros(count, bool)
            unseen[last[-RING * UNSEEN :][first::UNSEEN]] = True
            twin, order = self._twin(learner), np.flatnonzero(~unseen)
            for again in range(passes - 1):
                order = random.permutation(order) if self.shuffle else order
                self._teach(twin, X, lesson, order, again > 0)
                self._end_pass(twin)
            self._walk(twin, X, lesson, sample_weight, last, unseen)

    def _grow_calibrator(self, before: Array, old: Settings) -> None:
        """Let the recorded margins follow the classes that were admitted."""
        if not hasattr(self, "_calibrator") or len(before) == len(self.classes_):
            return
        classes, position = len(self.classes_), np.searchsorted(self.classes_, before)
        change = output_map(old, self._learner.settings, position, classes)
        self._calibrator = self._calibrator.grown(change, position, classes)
