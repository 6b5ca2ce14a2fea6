"""Rounds: the units of a round are learned side by side, and their changes merged in a tree.

Plain Dask tasks, keyed by round and partition. What is learned depends on the partitions and the
seed alone: a task that runs again, or on another worker, gives the same bits.
"""

from __future__ import annotations

import copy
import math
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import delayed
from sklearn.base import is_regressor

from aggro.dask.inputs import Partition
from aggro.dask.progress import Progress
from aggro.dask.schedule import judges_of, rounds_for, schedule_of
from aggro.dask.work import (
    Outcome,
    Unit,
    combine_all,
    judge_unit,
    learn_first,
    learn_in_all,
    look_at,
)
from aggro.learn.alike import suffered
from aggro.learn.learner import Learner
from aggro.merging.margins import join_calibrators, merge_typical
from aggro.merging.parts import wider
from aggro.merging.shards import has_price, merge_round, stands, trial_of
from aggro.merging.text_shards import knowing, merge_text_round, without_names
from aggro.text.base import TextEstimator
from aggro.text.learner import TextLearner

FAN_IN = 8  # changes that one task of the tree adds
JUDGED = 4096  # rows that choose between two merges
JURY = 16384  # rows that choose between two prices
FIRST = 4096  # rows that a race learns alone, until its grid lies where it should


@dataclass
class Rival:
    """A model on its way, and how its shards learn."""

    model: Any  # a plain estimator
    dear: bool = True  # at a price so many times as high as there are shards
    shaped: bool = True  # how the last round was merged


