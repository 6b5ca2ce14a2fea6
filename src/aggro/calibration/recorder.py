"""What a model records while it learns, so that it can tell how sure it is."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggro.calibration.calibrator import RING, Calibrator
from aggro.calibration.probability_map import bounded
from aggro.learner import Array
from aggro.reference_row import FEATURES, ReferenceRow, next_change
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.training_batch import TrainingBatch

UNSEEN = 5  # the twin of a model of several passes leaves every fifth row for the last pass
FEW = 1000  # margins; for less than that there are more twins


@dataclass(frozen=True)
class Recorder:
    """Margins that rows were given before they were learned, and a typical row. Never changed.

    It teaches, since the margins must be taken at the step itself: ``after`` lets a learner learn
    rows and returns the record that knows of them.
    """

    calibrator: Calibrator
    typical: ReferenceRow | None = None  # kernel learners have no use for one

    @staticmethod
    def empty(classes: int, multilabel: bool, features: int | None, seen: int = 0) -> Recorder:
        """Return the record of a model that has seen some examples, and a typical row of none."""
        typical = None if features is None else ReferenceRow.of(np.zeros(features))
        return Recorder(Calibrator.empty(classes, multilabel, seen), typical)

    def probabilities(self, learner: Any, scores: Array) -> Array:
        """Return the probability of each class, or label, for the scores of a learner."""
        return self.calibrator.probabilities(*self.margins(learner, scores))

    def margins(self, learner: Any, scores: Array) -> tuple[Array, Array]:
        """Return scores, and those of the reference row, in the unit of the recorded margins."""
        unit = learner.margin_unit if isinstance(learner, ModelSelection) else 1.0
        centre = np.zeros(learner.outputs)
        if self.typical is not None:
            centre = learner.scores(self.typical.rows(learner.features))[0]
        return bounded(scores) / unit, bounded(centre) / unit

    def of_winner(self, learner: Any) -> Recorder:
        """Return the record for the leader of a selection alone, if the learner is one."""
        if not isinstance(learner, ModelSelection):
            return self
        return replace(self, calibrator=self.calibrator.scaled(learner.winner_unit))

    def grown(self, old: Settings, new: Settings, position: Array, classes: int) -> Recorder:
        """Return the record with more classes (see ``output_map``)."""
        return replace(self, calibrator=self.calibrator.grown(old, new, position, classes))

    # -- recording ---------------------------------------------------------------------------

    def after(
        self,
        learner: Any,
        lesson: TrainingBatch,
        weights: Array | None = None,
        order: Array | None = None,
        unseen: Array | None = None,
        follow: bool = True,
    ) -> Recorder:
        """Let a learner learn rows; return the record with how those never seen scored before.

        Never seen are all of them unless ``unseen`` tells which. The typical row follows the rows,
        if it shall. A model that has learned nothing gives no margins. What has no weight was never
        there. ``weights`` are those of the rows, where the lesson has those of their classes too.
        """
        order = lesson.counted(order)
        weights = np.ones(lesson.count) if weights is None else weights
        news = order if unseen is None else order[unseen[order]]
        recorded = self.calibrator.most * (1 if unseen is None else UNSEEN)
        known = unseen is not None and learner.examples > 0
        margins, typical = [np.empty((0, 2, learner.outputs))], self.typical
        unrecorded = len(order) - recorded
        for part in self._pieces(len(order), unrecorded, learner, follow):
            rows, again = order[part], known or part.start > 0
            if learner.examples > 0 and part.stop > unrecorded:
                found = lesson.record_margins(learner, typical, rows, again)
                margins.append(found if unseen is None else found[unseen[rows]])
            else:
                lesson.train(learner, rows, again=again)
            if follow and typical is not None:
                typical = typical.after(lesson.X, rows, learner.settings.batch_size)
        scores, centres = np.concatenate(margins).transpose(1, 0, 2)
        told = self.calibrator.plus(lesson.targets[news], weights[news], scores, centres)
        return Recorder(told, typical)

    def _pieces(self, count: int, unrecorded: int, learner: Any, follow: bool) -> list[slice]:
        """Cut rows in whole batches: where the typical row changes, and after the first.

        Those that are not recorded are one piece: nobody asks in between what is typical.
        """
        met = learner.examples if self.typical is None or not follow else self.typical.met
        cuts = [0]
        while cuts[-1] < count:
            cuts.append(cuts[-1] + next_change(met + cuts[-1], learner.settings.batch_size))
        cuts = [0, *cuts[max(1, bisect.bisect_right(cuts, unrecorded) - 1) :]]
        pieces = [slice(start, min(end, count)) for start, end in itertools.pairwise(cuts)]
        return pieces or [slice(0, 0)]  # a call of no rows is a call

    # -- several passes ----------------------------------------------------------------------

    def of_twins(
        self, learner: Any, lesson: TrainingBatch, weights: Array | None, shuffle: bool
    ) -> Recorder:
        """Return the margins of a twin that keeps every fifth row for its last pass.

        After several passes the learner knows all its rows; what it says of them is no news. Few
        rows have up to five twins, each keeping others. A race has had many leaders; its twin
        learns with the settings of the last one alone, and after one pass all rows are news.
        """
        count, random = lesson.count, np.random.default_rng(0)
        passes = max(1, round(learner.examples / count))
        last = random.permutation(count) if shuffle else np.arange(count)
        seen = learner.examples if passes > 1 else 0
        record = replace(self._with_mean(lesson), calibrator=replace(self.calibrator, seen=seen))
        if passes == 1:
            return record.after(learner.clone(), lesson, weights, last, follow=False)._of(learner)
        for first in range(min(UNSEEN, -(-FEW * UNSEEN // count))):
            unseen = np.zeros(count, bool)
            unseen[last[-RING * UNSEEN :][first::UNSEEN]] = True
            twin, order = learner.clone(), np.flatnonzero(~unseen)
            for again in range(passes - 1):
                order = random.permutation(order) if shuffle else order
                lesson.train(twin, order, again=again > 0)
                twin.freeze_means()
            record = record.after(twin, lesson, weights, last, unseen, follow=False)
        return record._of(learner)

    def _of(self, learner: Any) -> Recorder:
        """Return the record of a selection's leader alone as that of the whole selection."""
        if not isinstance(learner, ModelSelection):
            return self
        return replace(self, calibrator=self.calibrator.scaled(1.0 / learner.winner_unit))

    def _with_mean(self, lesson: TrainingBatch) -> Recorder:
        """Let the mean of all rows be the typical one, where all are there at once.

        Of many features it has the largest: each of them costs time whenever it is scored.
        """
        if self.typical is None:
            return self
        rows = lesson.X if lesson.weights is None else lesson.X[lesson.counted()]
        mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
        mean[np.argsort(-np.abs(mean), kind="stable")[FEATURES:]] = 0.0
        return replace(self, typical=ReferenceRow.of(mean, met=rows.shape[0]))
