"""Recorded margins of learners of any kind, for probabilities."""

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

UNSEEN = 5  # a clone learns every n-th row only in its last pass
FEW = 1000  # below this number of margins, several clones are used


@dataclass(frozen=True)
class Recorder:
    """Trains a learner and records its margins; immutable.

    Margins are those of each row, and of the reference row, before the row is learned.
    """

    calibrator: Calibrator
    reference: ReferenceRow | None = None  # none for kernel learners

    @staticmethod
    def empty(classes: int, multilabel: bool, features: int | None, seen: int = 0) -> Recorder:
        """Return a recorder without margins, for a model with any number of learned examples."""
        reference = None if features is None else ReferenceRow.of(np.zeros(features))
        return Recorder(Calibrator.empty(classes, multilabel, seen), reference)

    def probabilities(self, learner: Any, scores: Array) -> Array:
        """Return the probability of each class, or label, for the scores of a learner."""
        return self.calibrator.probabilities(*self.margins(learner, scores))

    def margins(self, learner: Any, scores: Array) -> tuple[Array, Array]:
        """Return scores, and those of the reference row, in the unit of the recorded margins."""
        unit = learner.margin_unit if isinstance(learner, ModelSelection) else 1.0
        centre = np.zeros(learner.outputs)
        if self.reference is not None:
            row, selects = (
                self.reference.rows(learner.features),
                isinstance(learner, ModelSelection),
            )
            centre = learner.reference_scores(row) if selects else learner.scores(row)[0]
        return bounded(scores) / unit, bounded(centre) / unit

    def of_winner(self, learner: Any) -> Recorder:
        """Return the recorder of the best candidate alone, if the learner is a model selection."""
        if not isinstance(learner, ModelSelection):
            return self
        return replace(self, calibrator=self.calibrator.scaled(learner.best_unit))

    def grown(self, old: Settings, new: Settings, position: Array, classes: int) -> Recorder:
        """Return the recorder of more classes (see ``output_map``)."""
        return replace(self, calibrator=self.calibrator.grown(old, new, position, classes))

    # -- recording ---------------------------------------------------------------------------

    def after(
        self,
        learner: Any,
        batch: TrainingBatch,
        weights: Array | None = None,
        order: Array | None = None,
        unseen: Array | None = None,
        follow: bool = True,
    ) -> Recorder:
        """Let a learner learn rows; return the recorder with the margins of unseen ones.

        Rows of weight zero are ignored, and a blank learner has no margins.

        Parameters
        ----------
        learner : Learner, ModelSelection or KernelLearner
            Learner to train.
        batch : TrainingBatch
            Rows to learn.
        weights : array, optional
            Weights of the rows, without those of their classes.
        order : array, optional
            Positions of the rows to learn. By default all of them.
        unseen : array of bool, optional
            The rows whose margins are recorded, in the last of several passes. By default all rows
            are new.
        follow : bool, default=True
            Whether the reference row is updated.
        """
        order = batch.counted(order)
        weights = np.ones(batch.count) if weights is None else weights
        new_rows = order if unseen is None else order[unseen[order]]
        recorded = self.calibrator.most * (1 if unseen is None else UNSEEN)
        known = unseen is not None and learner.examples > 0
        margins, reference = [np.empty((0, 2, learner.outputs))], self.reference
        unrecorded, skipped = len(order) - recorded, 0
        for part in self._pieces(len(order), unrecorded, learner, follow):
            # A kernel learner must know that these are more of the same rows.
            more = part.start > 0 and not isinstance(learner, ModelSelection)
            rows, again = order[part], known or more
            if learner.examples > 0 and part.stop > unrecorded:
                found = batch.record_margins(learner, reference, rows, again)
                margins.append(found if unseen is None else found[unseen[rows]])
            else:
                if unseen is None:  # the first batch has no margins, however many rows there are
                    untrained = 0 if learner.examples else learner.settings.batch_size
                    skipped += max(len(rows) - untrained, 0)
                batch.train(learner, rows, again=again)
            if follow and reference is not None:
                reference = reference.after(batch.X, rows, learner.settings.batch_size)
        outcomes, found = batch.targets[new_rows], np.concatenate(margins)
        calibrator = self.calibrator.update(found, outcomes, weights[new_rows], skipped)
        return Recorder(calibrator, reference)

    def _pieces(self, count: int, unrecorded: int, learner: Any, follow: bool) -> list[slice]:
        """Divide rows into whole batches after which the reference row changes.

        Rows that are not recorded are one piece.
        """
        met = learner.examples if self.reference is None or not follow else self.reference.met
        cuts = [0]
        while cuts[-1] < count:
            cuts.append(cuts[-1] + next_change(met + cuts[-1], learner.settings.batch_size))
        cuts = [0, *cuts[max(1, bisect.bisect_right(cuts, unrecorded) - 1) :]]
        pieces = [slice(start, min(end, count)) for start, end in itertools.pairwise(cuts)]
        return pieces or [slice(0, 0)]  # validates calls without rows, too

    # -- several passes ----------------------------------------------------------------------

    def of_clones(
        self, learner: Any, batch: TrainingBatch, weights: Array | None, shuffle: bool
    ) -> Recorder:
        """Return the margins of a clone that learns every fifth row only in its last pass.

        After several passes the learner has fitted its rows, and their margins are biased. For few
        rows there are up to five clones, which hold out different rows. The clone of a selection
        has the settings of its best candidate.
        """
        count, random = batch.count, np.random.default_rng(0)
        passes = max(1, round(learner.examples / count))
        last = random.permutation(count) if shuffle else np.arange(count)
        seen = learner.examples if passes > 1 else 0
        record = replace(self._with_mean(batch), calibrator=replace(self.calibrator, seen=seen))
        if passes == 1:
            return record.after(learner.clone(), batch, weights, last, follow=False)._of(learner)
        for first in range(min(UNSEEN, -(-FEW * UNSEEN // count))):
            unseen = np.zeros(count, bool)
            unseen[last[-RING * UNSEEN :][first::UNSEEN]] = True
            clone, order = learner.clone(), np.flatnonzero(~unseen)
            for again in range(passes - 1):
                order = random.permutation(order) if shuffle else order
                batch.train(clone, order, again=again > 0)
                clone.freeze_means()
            record = record.after(clone, batch, weights, last, unseen, follow=False)
        return record._of(learner)

    def _of(self, learner: Any) -> Recorder:
        """Return the recorder of the best candidate as that of the selection."""
        if not isinstance(learner, ModelSelection):
            return self
        return replace(self, calibrator=self.calibrator.scaled(1.0 / learner.best_unit))

    def _with_mean(self, batch: TrainingBatch) -> Recorder:
        """Use the mean of all rows as the reference row, with its largest features."""
        if self.reference is None:
            return self
        rows = batch.X if batch.weights is None else batch.X[batch.counted()]
        mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
        mean[np.argsort(-np.abs(mean), kind="stable")[FEATURES:]] = 0.0
        return replace(self, reference=ReferenceRow.of(mean, met=rows.shape[0]))