@dataclass
class Rounds:
    """The passes of one ``fit`` or ``partial_fit``: a model, and how it goes on."""

    client: Any
    model: Any  # a plain estimator
    partitions: Sequence[Partition]
    seed: int | None  # of the orders of rows; None leaves them
    rounds: Any = "auto"
    mix_every: int | None = None
    progress: Progress = field(default_factory=Progress)
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    tasks: int = 0
    skipped: int = 0  # rows of the first partition that the race has learned alone
    unit_rows: int = 1  # rows of a unit, about
    rivals: list[Rival] = field(init=False)  # of which the first is the model

    def __post_init__(self) -> None:
        self.rivals = [Rival(self.model)]

    def begin(self, classes: Any = None) -> None:
        """Look at the first rows; make the model, if there is none, and choose the rounds."""
        seen = self._look()
        if not hasattr(self.model, "_learner"):
            _make(self.model, seen, classes)
        if self.mix_every is not None:
            rows = seen.rows * len(self.partitions)
            self.rounds = max(1, math.ceil(rows / (self.mix_every * len(self.partitions))))
        elif self.rounds == "auto":
            learner = self.model._learner
            texts = is_text(learner)
            width = learner.encoder.options.n_features if texts else seen.width
            shape = (seen.rows, seen.entries, width, learner.outputs)
            self.rounds = rounds_for(*shape, learner.settings.metric, dear=texts)
        slices = schedule_of(len(self.partitions), self.rounds)[0][0].slices
        self.unit_rows = max(1, seen.rows // slices)
        learner = self.model._learner
        if not isinstance(learner, Learner) and learner.examples < FIRST:
            self._learn_first(seen.partition)
        several = len(self.partitions) > 1 and not is_regressor(self.model)
        if several and trial_of(self.rounds) and has_price(self.model._learner):
            self.rivals.append(Rival(copy.deepcopy(self.model), dear=False))

    def one_pass(self, number: int) -> None:
        """Learn every row once."""
        schedule = schedule_of(len(self.partitions), self.rounds)
        seed = None if self.seed is None else self.seed + number
        rounds = [[self._unit(unit, number, seed) for unit in units] for units in schedule]
        for place, units in enumerate(rounds):
            ahead = rounds[place + 1] if place + 1 < len(rounds) else []
            self._round(number, place, len(rounds), units, ahead)
            if len(self.rivals) > 1 and place + 1 == trial_of(len(rounds)):
                self._choose_price(ahead)
        self.skipped = 0

    def _unit(self, unit: Unit, number: int, seed: int | None) -> Unit:
        skip = self.skipped if unit.partition == self._first else 0
        return Unit(unit.partition, unit.place, unit.slices, skip, seed, number > 0)

    # -- one round -----------------------------------------------------------------------------

    def _round(
        self, number: int, place: int, of: int, units: list[Unit], ahead: list[Unit]
    ) -> None:
        began = time.perf_counter()
        outcomes = self._learn(units)
        before = self._made()  # models that had to grow have done so
        for rival, outcome in zip(self.rivals, outcomes, strict=True):
            if outcome.changes:
                go_on_with(rival.model, self._merge(rival, outcome, ahead), outcome)
        sent = sum(change.nbytes for outcome in outcomes for change in outcome.changes)
        self._tell(number, place, of, outcomes[0].rows, before, began, sent)

    def _learn(self, units: list[Unit]) -> list[Outcome]:
        """Return what all units have learned from the model of each rival."""
        while True:
            shards = [len(units) if rival.dear else 1 for rival in self.rivals]
            models = [light(rival.model) for rival in self.rivals]
            sent = self._submit(list(zip(models, shards, strict=True)))
            outcomes = self._tree([self._delay(learn_in_all, u, sent) for u in units])
            for each in outcomes:
                if each.error is not None:
                    raise ValueError(each.error)
            if not any(each.width for each in outcomes):
                return outcomes
            for rival, each in zip(self.rivals, outcomes, strict=True):
                if each.width:  # and again: it did not know all that there is
                    grow_model(rival.model, each)

    def _merge(self, rival: Rival, outcome: Outcome, ahead: list[Unit]) -> Any:
        """Return the merge that the rows ahead prefer; without such rows the last choice stands."""
        merge = merger_of(rival.model._learner, outcome)
        if ahead and len(self.partitions) > 1 and not is_regressor(self.model):
            both = {kind: merge(kind) for kind in (True, False)}
            models = [light(_with_learner(rival.model, both[kind])) for kind in (True, False)]
            rival.shaped = stands(*self._judge(models, ahead, JUDGED))
            return both[rival.shaped]
        return merge(rival.shaped)

    def _choose_price(self, ahead: list[Unit]) -> None:
        """Go on at the price that the rows ahead prefer."""
        dear, cheap = self.rivals
        winner = dear
        if not stands(*self._judge([dear.model, cheap.model], ahead, JURY)):
            winner = cheap
            self.model.__dict__.update(cheap.model.__dict__)
        self.rivals = [replace(winner, model=self.model)]

    def _judge(self, models: list[Any], ahead: list[Unit], rows: int) -> Any:
        """Return the mistakes of each model on so many rows of the units ahead."""
        judges, most = judges_of(ahead, self.unit_rows, rows)
        sent = self._submit(models)
        return self._result(delayed(sum)([self._delay(judge_unit, u, sent, most) for u in judges]))

    def _made(self) -> float:
        """Return the mistakes, or distances, of what predicted, each before it was learned."""
        return suffered(self.model._learner)[int(is_regressor(self.model))]

    def _tell(
        self, number: int, place: int, of: int, rows: int, before: float, began: float, sent: int
    ) -> None:
        made, seconds = self._made() - before, time.perf_counter() - began
        self.progress.tell(number, place, of, rows, made, seconds, sent)

    def _delay(self, function: Any, unit: Unit, *args: Any) -> Any:
        """Return a task on one partition; ``args`` are its model and how many shards there are."""
        p, key = self.partitions[unit.partition], self._key(f"{function.__name__}-{unit.partition}")
        parts = (p.X, p.y, p.weights, p.kind, p.options, unit)
        first, rest = args[:1], args[1:]
        return delayed(function)(*first, *parts, *rest, dask_key_name=key)

    def _key(self, name: str) -> str:
        self.tasks += 1
        return f"aggro-{name.replace('_', '-')}-{self.token}-{self.tasks}"

    def _submit(self, model: Any) -> Any:
        """Return the model as a task of its own: if its worker is lost, another makes it again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_same, model, key=self._key("model"), pure=False)

    def _tree(self, tasks: list[Any]) -> list[Outcome]:
        """Return the outcomes of all tasks as one, added in the order of the partitions."""
        merge = delayed(combine_all)
        while True:
            groups = [tasks[i : i + FAN_IN] for i in range(0, len(tasks), FAN_IN)]
            tasks = [merge(group, dask_key_name=self._key("merge")) for group in groups]
            if len(tasks) == 1:
                break
        result: list[Outcome] = self._result(tasks[0])
        return result

    def _result(self, task: Any) -> Any:
        future = self.client.compute(task)
        try:
            return future.result()
        finally:
            if not future.done():
                future.cancel()

    # -- the beginning -------------------------------------------------------------------------

    def _look(self) -> Outcome:
        """Return what the first partition that is not empty shows."""
        for partition in range(len(self.partitions)):
            seen: Outcome = self._result(self._delay(look_at, Unit(partition)))
            if seen.error is not None:
                raise ValueError(seen.error)
            if not seen.empty:
                self._first = partition
                return seen
        raise ValueError("All partitions are empty; give at least one row.")

    def _learn_first(self, partition: int) -> None:
        """Let a race learn some rows alone, until its grid lies where it should."""
        began, before = time.perf_counter(), self._made()
        task = self._delay(learn_first, Unit(partition), self._submit(self.model), FIRST)
        model, error, count = self._result(task)
        if error is not None:
            raise ValueError(error)
        self.model.__dict__.update(model.__dict__)
        self.skipped = count
        self._tell(0, 0, self.rounds, count, before, began, 0)


def _same(model: Any) -> Any:
    return model


def _with_learner(model: Any, learner: Any) -> Any:
    other = copy.copy(model)
    other._learner = learner
    return other


def _make(model: Any, seen: Outcome, classes: Any) -> None:
    """Make the learner by one row that has no weight: it was never there."""
    X, y = seen.head
    if isinstance(model, TextEstimator):
        _make_of_texts(model, seen, classes)
        return
    if is_regressor(model):
        model.partial_fit(X, y, sample_weight=[0.0])
        return
    several = np.asarray(y).ndim == 2
    known = None if several else (seen.classes if classes is None else classes)
    model.partial_fit(X, y, classes=known, sample_weight=[0.0])
    model._classes_given = classes is not None or several


def _make_of_texts(model: Any, seen: Outcome, classes: Any) -> None:
    if is_regressor(model):
        model.partial_fit([], [])
        return
    model.partial_fit([], [], classes=seen.classes if classes is None else classes)
    model._classes_given = classes is not None


# -- what the client does with the model -----------------------------------------------------


def light(model: Any) -> Any:
    """Return a model to send: without what no worker needs."""
    learner = model._learner
    return _with_learner(model, without_names(learner)) if is_text(learner) else model


def is_text(learner: Any) -> bool:
    """Tell whether a learner learns texts."""
    return isinstance(learner, TextLearner)


def merger_of(learner: Any, outcome: Outcome) -> Callable[[bool], Any]:
    """Return what merges all that a round has learned, as one of two kinds."""
    if not is_text(learner):
        return partial(merge_round, learner, outcome.changes)
    return partial(
        merge_text_round, *knowing(learner, outcome.words, outcome.changes, outcome.records)
    )


def grow_model(model: Any, seen: Outcome) -> None:
    """Let features and classes enter that the model did not know."""
    if is_text(model._learner):
        known = model._classes.admit(seen.classes)
        model._become(model._learner_of(known), known)
        return
    if seen.width > model.n_features_in_:
        places = np.arange(model._learner.features)
        model._learner = wider(model._learner, places, seen.width)
        model.n_features_in_ = seen.width
    if not hasattr(model, "classes_") or seen.classes is None or model._multilabel:
        return
    model._admit(seen.classes)


def go_on_with(model: Any, learner: Any, outcome: Outcome) -> None:
    """Go on with what all units of a round have learned."""
    model._learner = learner
    if hasattr(model, "_counts"):
        model._counts = model._counts + outcome.counts
    if outcome.records and not is_text(learner):
        start = getattr(model, "_calibrator", None)
        model._calibrator = join_calibrators([each for each, _ in outcome.records], start)
        before = 0 if start is None else model._typical.met
        model._typical = merge_typical([each for _, each in outcome.records], before)
