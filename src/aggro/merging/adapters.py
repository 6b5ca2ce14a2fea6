"""Estimators of rows and of texts behind one interface, for distributed training."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.estimators.passes import Passes, Patience
from aggro.merging import schedule
from aggro.merging.blocks import Block, Summary
from aggro.merging.changes import Change, add, change_of
from aggro.merging.learners import counting_updates, merge_round, shard_of, with_learners
from aggro.merging.margins import join_calibrators, join_recorders, join_references
from aggro.merging.models import check_linear
from aggro.merging.schedule import Task
from aggro.merging.texts import encoder_like, moved_to, renumbered
from aggro.merging.words import State, finder, keys_of, nameless, since, together
from aggro.selection.common import grow_features, learners_of, progressive_loss
from aggro.selection.memory import fits_into_memory
from aggro.selection.selection import ModelSelection
from aggro.text.base import TextEstimator
from aggro.text.learner import TextLearner


@dataclass
class Update:
    """What one or several tasks have learned, or what the model must know before they can."""

    rows: int = 0
    repeated: int = 0  # of these rows: learned in an earlier pass
    changes: tuple[Change, ...] = ()  # of each learner
    counts: Any = 0.0  # examples of each class, where classes are weighted
    records: tuple[Any, ...] = ()  # recorded margins, for probabilities
    words: State | None = None  # what encoders of texts have counted
    unknown: Summary | None = None  # classes and columns that the model does not know yet
    error: str | None = None

    @property
    def nbytes(self) -> int:
        """The size of what is sent."""
        words = [] if self.words is None else self.words.values()
        return sum(change.nbytes for change in self.changes) + sum(each.nbytes for each in words)

    @staticmethod
    def combined(updates: Sequence[Update]) -> Update:
        """Return several updates as one: the first error, what is unknown, or the sum."""
        for each in updates:
            if each.error is not None:
                return each
        unknown = [each.unknown for each in updates if each.unknown is not None]
        if unknown:
            return Update(unknown=reduce(Summary.joined, unknown))
        learned = [each for each in updates if each.changes]
        if not learned:
            return updates[0]
        words = [each.words for each in learned if each.words is not None]
        return Update(
            sum(each.rows for each in learned),
            sum(each.repeated for each in learned),
            tuple(add(*of_one) for of_one in zip(*(u.changes for u in learned), strict=True)),
            sum((each.counts for each in learned[1:]), learned[0].counts),
            tuple(record for each in learned for record in each.records),
            together(words) if words else None,
        )


def adapter_of(model: Any) -> RowAdapter | TextAdapter:
    """Return the adapter of an estimator."""
    return TextAdapter(model) if isinstance(model, TextEstimator) else RowAdapter(model)


class Adapter:
    """An estimator that learns in rounds."""

    CHANGED = ("mergeable", "early_stopping")  # parameters that differ during the rounds

    def __init__(self, model: Any) -> None:
        self.model = model
        self.patience: Patience | None = None

    @property
    def fitted(self) -> bool:
        """Whether the estimator has a learner."""
        return hasattr(self.model, "_learner")

    @property
    def regression(self) -> bool:
        """Whether targets are numbers."""
        return bool(self.model._estimator_kind == "regressor")

    @property
    def learner(self) -> Any:
        """The learner of the estimator."""
        return self.model._learner

    @property
    def selection(self) -> Any:
        """The learner of rows: one model or a model selection."""
        return self.model._learner

    @property
    def selects(self) -> bool:
        """Whether settings or representations are selected."""
        return bool(getattr(self.selection, "selects", False))

    @property
    def loss(self) -> float:
        """Mistakes or distances of the predictions, each made before its row was learned."""
        return progressive_loss(self.selection)[int(self.regression)] if self.fitted else 0.0

    @property
    def training_loss(self) -> float:
        """The training loss so far."""
        return float(self.selection.progress.loss)

    @property
    def first_rows(self) -> int:
        """The number of rows that a model selection learns before the rounds."""
        return schedule.FIRST_ROWS

    def width(self, size: Summary) -> int:
        """Return the number of columns of the rows that learners see."""
        return size.width

    def begin(self) -> dict[str, Any]:
        """Prepare the estimator for rounds; return the parameters to restore by ``finish``."""
        given = {n: getattr(self.model, n) for n in self.CHANGED if hasattr(self.model, n)}
        if given.get("early_stopping") is True:
            raise ValueError(
                "early_stopping=True holds rows out on one machine; on a cluster use tol, which "
                "compares the losses of passes."
            )
        if "early_stopping" in given:
            self.model.early_stopping = False
        self._count_updates(True)
        return given

    def finish(self, given: dict[str, Any], passes: int) -> None:
        """Restore the parameters of the estimator."""
        self.model.__dict__.update(given)
        self._count_updates(bool(given.get("mergeable")))

    def _count_updates(self, mergeable: bool) -> None:
        """Count the updates of each weight from here on, or no longer."""
        if hasattr(self.model, "mergeable"):
            self.model.mergeable = mergeable

    def is_done_after(self, number: int, loss: float, rows: int) -> bool:
        """End a pass: the last one if the training loss falls by less than ``tol`` a row."""
        model, done = self.model, bool(number + 1 == self.model.max_iter)
        if model.tol is not None:
            self.patience = self.patience or Patience(model.tol * rows, model.n_iter_no_change)
            converged = self.patience.ends_with(-loss)
            if done and not converged:
                Passes.of(model).warn_not_converged(stacklevel=5)
            done = done or converged
        self.selection.freeze_means(not done)
        return done

    def to_send(self) -> Any:
        """Return the estimator without what tasks do not need; its weights become explicit."""
        for each in learners_of(self.selection):
            each.model.fold()
        return self.model

    def lacks(self, block: Block) -> bool:
        """Return whether the estimator must grow before it can learn a block."""
        model = self.model
        if not hasattr(model, "classes_") or model._classes.given or np.ndim(block.y) != 1:
            return False
        return len(Classes(model.classes_).strange(np.unique(block.y))) > 0


class RowAdapter(Adapter):
    """An estimator of rows."""

    def begin(self) -> dict[str, Any]:
        """Prepare the estimator for rounds; return the parameters to restore by ``finish``."""
        if self.fitted:
            check_linear(self.learner)
        return super().begin()

    def finish(self, given: dict[str, Any], passes: int) -> None:
        """Restore the parameters of the estimator."""
        super().finish(given, passes)
        model = self.model
        model._fitted = model._fitted.changed(n_iter=passes, parameters=model._parameters())

    def _count_updates(self, mergeable: bool) -> None:
        super()._count_updates(mergeable)
        if self.fitted:
            model = self.model
            model._learner = counting_updates(self.learner, mergeable)
            model._learner.configure(model._checked_settings(self.learner.settings.task))
            model._fitted = model._fitted.changed(parameters=model._parameters())

    def lacks(self, block: Block) -> bool:
        """Return whether the estimator must grow before it can learn a block."""
        wider = block.X.shape[1] > self.model.n_features_in_
        if wider and not hasattr(self.model, "feature_names_in_"):
            return hasattr(block.X, "indptr")
        return super().lacks(block)

    def grow(self, unknown: Summary) -> None:
        """Add classes and columns."""
        model = self.model
        if unknown.width > model.n_features_in_:
            grow_features(self.learner, unknown.width)
        if hasattr(model, "classes_") and unknown.classes is not None and not model._multilabel:
            model._fitted = model._with_classes(model._fitted, unknown.classes)

    def let_classes_appear(self, given: bool) -> None:
        """Declare whether the present classes are all that may ever appear."""
        classes = replace(self.model._classes, given=given)
        self.model._fitted = self.model._fitted.changed(classes=classes)

    def shard(self, task: Task) -> Any:
        """Return a copy of the model that learns as one of several shards."""
        own, start = copy.copy(self.model), self.model._fitted
        square = task.square if start.learner.settings.scale == "none" else 0.0
        own._learner = shard_of(start.learner, task.shards, square)
        if task.repeated and hasattr(own, "probability"):
            own.probability = False
        own._fitted = own._fitted.changed(parameters=own._parameters())  # keeps the scaled C
        return own

    def learn(self, shard: Any, block: Block, repeated: bool) -> None:
        """Let a shard learn a block."""
        shard.partial_fit(block.X, block.y, sample_weight=block.weights)

    def update(self, shard: Any, rows: int, repeated: bool) -> Update:
        """Return what a shard has learned."""
        start, end = self.model._fitted, shard._fitted
        pairs = zip(learners_of(start.learner), learners_of(end.learner), strict=True)
        changes = tuple(change_of(*pair) for pair in pairs)
        counts = 0.0 if end.counts is None else end.counts - start.counts
        records = () if repeated or end.record is None else (end.record,)
        return Update(rows, rows * repeated, changes, counts, records)

    def apply(self, update: Update) -> None:
        """Merge what all tasks of a round have learned into the model."""
        fitted = self.model._fitted
        new: dict[str, Any] = {"learner": merge_round(fitted.learner, update.changes)}
        if fitted.counts is not None:
            new["counts"] = fitted.counts + update.counts
        if update.records:
            new["record"] = join_recorders(update.records, fitted.record)
        self.model._fitted = fitted.changed(**new)


class TextAdapter(Adapter):
    """An estimator of texts. Each shard meets words of its own, which have the same keys in all."""

    @property
    def selection(self) -> Any:
        """The learner of rows: one model or a model selection."""
        return self.model._learner.selection

    @property
    def first_rows(self) -> int:
        """The number of texts that a model selection learns before the rounds."""
        return schedule.FIRST_TEXTS

    def width(self, size: Summary) -> int:
        """Return the number of columns of the rows that learners see."""
        return int(self.learner.encoder.options.n_features)

    def _count_updates(self, mergeable: bool) -> None:
        super()._count_updates(mergeable)
        if self.fitted:
            selection = counting_updates(self.selection, mergeable)
            self.model._learner = _with(self.learner, selection=selection)

    def to_send(self) -> Any:
        """Return the estimator without the names of words, which tasks do not need."""
        light = copy.copy(super().to_send())
        light._learner = _nameless(self.learner)
        return light

    def grow(self, unknown: Summary) -> None:
        """Add classes."""
        known = self.model._classes.admit(unknown.classes)
        self.model._become(self.model._learner_of(known), known)

    def let_classes_appear(self, given: bool) -> None:
        """Declare whether the present classes are all that may ever appear."""
        self.model._classes_given = given

    def is_done_after(self, number: int, loss: float, rows: int) -> bool:
        """End a pass; the selection ends with the first."""
        if number == 0:
            self.model.keep_best()
        return super().is_done_after(number, loss, rows)

    def shard(self, task: Task) -> Any:
        """Return a copy of the model that learns as one of several shards."""
        own, bare = copy.copy(self.model), _nameless(self.learner)
        square = 1.0 + bare.encoder.sources  # rows have the norm 1
        own._learner = _with(bare, selection=shard_of(bare.selection, task.shards, square))
        return own

    def learn(self, shard: Any, block: Block, repeated: bool) -> None:
        """Let a shard learn a block."""
        table, batch = shard._prepared(block.X, block.y, block.weights)
        shard._learner.learn(table, batch, again=repeated, undo=False)

    def update(self, shard: Any, rows: int, repeated: bool) -> Update:
        """Return what a shard has learned, with the keys of its features."""
        start, end = self.learner, shard._learner
        keys = [keys_of(end.encoder, which) for which, _ in end.encoder.choices]
        changes = tuple(
            _change_by_key(old, new, keys[new.representation])
            for old, new in zip(start.selection.learners, end.selection.learners, strict=True)
        )
        records: tuple[Any, ...] = ()
        if end.calibrator is not None and not repeated:
            pairs = zip(end.encoder.references, keys, strict=True)
            references = [renumbered(row, own_keys.__getitem__) for row, own_keys in pairs]
            records = ((end.calibrator, references),)
        words = since(nameless(start.encoder.state()), end.encoder.state())
        return Update(rows, rows * repeated, changes, records=records, words=words)

    def apply(self, update: Update) -> None:
        """Merge what all tasks of a round have learned into the model.

        As soon as one representation is best, it continues alone, because shards would have to send
        the words of all others in each round.
        """
        start, words = self.learner, update.words or {}
        encoder = encoder_like(start.encoder, together([start.encoder.state(), words]))
        selection, references = moved_to(encoder, start)
        keys = [keys_of(encoder, which) for which, _ in encoder.choices]
        changes = [
            change.renumbered(finder(keys[learner.representation]))
            for change, learner in zip(update.changes, selection.learners, strict=True)
        ]
        calibrator = start.calibrator
        if update.records:
            calibrator = join_calibrators([own for own, _ in update.records], calibrator)
            references = [
                join_references(
                    [renumbered(rows[number], finder(own)) for _, rows in update.records], row.met
                )
                for number, (row, own) in enumerate(zip(references, keys, strict=True))
            ]
        encoder.set_references(references)
        selection = with_learners(selection, selection.learners, representations=encoder)
        selection = merge_round(selection, changes)
        assert isinstance(selection, ModelSelection)
        if not fits_into_memory(selection.learners, selection.settings):
            selection.fit_into_memory()
        selection.keep_representation()
        repeated = start.repeated + update.repeated
        new = {"selection": selection, "calibrator": calibrator, "repeated": repeated}
        self.model._learner = _with(start, **new)


def _change_by_key(old: Any, new: Any, keys: Any) -> Change:
    """Return the change of a learner with the keys of its features."""
    before = copy.deepcopy(old)
    before.model.grow(new.features)
    return change_of(before, new).renumbered(np.append(keys, -1).__getitem__)


def _with(learner: TextLearner, **changes: Any) -> TextLearner:
    new = copy.copy(learner)
    new.__dict__.update(changes)
    return new


def _nameless(learner: TextLearner) -> TextLearner:
    """Return the learner without the names of its words."""
    bare = encoder_like(learner.encoder, nameless(learner.encoder.state()))
    selection = learner.selection
    return _with(
        learner, selection=with_learners(selection, selection.learners, representations=bare)
    )
