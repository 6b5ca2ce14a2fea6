"""Texts in, scores out: representations that race, each with its own race of learners.

Term frequency runs against inverse document frequency and words against words with their pairs.
Each document is read once, and evaluated by all candidates before it is learned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from aggro import _core
from aggro.calibration.calibrator import Calibrator
from aggro.calibration.recorder import Recorder
from aggro.learner import Array, Learner
from aggro.reference_row import ReferenceRow, next_change
from aggro.selection.candidates import is_hopeless, lanes_of, record_of
from aggro.selection.common import AnyLearner, grow_features, learners_of, progressive_loss
from aggro.selection.grids import PIECE, is_settled, next_look
from aggro.selection.makers import grown
from aggro.selection.report import SelectionReport, choice_of, leaving
from aggro.selection.selection import ModelSelection
from aggro.settings import DEFAULT_MEMORY, Settings
from aggro.text.encoder import Encoder, Rows
from aggro.text.race import best_of, bytes_of, make_race, put_back, share_drift, winner_of
from aggro.text.runner import Runner, matrix_of, settings_of
from aggro.text.table import Table
from aggro.transaction import OwnedLock

PATIENCE = 3 * PIECE  # examples before a representation may leave: long n-grams begin slowly


class TextLearner:
    """Learns from tables of texts, by class or by value."""

    def __init__(
        self,
        encoder: Encoder,
        settings: Settings,
        outputs: int,
        seed: int,
        memory: int = DEFAULT_MEMORY,
    ) -> None:
        self.encoder, self.settings, self.memory = encoder, settings, memory
        self.classes, self.examples, self.leading = outputs, 0, 0
        self.repeated = 0  # examples of later passes, which are not judged
        self.counted = (0.0, 0.0)  # mistakes and distance, less those of the leader itself
        self.left: list[dict[str, Any]] = []  # what is told of learners that are out of the race
        nothing = ReferenceRow.of(np.zeros(1))
        self.runners = [
            Runner(which, kind, make_race(settings, outputs, "float32", seed), nothing)
            for kind in reversed(encoder.kinds)
            for which in range(len(encoder.ranges))
        ]
        self.calibrator = None if settings.task == "regression" else Calibrator.empty(outputs)
        self.turns = OwnedLock()

    @property
    def leader(self) -> Runner:
        """The representation that predicts."""
        return self.runners[self.leading]

    @property
    def mistakes(self) -> float:
        """Mistakes of whoever led at the time, each before learning."""
        return self.counted[0] + progressive_loss(self.leader.race)[0]

    @property
    def distance(self) -> float:
        """The same for numbers: how far off it was."""
        return self.counted[1] + progressive_loss(self.leader.race)[1]

    @property
    def bytes(self) -> int:
        """Memory of the tables of all learners."""
        return sum(
            bytes_of(learner, self.encoder.features(runner.which))
            for runner in self.runners
            for learner in learners_of(runner.race)
        )

    # -- learning ---------------------------------------------------------------------------

    def learn(
        self,
        table: Table,
        lesson: dict[str, Any],
        threads: int = 1,
        again: bool = False,
        undo: bool = True,
    ) -> None:
        """Learn rows in their order; ``again``: documents that were learned before.

        Those are not counted again, and neither are mistakes in them.

        Blocks end where the race is looked at, which depends on the number of examples alone. A
        block is learned wholly or not at all, by all; unless ``undo`` is false, because the caller
        will throw the learner away.
        """
        with self.turns.take(), self._frozen(again):
            start = 0
            while start < len(table):
                end = min(start + self._until_next_look(), len(table))
                part = {
                    name: None if each is None else each[start:end] for name, each in lesson.items()
                }
                block = table.take(slice(start, end))
                if undo:
                    self._learn_or_undo(block, part, threads, again)
                else:
                    self._teach(*self._given(block, threads, again), part, threads, again)
                    self.encoder.keep(prune=self.examples % PIECE == 0)
                start = end

    @contextmanager
    def _frozen(self, again: bool) -> Iterator[None]:
        """Freeze the learners, of which there is one, while known documents are learned."""
        if again:
            self.leader.race.freeze_means()
        try:
            yield
        finally:
            if again:
                self.leader.race.freeze_means(False)

    def _until_next_look(self) -> int:
        """Return how many examples may pass; one learner alone has only its typical row renewed."""
        if len(self.runners) == 1 and not isinstance(self.leader.race, ModelSelection):
            return next_change(self.examples - self.repeated, 1)
        return next_look(self.examples) - self.examples

    def _learn_or_undo(
        self, table: Table, lesson: dict[str, Any], threads: int, again: bool
    ) -> None:
        before = dict(self.__dict__)
        races = [(runner.race, dict(runner.race.__dict__)) for runner in self.runners]
        kept: list[Any] = []
        self.encoder.begin()
        try:
            given, rows = self._given(table, threads, again)
            for runner, each in zip(self.runners, given, strict=True):
                models: list[Any] = [learner.model for learner in learners_of(runner.race)]
                if models:
                    kept.append(_core.begin_transaction(models, each, **lesson))
            self._teach(given, rows, lesson, threads, again)
        except BaseException:
            for undo in kept:
                undo.restore()
            for race, known in races:
                put_back(race, known)
            self.encoder.restore()
            self.__dict__.update(before)
            raise
        self.encoder.keep(prune=self.examples % PIECE == 0)

    def _given(
        self, table: Table, threads: int, again: bool
    ) -> tuple[list[_core.Rows], list[Rows]]:
        """Return the rows of a block as each runner reads them, with room for their features."""
        rows = self.encoder.rows(table, not again, threads)
        self.leave_room()
        for runner in self.runners:
            grow_features(runner.race, self.encoder.features(runner.which))
        return [self._rows(runner, rows) for runner in self.runners], rows

    def _teach(
        self,
        given: list[_core.Rows],
        rows: list[Rows],
        lesson: dict[str, Any],
        threads: int,
        again: bool,
    ) -> None:
        count, runners = given[0].count, []
        for place, (runner, each) in enumerate(zip(self.runners, given, strict=True)):
            watch = {}
            if self.calibrator is not None and place == self.leading and not again:
                watch = self._watch(runner, count)
            runner.race.learn(each, undo=False, threads=threads, **lesson, **watch)
            if watch:
                self._record(lesson, watch["margins"])
            typical = runner.typical
            if self.calibrator is not None and not again:
                typical = typical.after(matrix_of(runner, rows), np.arange(count), 1)
            runners.append(dataclasses.replace(runner, typical=typical))
        if self.calibrator is not None and not self.examples:
            self._record(lesson, np.empty((0, 2, self.outputs)))
        self.repeated += count if again else 0
        self.go_on_with(runners, self.examples + count)

    def go_on_with(self, runners: list[Runner], examples: int) -> None:
        """Take over what was learned of so many examples; look who leads, if that is due."""
        look = next_look(self.examples)
        self.runners, self.examples = runners, examples
        if examples >= look:
            self._look(examples >= PATIENCE and is_settled(examples, look))

    @property
    def outputs(self) -> int:
        """Scores of one row."""
        return 1 if self.settings.task == "binary" else self.classes

    def _watch(self, runner: Runner, count: int) -> dict[str, Any]:
        """Return where the margins go, which a model that knows nothing does not give."""
        if not self.examples:
            return {}
        typical = runner.typical.rows(runner.race.features)
        return {"typical": typical, "margins": np.zeros((count, 2, self.outputs))}

    def _record(self, lesson: dict[str, Any], margins: Array) -> None:
        assert self.calibrator is not None
        labels, weights = lesson["labels"], lesson.get("weights")
        weights = np.ones(len(labels)) if weights is None else weights
        scores, centres = margins.transpose(1, 0, 2)
        self.calibrator = self.calibrator.plus(labels, weights, scores, centres)

    def _rows(self, runner: Runner, rows: list[Rows]) -> _core.Rows:
        matrix = matrix_of(runner, rows)
        return _core.Rows(matrix.data, matrix.indices, matrix.indptr, runner.race.features)

    # -- the race ---------------------------------------------------------------------------

    def _look(self, settled: bool) -> None:
        """Look who leads, and let those leave that are far behind."""
        self._lead(self.runners)
        share_drift([runner.race for runner in self.runners], self.leading)
        if not settled or sum(len(learners_of(r.race)) for r in self.runners) == 1:
            return
        best = min(learners_of(self.leader.race), key=record_of)
        regression = self.settings.task == "regression"
        staying, out = [], []
        for runner in self.runners:
            learners = learners_of(runner.race)
            kept = [each for each in learners if not is_hopeless(each, best, regression)]
            out += self._shown(runner, [each for each in learners if each not in kept])
            if isinstance(runner.race, ModelSelection) and 0 < len(kept) < len(learners):
                runner.race.go_on_with(kept)
            staying += [runner] if kept else []
        self._lead(staying)
        if out:
            self.left = [*self.left, *leaving(out, self.lanes(), self.examples, regression)]

    def _lead(self, runners: Sequence[Runner]) -> None:
        """Go on with these; the one with the best record leads."""
        leading = self.best(runners)
        if runners is self.runners and leading == self.leading:
            return
        counted = self._counted_beside(runners[leading].race)
        self.__dict__.update(runners=list(runners), leading=leading, counted=counted)

    def _counted_beside(self, race: AnyLearner) -> tuple[float, float]:
        """Return the mistakes and distance so far, less those of a race that leads from now on."""
        made = progressive_loss(race)
        return self.mistakes - made[0], self.distance - made[1]

    @staticmethod
    def best(runners: Sequence[Runner]) -> int:
        """Return the place of the runner with the best record."""
        return min(range(len(runners)), key=lambda i: best_of(runners[i].race))

    def leave_room(self) -> None:
        """Let the worst learners leave while the tables would take more memory than they may."""
        while True:
            all_ = [
                (learner, runner) for runner in self.runners for learner in learners_of(runner.race)
            ]
            if self.bytes <= self.memory or len(all_) <= 1:
                return
            worst, where = max(all_, key=lambda each: record_of(each[0]))
            kept = [learner for learner in learners_of(where.race) if learner is not worst]
            if kept and isinstance(where.race, ModelSelection):
                where.race.go_on_with(kept)
            self._lead([runner for runner in self.runners if kept or runner is not where])

    def keep_best(self) -> None:
        """End the race: keep the leader alone, as if there had been no other."""
        leader = self.leader
        if not self.examples:
            raise ValueError("There is nothing to choose by before the first example.")
        if len(self.runners) == 1 and isinstance(leader.race, Learner):
            return  # there is no race
        alone, calibrator = winner_of(leader.race), self.calibrator
        if calibrator is not None:
            calibrator = Recorder(calibrator).of_winner(leader.race).calibrator
        self._keep(alone, settings=alone.settings, left=[], calibrator=calibrator)

    def follow_leader(self) -> None:
        """Let the representation that leads race on alone, once enough is known of all of them."""
        if len(self.runners) == 1 or self.examples < PATIENCE:
            return
        leader, regression = self.leader, self.settings.task == "regression"
        stay, gone = self._shown(leader, learners_of(leader.race)), []
        for runner in self.runners:
            gone += [] if runner is leader else self._shown(runner, learners_of(runner.race))
        left = leaving(gone, stay, self.examples, regression)
        self._keep(leader.race, left=[*self.left, *left])

    def _shown(self, runner: Runner, learners: Sequence[Learner]) -> list[dict[str, Any]]:
        """Return the lanes of some learners of a representation, as they are told."""
        lanes = (lane for learner in learners for lane in lanes_of(learner))
        return [{**self._about(runner), **lane} for lane in lanes]

    def _keep(self, race: AnyLearner, **changes: Any) -> None:
        """Keep the representation that leads, and learn its texts with this race of it."""
        alone = dataclasses.replace(self.leader, which=0, race=race)
        encoder = self.encoder.alone(self.leader.which, self.leader.kind)
        kept = {"encoder": encoder, "runners": [alone], "leading": 0}
        self.__dict__.update(kept, counted=self._counted_beside(race), **changes)

    @property
    def choice(self) -> dict[str, Any]:
        """What leads: the range of n-grams, the weighing, and what its race has chosen."""
        leader = self.leader
        race = leader.race
        chosen = race.choice if isinstance(race, ModelSelection) and race.examples else {}
        ranges = self.encoder.ranges[leader.which]
        return {"ngram_range": ranges, "idf": leader.kind == "idf", **chosen}

    def lanes(self) -> list[dict[str, Any]]:
        """Return what is raced: representation, settings, mistakes and recent record of each."""
        found = []
        for place, runner in enumerate(self.runners):
            if not isinstance(runner.race, ModelSelection):
                continue
            for lane in runner.race.lanes():
                chosen = lane["chosen"] and place == self.leading
                found.append({**self._about(runner), **lane, "chosen": chosen})
        return found

    def told(self) -> SelectionReport:
        """Return what was raced, the leader first, those that left the race included."""
        races = [(r, r.race.left) for r in self.runners if isinstance(r.race, ModelSelection)]
        left = [{**self._about(runner), **row} for runner, rows in races for row in rows]
        return choice_of(self.lanes(), [*self.left, *left], self.settings.task == "regression")

    def _about(self, runner: Runner) -> dict[str, Any]:
        return {"ngram_range": self.encoder.ranges[runner.which], "idf": runner.kind == "idf"}

    # -- classes ----------------------------------------------------------------------------

    def admit(self, settings: Settings, position: Array, classes: int) -> TextLearner:
        """Return the same learner with more classes; ``position`` says where the old ones are."""
        new = TextLearner.__new__(TextLearner)
        new.__dict__.update(self.__dict__, settings=settings, classes=classes)
        new.runners = [
            dataclasses.replace(r, race=grown(r.race, settings_of(r, settings), position, classes))
            for r in self.runners
        ]
        if self.calibrator is not None:
            new.calibrator = self.calibrator.grown(self.settings, settings, position, classes)
        return new

    # -- predicting -------------------------------------------------------------------------

    def look(self, table: Table, threads: int = 1) -> tuple[Learner | ModelSelection, Any, int]:
        """Return who predicts, and the rows of a table as it sees them."""
        with_rows = self.encoder.rows(table, learn=False, threads=threads)
        leader = self.leader
        return leader.race, matrix_of(leader, with_rows), leader.race.features

    def scores(self, table: Table, threads: int = 1) -> Array:
        """Return the scores of the leader, one column for each output."""
        race, X, features = self.look(table, threads)
        return race.scores(_core.Rows(X.data, X.indices, X.indptr, features), threads=threads)

    def probabilities(self, scores: Array) -> Array:
        """Return the probability of each class, by the margins given before learning."""
        return self.record.probabilities(self.leader.race, scores)

    @property
    def record(self) -> Recorder:
        """The margins given before learning, and the typical row of the leader."""
        assert self.calibrator is not None
        return Recorder(self.calibrator, self.leader.typical)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "turns"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, turns=OwnedLock())
