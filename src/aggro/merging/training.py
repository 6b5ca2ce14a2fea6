"""Distributed training on any engine: begin with the first rows, then rounds of learn and combine.

An engine runs functions on partitions. It may run them anywhere, in any order and more than once:
what is learned depends on the partitions and the seed alone.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from aggro.calibration.recorder import Recorder
from aggro.estimators.passes import Passes, Patience
from aggro.merging import schedule
from aggro.merging.blocks import Block, Failed, Summary
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import wider, without_news
from aggro.merging.progress import Progress
from aggro.merging.schedule import Task
from aggro.merging.shards import merge_round
from aggro.merging.tasks import Update, in_partition
from aggro.merging.text_shards import counting, knowing, merge_text_round, without_names
from aggro.selection.common import learners_of, progressive_loss
from aggro.selection.selection import ModelSelection
from aggro.text.base import TextEstimator
from aggro.text.learner import TextLearner

CHANGED = ("mergeable", "early_stopping")  # parameters that differ while a model learns in rounds


class Engine(Protocol):
    """Runs functions on the blocks of partitions."""

    @property
    def partitions(self) -> int:
        """The number of partitions."""

    def join_partitions(self, count: int) -> None:
        """Join neighbouring partitions, so that about so many are left."""

    def summaries(self, numbers: Sequence[int]) -> list[Summary]:
        """Return ``summarise`` of these partitions."""

    def heads(self, numbers: Sequence[int], rows: int) -> list[Block]:
        """Return the first rows of each of these partitions."""

    def learn_alone(self, model: Any, method: str, **more: Any) -> Any:
        """Return ``tasks.learn_alone`` of all blocks in order, run on one worker."""

    def learn(self, model: Any, tasks: Sequence[Task], held: bool) -> Update:
        """Return ``tasks.combine`` of ``tasks.learn`` of all tasks, eight at a time, in order.

        Each of them is one of as many shards as there are tasks.

        ``held``: more tasks will need the same partitions.
        """


@dataclass
class Training:
    """One ``fit`` or ``partial_fit`` of a plain estimator, which is changed."""

    engine: Engine
    model: Any
    seed: int | None = None  # of the order of rows in later calls; None keeps it
    rounds: Any = "auto"
    mix_every: int | None = None
    progress: Progress = field(default_factory=Progress)
    begun: dict[int, int] = field(default_factory=dict)  # rows of partitions learned at first
    unreported: int = 0  # rows learned since the last report
    reported: float = 0.0  # mistakes or distances until then

    def __post_init__(self) -> None:
        self.reported = self._made()

    def partial_fit(self, classes: Any = None) -> None:
        """Learn all rows once, going on from the model as it is."""
        more = {} if classes is None else {"classes": classes}
        if not self._learn_alone("partial_fit", **more):
            given = self._begin(classes)
            self._one_pass(0)
            self._finish(given, 1)

    def fit(self) -> int:
        """Learn all rows in as many passes as the model's parameters say; return how many."""
        if self._learn_alone("fit"):
            return int(getattr(self.model, "n_iter_", self.model.max_iter))
        given = self._begin(None)
        passes = self._fit_texts() if is_text(self.model) else self._fit_rows()
        self._finish(given, passes)
        return passes

    def _fit_texts(self) -> int:
        for number in range(self.model.max_iter):
            self._one_pass(number)
            if number == 0:
                self.model.keep_best()
        return int(self.model.max_iter)

    def _fit_rows(self) -> int:
        """Learn pass after pass, until the loss of a pass falls by less than ``tol`` a row."""
        model = self.model
        patience = Patience(-np.inf, model.n_iter_no_change)
        for number in range(model.max_iter):
            before = model._learner.progress.loss
            self._one_pass(number)
            model._learner.freeze_means(number + 1 < model.max_iter)
            loss = model._learner.progress.loss - before
            if number == 0 and model.tol is not None:
                tol = model.tol * self.progress.rows_of(0)
                patience = Patience(tol, model.n_iter_no_change)
            if patience.ends_with(-loss) and model.tol is not None:
                break
        else:
            if model.tol is not None:
                Passes.of(model).warn_not_converged(stacklevel=4)
        model._learner.freeze_means(False)
        return number + 1

    # -- the beginning -------------------------------------------------------------------------

    def _learn_alone(self, method: str, **more: Any) -> bool:
        """Learn little data on one worker; return whether that was done."""
        self._first, self._size = self._first_rows()
        if self.rounds != "auto" or self.mix_every is not None:
            return False
        count = self.engine.partitions
        if not schedule.is_local([self._size] * (count - self._first)):
            return False
        sizes = self.engine.summaries(range(count))
        _check([each.error and f"partition {i}: {each.error}" for i, each in enumerate(sizes)])
        if not schedule.is_local(sizes):
            return False
        began = time.perf_counter()
        found = self.engine.learn_alone(self.model, method, **more)
        _check([found.message if isinstance(found, Failed) else None])
        self.model.__dict__.update(found.__dict__)
        self.unreported = sum(size.rows for size in sizes)
        self._report(0, 0, 1, began)
        return True

    def _first_rows(self) -> tuple[int, Summary]:
        """Return the first partition that is not empty, and its size."""
        for number in range(self.engine.partitions):
            [size] = self.engine.summaries([number])
            _check([size.error and f"partition {number}: {size.error}"])
            if size.rows:
                return number, size
        raise ValueError("All partitions are empty; give at least one row.")

    def _begin(self, classes: Any) -> dict[str, Any]:
        """Prepare the model for rounds and plan them; return its parameters as they were.

        A new model learns the first row, and a model selection the first rows, as on one machine.
        """
        model = self.model
        given = {name: getattr(model, name) for name in CHANGED if hasattr(model, name)}
        if getattr(model, "early_stopping", False) is True:
            raise ValueError(
                "early_stopping=True holds rows out on one machine; on a cluster use tol, which "
                "compares the losses of passes."
            )
        if hasattr(model, "early_stopping"):
            model.early_stopping = False
        if self.rounds == "auto" and self.mix_every is None:
            self._join_partitions()
        _count_updates(model, True)
        if not hasattr(model, "_learner"):
            self._make(classes)
        if selects(model._learner):
            texts = is_text(model)
            first = schedule.FIRST_TEXTS if texts else schedule.FIRST_ROWS
            self._learn_first(first - model._learner.examples)
            if texts:
                model._learner.selection.keep_representation()
        self._plan()
        return given

    def _make(self, classes: Any) -> None:
        """Learn the first row; later classes and columns may be added."""
        [block] = self.engine.heads([self._first], 1)
        known = self._size.classes if classes is None else classes
        more = {} if _is_regressor(self.model) else {"classes": known}
        self._learn_head(self._first, block, **more)
        if more:
            _fix_classes(self.model, classes is not None or known is None)

    def _learn_first(self, rows: int) -> None:
        """Learn the first rows of as many partitions as it takes."""
        if rows <= 0:
            return
        began = time.perf_counter()
        wanted = range(self._first, self.engine.partitions)[: math.ceil(rows / self._size.rows)]
        for number, block in zip(wanted, self.engine.heads(wanted, rows), strict=True):
            rest = np.arange(self.begun.get(number, 0), min(len(block), rows))
            if len(rest):
                self._learn_head(number, block.take(rest))
                rows -= len(rest)
        self._report(0, 0, 1, began)

    def _learn_head(self, number: int, block: Block, **more: Any) -> None:
        skipped = self.begun.get(number, 0)
        try:
            self.model.partial_fit(block.X, block.y, sample_weight=block.weights, **more)
        except (ValueError, TypeError) as error:
            order = np.arange(skipped, skipped + len(block))
            raise ValueError(in_partition(error, [(number, order)])) from error
        self.begun[number] = skipped + len(block)
        self.unreported += len(block)

    def _join_partitions(self) -> None:
        """Join partitions that are too small for a task each."""
        joined = schedule.partitions_per_task(self._size)
        if joined > 1:
            self.engine.join_partitions(math.ceil(self.engine.partitions / joined))
            self._first, self._size = self._first_rows()

    def _plan(self) -> None:
        """Choose the number of rounds."""
        learner, size = self.model._learner, self._size
        if self.mix_every is not None:
            self.rounds = max(1, math.ceil(size.rows / self.mix_every))
        if self.rounds != "auto":
            return
        outputs = max((each.outputs * each.models for each in learners_of_any(learner)), default=1)
        width = learner.encoder.options.n_features if is_text(self.model) else size.width
        metric = learner.settings.metric
        self.rounds = schedule.rounds_for(size, self.engine.partitions, width, outputs, metric)

    # -- rounds --------------------------------------------------------------------------------

    def _one_pass(self, number: int) -> None:
        """Learn every row once, but for those of the beginning."""
        seed = None if self.seed is None else self.seed + number
        rounds = schedule.tasks_of(self.engine.partitions, self.rounds, self.begun)
        held = not schedule.is_whole(self.engine.partitions, self.rounds)
        for place, tasks in enumerate(rounds):
            mine = [replace(each, seed=seed, repeated=number > 0) for each in tasks]
            self._round(number, place, mine, held)
        self.begun = {}

    def _round(self, number: int, place: int, tasks: list[Task], held: bool) -> None:
        began = time.perf_counter()
        while True:
            update = self.engine.learn(_to_send(self.model), tasks, held)
            _check([update.error])
            if update.unknown is None:
                break
            grow(self.model, update.unknown)  # and learn again
        if update.changes:
            apply_update(self.model, update)
        self.unreported += update.rows
        self._report(number, place, self.rounds, began, update.nbytes)

    def _finish(self, given: dict[str, Any], passes: int) -> None:
        """Give the model its parameters back."""
        self.model.__dict__.update(given)
        _count_updates(self.model, bool(given.get("mergeable")))
        if not is_text(self.model):
            known = self.model._parameters()
            self.model._fitted = self.model._fitted.changed(n_iter=passes, parameters=known)

    def _made(self) -> float:
        """Return the mistakes, or distances, of what predicted, each before it was learned."""
        if not hasattr(self.model, "_learner"):
            return 0.0
        return progressive_loss(self.model._learner)[int(_is_regressor(self.model))]

    def _report(self, number: int, place: int, of: int, began: float, sent: int = 0) -> None:
        """Report what was learned since the last report, if anything."""
        if not self.unreported:
            return
        made, seconds = self._made() - self.reported, time.perf_counter() - began
        self.progress.add(number, place, of, self.unreported, made, seconds, sent)
        self.unreported, self.reported = 0, self.reported + made


