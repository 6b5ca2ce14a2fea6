"""Texts in, scores out: a model selection whose representations are those of texts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import bounded
from aggro.learner import Array
from aggro.selection.memory import learner_bytes
from aggro.selection.search_space import TEXT_SEARCH_SPACE
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.text.encoder import Encoder, Matrix
from aggro.text.table import Table
from aggro.transaction import Checkpoint, OwnedLock


class TextLearner:
    """Learns from tables of texts, by class or by value."""

    def __init__(
        self,
        encoder: Encoder,
        settings: Settings,
        outputs: int,
        seed: int,
        calibrator: Calibrator | None = None,
    ) -> None:
        self.selection = ModelSelection(
            settings,
            1,
            outputs,
            np.float32,
            seed,
            representations=encoder,
            space=TEXT_SEARCH_SPACE,
        )
        self.calibrator = calibrator
        self.repeated = 0  # examples of later passes, which are not evaluated
        self.turns = OwnedLock()

    @property
    def encoder(self) -> Encoder:
        """The representations, and what is known of words."""
        encoder: Any = self.selection.representations
        assert isinstance(encoder, Encoder)
        return encoder

    @property
    def settings(self) -> Settings:
        """The settings, with those that are selected."""
        return self.selection.settings

    @property
    def classes(self) -> int:
        """Number of classes, or of target columns."""
        return self.selection.classes

    @property
    def examples(self) -> int:
        """Number of examples learned from, those of later passes included."""
        return self.selection.examples

    @property
    def mistakes(self) -> float:
        """Mistakes of the candidates that predicted, each before its text was learned."""
        return self.selection.mistakes

    @property
    def distance(self) -> float:
        """The same for regression: the sum of absolute or squared errors."""
        return self.selection.distance

    @property
    def features(self) -> int:
        """Number of features of the representation that predicts."""
        return self.encoder.features(self.encoder.choices[self.selection.representation][0])

    @property
    def bytes(self) -> int:
        """Memory of the tables of all candidates."""
        return sum(map(learner_bytes, self.selection.learners))

    # -- learning ---------------------------------------------------------------------------

    def learn(
        self,
        table: Table,
        targets: dict[str, Any],
        threads: int = 1,
        again: bool = False,
        undo: bool = True,
    ) -> None:
        """Learn rows in their order; ``again``: in a later pass, which is not evaluated.

        Rows are learned in blocks. A failure or an interrupt undoes the block in which it occurs,
        unless ``undo`` is false because the caller discards the learner.
        """
        with self.turns.take():
            record = None if again or self.calibrator is None else self
            if again:
                self.selection.freeze_means()
            before = self.examples
            try:
                how: dict[str, Any] = {"threads": threads, "undo": undo, "again": again}
                self.selection.learn(table, record=record, **how, **targets)
            finally:
                if again:
                    self.selection.freeze_means(False)
                    self.repeated += self.examples - before

    def checkpoint(self) -> Checkpoint:
        """Return what restores the recorded margins."""
        before = self.calibrator

        def restore() -> None:
            self.calibrator = before

        return restore

    def add_margins(self, targets: dict[str, Any], margins: Array) -> None:
        """Record the margins of a block."""
        assert self.calibrator is not None
        outcomes = targets["labels"] if "labels" in targets else targets["values"]
        weights = targets.get("weights")
        self.calibrator = self.calibrator.update(margins, outcomes, weights)

    def add_classes(self, settings: Settings, position: Array, classes: int) -> TextLearner:
        """Return the same learner with more classes; ``position`` says where the old ones are."""
        new = TextLearner.__new__(TextLearner)
        new.__dict__.update(self.__dict__)
        new.selection = self.selection.add_classes(settings, position, classes)
        if self.calibrator is not None:
            new.calibrator = self.calibrator.grown(self.settings, settings, position, classes)
        return new

    def relabelled(self, outputs: Sequence[int]) -> TextLearner:
        """Return the learner whose output k continues output ``outputs[k]`` of this one."""
        new = TextLearner.__new__(TextLearner)
        new.__dict__.update(self.__dict__)
        new.selection = self.selection.relabelled(outputs)
        if self.calibrator is not None:
            new.calibrator = self.calibrator.relabelled(outputs)
        return new

    # -- selection --------------------------------------------------------------------------

    def keep_best(self) -> None:
        """Keep the best candidate alone; there is nothing to select then."""
        if self.selection.selects or len(self.selection.learners) > 1:
            self.selection.keep_best()
        elif not self.examples:
            raise ValueError("Nothing can be selected before the first example.")

    @property
    def best_params(self) -> dict[str, Any]:
        """The best representation, and the best of the settings that are selected."""
        selection = self.selection.at_present()
        chosen = selection.choice if selection.examples else {}
        return {**selection.representations.descriptions[selection.representation], **chosen}

    # -- predicting -------------------------------------------------------------------------

    def at_present(self) -> TextLearner:
        """Return a view of the present candidates (see ``Candidates.at_present``)."""
        view = copy.copy(self)
        view.selection = self.selection.at_present()
        return view

    def encoded(self, table: Table, threads: int = 1) -> Matrix:
        """Return the rows of a table in the representation that predicts."""
        now = self.at_present()
        rows = now.encoder.rows(table, learn=False, threads=threads)
        return now.encoder.matrix(rows, now.selection.representation)

    def scores(self, table: Table, threads: int = 1) -> Array:
        """Return the scores of the best candidate, one column for each output."""
        return self.selection.scores(table, threads)

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class, by the margins recorded before learning."""
        assert self.calibrator is not None
        return self.calibrator.probabilities(*self.margins(scores))

    def margins(self, scores: Array) -> tuple[Array, Array]:
        """Return scores, and those of the reference row, in the unit of the recorded margins."""
        now = self.at_present()
        selection, encoder = now.selection, now.encoder
        which = selection.representation
        width = max(now.features, selection.width(which))
        reference = encoder.reference(which, None, width)
        assert reference is not None
        centre = selection.score_encoded(reference)[0]
        return bounded(scores) / selection.margin_unit, bounded(centre) / selection.margin_unit

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "turns"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, turns=OwnedLock())
