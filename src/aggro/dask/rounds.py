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
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from dask.base import annotate
from dask.delayed import Delayed, delayed
from sklearn.base import is_regressor

from aggro.dask.inputs import Partition
from aggro.dask.models import (
    go_on_with,
    grow_model,
    is_text,
    light,
    make,
    merger_of,
    races,
    with_learner,
)
from aggro.dask.progress import Progress
from aggro.dask.schedule import judges_of, rounds_for, schedule_of
from aggro.dask.work import (
    Begun,
    Outcome,
    Unit,
    combine_all,
    judge_unit,
    learn_first,
    learn_in_all,
    led,
    look_at,
)
from aggro.merging.shards import has_price, is_dear, price_stands, stands, trial_of
from aggro.selection.common import progressive_loss

FAN_IN = 8  # changes that one task of the tree adds
JUDGED = 4096  # rows that choose between two merges
JURY = 16384  # rows that choose between two prices
FIRST = 4096  # rows that a race learns alone, until its grid lies where it should
FIRST_TEXTS = 4 * FIRST  # until one of several representations leads


Judges = list[tuple[Unit, int]]  # parts of partitions, and how many rows of each


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
    begun: dict[int, int] = field(default_factory=dict)  # rows learned alone, of partitions
    over: set[int] = field(default_factory=set)  # partitions whose rows are among them, all
    unit_rows: int = 1  # rows of a unit, about
    rivals: list[Rival] = field(init=False)  # of which the first is the model
    kept: dict[int, Partition] = field(default_factory=dict)  # by their number
    lasting: bool = True  # partitions can be read again

    def __post_init__(self) -> None:
        self.rivals = [Rival(self.model)]

    def begin(self, classes: Any = None) -> None:
        """Look at the first rows; make the model, if there is none, and choose the rounds."""
        seen = self._look()
        if not hasattr(self.model, "_learner"):
            make(self.model, seen, classes)
        if self.mix_every is not None:
            rows = seen.rows * len(self.partitions)
            self.rounds = max(1, math.ceil(rows / (self.mix_every * len(self.partitions))))
        elif self.rounds == "auto":
            learner = self.model._learner
            texts = is_text(learner)
            width = learner.encoder.options.n_features if texts else seen.width
            shape = (seen.rows, seen.entries, width, learner.outputs)
            self.rounds = rounds_for(
                *shape, learner.settings.metric, partitions=len(self.partitions), dear=texts
            )
        self.unit_rows = max(1, seen.rows // self._schedule()[0][0].slices)
        if races(self.model._learner):
            self._learn_first(seen)
        several = len(self.partitions) > 1 and not is_regressor(self.model)
        if several and trial_of(self.rounds) and has_price(self.model._learner):
            self.rivals.append(Rival(copy.deepcopy(self.model), dear=False))

    def one_pass(self, number: int) -> None:
        """Learn every row once."""
        for rival in self.rivals:
            rival.dear = is_dear(number, rival.dear, rival.model._learner)
        seed = None if self.seed is None else self.seed + number
        schedule = [
            [u for u in units if u.partition not in self.over] for units in self._schedule()
        ]
        rounds = [[self._unit(unit, number, seed) for unit in units] for units in schedule if units]
        for place, units in enumerate(rounds):
            ahead = rounds[place + 1] if place + 1 < len(rounds) else []
            self._round(number, place, len(rounds), units, ahead)
        self.begun, self.over = {}, set()

    def _schedule(self) -> list[list[Unit]]:
        return schedule_of(len(self.partitions), self.rounds, dear=is_text(self.model._learner))

    def _unit(self, unit: Unit, number: int, seed: int | None) -> Unit:
        skip = self.begun.get(unit.partition, 0)
        return Unit(unit.partition, unit.place, unit.slices, skip, seed, number > 0)

    # -- one round -----------------------------------------------------------------------------

    def _round(
        self, number: int, place: int, of: int, units: list[Unit], ahead: list[Unit]
    ) -> None:
        began = time.perf_counter()
        trial = len(self.rivals) > 1 and place + 1 == trial_of(of)
        judges = self._judges(ahead, JURY if trial else JUDGED)
        outcomes = self._learn(units)
        self._forget(units)
        before = self._made()  # models that had to grow have done so
        if outcomes[0].changes:
            self._merge(outcomes, judges, trial)
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

    def _merge(self, outcomes: list[Outcome], judges: Judges, trial: bool) -> None:
        """Merge what each rival has learned, as the judges prefer; a trial chooses the price.

        Without judges the last choice stands. One look at their rows serves all choices.
        """
        merges = [
            merger_of(r.model._learner, o) for r, o in zip(self.rivals, outcomes, strict=True)
        ]
        if not judges:
            for rival, merge, outcome in zip(self.rivals, merges, outcomes, strict=True):
                go_on_with(rival.model, merge(rival.shaped), outcome)
            return
        pairs = [(merge(True), merge(False)) for merge in merges]
        models = [
            light(with_learner(rival.model, each))
            for rival, pair in zip(self.rivals, pairs, strict=True)
            for each in pair
        ]
        mistakes = self._judge(models, judges).reshape(-1, 2)
        for rival, pair, made, outcome in zip(self.rivals, pairs, mistakes, outcomes, strict=True):
            rival.shaped = stands(*made)
            go_on_with(rival.model, pair[not rival.shaped], outcome)
        if trial:
            self._choose_price(
                *(made[int(not r.shaped)] for r, made in zip(self.rivals, mistakes, strict=True))
            )

    def _choose_price(self, dear: float, cheap: float) -> None:
        """Go on at the price that makes fewer mistakes."""
        winner = self.rivals[not price_stands(dear, cheap)]
        self.model.__dict__.update(winner.model.__dict__)
        self.rivals = [replace(winner, model=self.model)]

    # -- rows ahead ----------------------------------------------------------------------------

    def _judges(self, ahead: list[Unit], rows: int) -> Judges:
        """Return the units ahead that judge, and how many rows of each.

        Partitions that are learned whole are made while the round learns, and held until their own.
        """
        if not ahead or len(self.partitions) == 1 or is_regressor(self.model):
            return []
        judges, most = judges_of(ahead, self.unit_rows, rows)
        for unit in judges:
            if unit.slices == 1 and self.lasting:
                self._keep(unit.partition)
        return [(unit, most) for unit in judges]

    def _judge(self, models: list[Any], judges: Judges) -> Any:
        """Return the mistakes of each model on the rows of all judges, in rows of equal weight."""
        sent = self._submit(models)
        tasks = [self._delay(judge_unit, unit, sent, most) for unit, most in judges]
        *mistakes, total, squares = self._result(delayed(sum)(tasks))
        return np.array(mistakes) * (total / squares if squares else 1.0)

    def _keep(self, *numbers: int) -> None:
        """Let workers that have nothing else to do make partitions, and hold them."""
        for number in numbers:
            if number in self.kept or number >= len(self.partitions):
                continue
            p = self.partitions[number]
            lazy = {name: part for name, part in vars(p).items() if isinstance(part, Delayed)}
            held = self.client.persist(list(lazy.values()), priority=-1) if lazy else []
            self.kept[number] = replace(p, **dict(zip(lazy, held, strict=True)))

    def _forget(self, units: list[Unit]) -> None:
        """Give back the room of partitions that were learned."""
        for unit in units:
            self.kept.pop(unit.partition, None)

    def _made(self) -> float:
        """Return the mistakes, or distances, of what predicted, each before it was learned."""
        return progressive_loss(self.model._learner)[int(is_regressor(self.model))]

    def _tell(
        self, number: int, place: int, of: int, rows: int, before: float, began: float, sent: int
    ) -> None:
        made, seconds = self._made() - before, time.perf_counter() - began
        self.progress.tell(number, place, of, rows, made, seconds, sent)

    def _delay(self, function: Any, unit: Unit, *args: Any) -> Any:
        """Return a task on one partition; ``args`` are its model and how many shards there are."""
        p = self.kept.get(unit.partition, self.partitions[unit.partition])
        key = self._key(f"{function.__name__}-{unit.partition}")
        parts = (p.X, p.y, p.weights, p.kind, p.options, unit)
        first, rest = args[:1], args[1:]
        with annotate(priority=int(unit.partition in self.kept)):  # which soon makes room
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
        """Return what the first partition that is not empty shows.

        It is held until it is learned, and so is the next one, which judges the first round: a
        worker that has nothing else to do makes it meanwhile.
        """
        for number in range(len(self.partitions)):
            self._keep(number, number + 1)
            seen: Outcome = self._result(self._delay(look_at, Unit(number)))
            if seen.error is not None:
                raise ValueError(seen.error)
            if seen.empty or not seen.lasting:
                self.kept.clear()
            if not seen.empty:
                self._first, self.lasting = number, seen.lasting
                return seen
        raise ValueError("All partitions are empty; give at least one row.")

    def _learn_first(self, seen: Outcome) -> None:
        """Let a race learn some rows alone, on one worker; texts of several partitions."""
        began, before, learner = time.perf_counter(), self._made(), self.model._learner
        texts = is_text(learner)
        rows = (FIRST_TEXTS if texts else FIRST) - learner.examples
        if rows <= 0:
            return
        count = math.ceil(rows / seen.rows) if texts and self.lasting else 1
        state: Any = self._submit(Begun(self.model))
        for number in range(self._first, len(self.partitions))[:count]:
            state = self._delay(learn_first, Unit(number), state, rows)
        found: Begun = self._result(delayed(led)(state) if texts else state)
        if found.error is not None:
            raise ValueError(found.error)
        self.model.__dict__.update(found.estimator.__dict__)
        self.begun = {partition: learned for partition, learned, _ in found.learned}
        self.over = {partition for partition, learned, of in found.learned if learned == of}
        self._forget([Unit(partition) for partition in self.over])
        self._tell(0, 0, self.rounds, found.rows, before, began, 0)


def _same(model: Any) -> Any:
    return model