# -- the model -----------------------------------------------------------------------------------


def is_text(model: Any) -> bool:
    """Return whether an estimator learns texts."""
    return isinstance(model, TextEstimator)


def selects(learner: Any) -> bool:
    """Return whether a learner has something to select."""
    if isinstance(learner, TextLearner):
        return learner.selection.selects
    return isinstance(learner, ModelSelection)


def learners_of_any(learner: Any) -> list[Any]:
    """Return all learners that a learner of rows or of texts is made of."""
    return learners_of(learner.selection if isinstance(learner, TextLearner) else learner)


def grow(model: Any, unknown: Summary) -> None:
    """Add classes and columns that the model did not know."""
    if is_text(model):
        known = model._classes.admit(unknown.classes)
        model._become(model._learner_of(known), known)
        return
    if unknown.width > model.n_features_in_:
        places = np.arange(model._learner.features)
        model._learner = wider(model._learner, places, unknown.width)
    if hasattr(model, "classes_") and unknown.classes is not None and not model._multilabel:
        model._fitted = model._with_classes(model._fitted, unknown.classes)


def apply_update(model: Any, update: Update) -> None:
    """Merge what all tasks of a round have learned into the model."""
    start = model._learner
    if is_text(model):
        known = knowing(start, update.words, update.changes, update.records)
        model._learner = merge_text_round(*known, repeated=start.repeated + update.repeated)
        return
    fitted = model._fitted.changed(learner=merge_round(start, update.changes))
    if fitted.counts is not None:
        fitted = fitted.changed(counts=fitted.counts + update.counts)
    if update.records:
        known = fitted.record
        calibrators, rows = zip(*update.records, strict=True)
        calibrator = join_calibrators(calibrators, None if known is None else known.calibrator)
        reference = merge_typical(rows, 0 if known is None else known.typical.met)
        fitted = fitted.changed(record=Recorder(calibrator, reference))
    model._fitted = fitted


def _fix_classes(model: Any, given: bool) -> None:
    """Declare whether the classes of a model are all that may ever appear."""
    if is_text(model):
        model._classes_given = given
        return
    classes = replace(model._classes, given=given)
    model._fitted = model._fitted.changed(classes=classes)


def _to_send(model: Any) -> Any:
    """Return a model without what no task needs."""
    if not is_text(model):
        return model
    light = copy.copy(model)
    light._learner = without_names(model._learner)
    return light


def _count_updates(model: Any, mergeable: bool) -> None:
    """Let the model count the steps that move each weight from here on, or no longer."""
    if hasattr(model, "mergeable"):
        model.mergeable = mergeable
    if not hasattr(model, "_learner"):
        return
    if is_text(model):
        model._learner = counting(model._learner, mergeable)
        return
    model._learner = without_news(model._learner, mergeable)
    model._learner.configure(model._checked_settings(model._learner.settings.task))
    model._fitted = model._fitted.changed(parameters=model._parameters())


def _is_regressor(model: Any) -> bool:
    return bool(model._estimator_kind == "regressor")


def _check(errors: Sequence[str | None]) -> None:
    """Raise the first error."""
    for error in errors:
        if error is not None:
            raise ValueError(error)
