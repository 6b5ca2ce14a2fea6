"""Distributed training on any engine: begin with the first rows, then rounds of learn and combine.

An engine runs functions on partitions. It may run them anywhere, in any order and more than once:
the model depends on the partitions and the seed alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from aggro.checks import check_count
from aggro.merging import schedule
from aggro.merging.adapters import Update, adapter_of
from aggro.merging.blocks import Block, Failed, Summary
from aggro.merging.progress import Progress
from aggro.merging.schedule import Task
from aggro.merging.tasks import in_partition
from aggro.selection.common import learners_of
from aggro.sklearn_api import draw_seed

ESTIMATORS = (
    *("AROWClassifier", "AROWRegressor", "AutoClassifier", "AutoRegressor"),
    *("ConfidenceWeightedClassifier", "PassiveAggressiveClassifier", "PassiveAggressiveRegressor"),
    *("Perceptron", "SoftConfidenceWeightedClassifier", "TextClassifier", "TextRegressor"),
)


class Engine(Protocol):
    """Runs functions on the blocks of partitions."""

    @property
    def partitions(self) -> int:
        """The number of partitions."""

    def join_partitions(self, groups: Sequence[range]) -> None:
        """Join neighbouring partitions; the groups are the partitions from then on."""

    def summaries(self, numbers: Sequence[int]) -> list[Summary]:
        """Return ``summarise`` of these partitions."""

    def heads(self, numbers: Sequence[int], rows: int) -> list[Block | Failed]:
        """Return ``tasks.first_rows`` of these partitions."""

    def learn_alone(self, model: Any, method: str, **more: Any) -> Any:
        """Return ``tasks.learn_alone`` of all blocks in order, run on one worker."""

    def learn(self, model: Any, tasks: Sequence[Task], held: bool) -> Update:
        """Return the combined updates of ``tasks.learn`` of all tasks, ``FAN_IN`` at a time.

        ``held``: more tasks will need the same partitions.
        """


@dataclass
class Training:
    """One ``fit`` or ``partial_fit`` of a plain estimator, which is changed."""

    engine: Engine
    model: Any
    shuffle: bool = False
    rounds: Any = "auto"
    mix_every: int | None = None
    verbose: int = 0
    begun: dict[int, int] = field(default_factory=dict)  # rows of partitions learned at first
    unreported: int = 0  # rows learned since the last report

    def __post_init__(self) -> None:
        for name in ("rounds", "mix_every"):
            if getattr(self, name) not in ("auto", None):
                check_count(name, getattr(self, name))
        self.adapter = adapter_of(self.model)
        self.progress = Progress(int(self.verbose), self.adapter.regression)
        self.seed = draw_seed(self.model.random_state) if self.shuffle else None
        self.reported = self.adapter.loss  # until the last report
        if hasattr(self.model, "verbose"):
            self.model.verbose = 0

    def partial_fit(self, classes: Any = None) -> None:
        """Learn all rows once, continuing from the present model."""
        if not self._learn_alone("partial_fit", classes):
            given = self._begin(classes)
            self._one_pass(0)
            self.adapter.finish(given, 1)

    def fit(self) -> None:
        """Learn all rows in as many passes as the parameters of the model say."""
        if self._learn_alone("fit"):
            return
        given, number, done = self._begin(None), 0, False
        while not done:
            before = self.adapter.training_loss
            self._one_pass(number)
            loss = self.adapter.training_loss - before
            done = self.adapter.is_done_after(number, loss, self.progress.rows_of(0))
            number += 1
        self.adapter.finish(given, number)

    # -- the beginning -----------------------------------------------------------------------------

    def _learn_alone(self, method: str, classes: Any = None) -> bool:
        """Learn small data on one worker; return whether that was done."""
        self._first, self._size = self._first_rows()
        count = self.engine.partitions
        if not self._automatic or not schedule.is_local([self._size] * (count - self._first)):
            return False
        sizes = self.engine.summaries(range(count))
        _check([each.error and f"partition {i}: {each.error}" for i, each in enumerate(sizes)])
        if not schedule.is_local(sizes):
            return False
        began, more = time.perf_counter(), {} if classes is None else {"classes": classes}
        found = self.engine.learn_alone(self.model, method, **more)
        _check([found.message if isinstance(found, Failed) else None])
        self.model.__dict__.update(found.__dict__)
        self.unreported = sum(size.rows for size in sizes)
        self._report(0, 0, 1, began)
        return True

    @property
    def _automatic(self) -> bool:
        """Whether the schedule is free to choose the rounds."""
        return self.rounds == "auto" and self.mix_every is None

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
        given = self.adapter.begin()
        if not self.adapter.fitted:
            self._learn_first_row(classes)
        if self.adapter.selects:
            self._learn_first_rows(self.adapter.first_rows - self.adapter.selection.examples)
            self.adapter.selection.keep_representation()
        self._plan()
        return given

    def _learn_first_row(self, classes: Any) -> None:
        """Learn the first row; later classes and columns may be added."""
        [block] = self.engine.heads([self._first], 1)
        if self.adapter.regression:
            self._learn_head(self._first, block)
        else:
            known = self._size.classes if classes is None else classes
            self._learn_head(self._first, block, classes=known)
            self.adapter.let_classes_appear(classes is not None or known is None)

    def _learn_first_rows(self, rows: int) -> None:
        """Learn the first rows, of as many partitions as necessary."""
        began, count = time.perf_counter(), math.ceil(max(rows, 0) / self._size.rows)
        wanted = range(self._first, self.engine.partitions)[:count]
        blocks = self.engine.heads(wanted, rows) if wanted else []
        for number, block in zip(wanted, blocks, strict=True):
            rows -= self._learn_head(number, block, rows)
        self._report(0, 0, 1, began)

    def _learn_head(self, number: int, block: Block | Failed, most: int = 1, **more: Any) -> int:
        """Learn rows of a partition after those learned before; return how many."""
        if isinstance(block, Failed):
            raise ValueError(f"partition {number}: {block.message}")
        order = np.arange(self.begun.get(number, 0), min(len(block), max(most, 0)))
        if len(order):
            some = block.take(order)
            try:
                self.model.partial_fit(some.X, some.y, sample_weight=some.weights, **more)
            except (ValueError, TypeError) as error:
                raise ValueError(in_partition(error, [(number, order)])) from error
            self.begun[number] = int(order[-1]) + 1
            self.unreported += len(order)
        return len(order)

    def _plan(self) -> None:
        """Choose the numbers of rounds and of shards, and join partitions accordingly."""
        count = self.engine.partitions
        if self.mix_every is not None:
            self.plan = schedule.Plan(math.ceil(self._size.rows / self.mix_every), count)
        else:
            selection, size = self.adapter.selection, self._size
            sizes = (each.outputs * each.models for each in learners_of(selection))
            shape = (count, self.adapter.width(size), max(sizes, default=1))
            rounds = None if self.rounds == "auto" else self.rounds
            self.plan = schedule.plan(size, *shape, selection.settings.metric, rounds)
        self.groups = self.plan.groups(count)
        if len(self.groups) < count:
            self.engine.join_partitions(self.groups)
            begun = [sum(self.begun.get(p, 0) for p in group) for group in self.groups]
            self.begun = dict(enumerate(begun))

    # -- rounds ------------------------------------------------------------------------------------

    def _one_pass(self, number: int) -> None:
        """Learn every row once, except those of the beginning."""
        seed = None if self.seed is None else self.seed + number
        count, plan = len(self.groups), self.plan
        for place, tasks in enumerate(plan.tasks(count, self.begun)):
            mine = [
                replace(
                    each,
                    first=self.groups[each.partition][0],
                    seed=seed,
                    repeated=number > 0,
                    shards=len(tasks),
                    square=self._size.square,
                )
                for each in tasks
            ]
            self._round(number, place, mine, not plan.is_whole(count))
        self.begun = {}

    def _round(self, number: int, place: int, tasks: list[Task], held: bool) -> None:
        began = time.perf_counter()
        while True:
            update = self.engine.learn(self.adapter.to_send(), tasks, held)
            _check([update.error])
            if update.unknown is None:
                break
            self.adapter.grow(update.unknown)  # and learn again
        if update.changes:
            self.adapter.apply(update)
        self.unreported += update.rows
        self._report(number, place, self.plan.rounds, began, update.nbytes)

    def _report(self, number: int, place: int, of: int, began: float, sent: int = 0) -> None:
        """Report what was learned since the last report, if anything."""
        if not self.unreported:
            return
        loss, seconds = self.adapter.loss - self.reported, time.perf_counter() - began
        self.progress.add(number, place, of, self.unreported, loss, seconds, sent)
        self.unreported, self.reported = 0, self.reported + loss


def _check(errors: Sequence[str | None]) -> None:
    """Raise the first error."""
    for error in errors:
        if error is not None:
            raise ValueError(error)
