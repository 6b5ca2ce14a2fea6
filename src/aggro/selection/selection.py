"""``C="auto"``: a grid of C in lanes, judged while learning; the best one predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner, Progress
from aggro.selection import ensemble as joint
from aggro.selection.candidates import (
    all_lanes,
    best_of,
    chosen_of,
    lanes_of,
    rank_first,
    record_of,
    who_stays,
)
from aggro.selection.copies import select
from aggro.selection.drift import NO_ROWS, DriftDetector, Sums
from aggro.selection.ensemble import Alone, Joint
from aggro.selection.grids import (
    MOST_VALUES,
    SETTLED,
    grid_of,
    move_grid,
    narrowed,
    within_grid,
)
from aggro.selection.memory import affordable, by_importance
from aggro.selection.report import SelectionReport, choice_of, leaving
from aggro.selection.start import clear_record, first_candidates
from aggro.settings import AXES, Settings, check_same_layout, selected_axes
from aggro.transaction import Checkpoint, OwnedLock


class ModelSelection:
    """Several learners, each with a grid of C in lanes; behaves like the best of them.

    Learners differ in metric and scale, as far as these are to be chosen. Those far behind leave.
    The best is the lane with the fewest recent mistakes (regression: the least recent error), each
    example judged before it is learned. The first examples of two classes are answered by all lanes
    jointly (see ``learn.joint``). When the stream changes, the race begins anew beside the leader.
    """

    watches = True  # whether the stream changes
    joins = True  # begins with joint answers, where these err less

    def __init__(
        self,
        settings: Settings,
        features: int,
        outputs: int,
        dtype: Any = np.float64,
        seed: int = 0,
    ) -> None:
        self.settings = settings
        self.classes, self.seed = outputs, seed
        self.outputs = 1 if settings.task == "binary" else outputs
        self.features, self.dtype = features, np.dtype(dtype)
        self.fixed: tuple[int, int] | None = None  # what predicts, where the choice is made
        self.below = 0  # values of C below the best one that are kept in addition
        self.frozen = False  # while rows that were learned before are learned again
        self.left: list[dict[str, Any]] = []  # what is told of learners that are out of this race
        # What only a look changes; all else is known to the models.
        self.learners: list[Learner] = []
        self.leading = 0  # the learner whose mistakes count until the next look
        self.counted = (0.0, 0.0)  # mistakes and distance, less those that it had made itself
        self.margin_unit = 1.0  # of the scores that predict, for calibration
        self.drift = DriftDetector()
        self.turns = OwnedLock()

    # -- learning ---------------------------------------------------------------------------

    def learn(
        self,
        rows: _core.Rows,
        *,
        order: Array | None = None,
        undo: bool = True,
        threads: int = 1,
        typical: _core.Rows | None = None,
        margins: Array | None = None,
        again: bool = False,
        **lesson: Any,
    ) -> None:
        """Learn rows in all lanes; raise without a trace when one of them is refused.

        An interrupt leaves all lanes at the same example. Rows without weight were never there.
        Threads share the learners: what is learned is the same for any number of them. ``margins``
        is filled with the scores of each row, and of the ``typical`` one, before it is learned, in
        units of ``margin_unit``. Unless these rows take part in a choice (``again``, or frozen),
        they reopen it.
        """
        order = np.arange(rows.count, dtype=np.int64) if order is None else order
        with self.turns.take():
            reopens = not (again or self.frozen)
            self._learn(rows, order, undo, threads, (typical, margins), lesson, reopens)

    def _learn(
        self,
        rows: _core.Rows,
        order: Array,
        undo: bool,
        threads: int,
        watch: tuple[_core.Rows | None, Array | None],
        lesson: dict[str, Any],
        reopens: bool,
    ) -> None:
        typical, margins = watch
        weights = lesson.get("weights")
        counts = np.ones(len(order), bool) if weights is None else weights[order] > 0
        learned = np.cumsum(counts)  # examples after each row
        if not self.examples and not counts.any():
            return self._blank().learn(rows, order=order, **lesson)  # which may refuse it
        restore = self.checkpoint(rows, order=order, **lesson) if undo else None
        try:
            if reopens and counts.any():
                self._reopen()
            if not self.examples:
                self.learners = first_candidates(self, rows, lesson, order[counts.argmax()])
            elif counts.any():
                self._look_if_due()  # the last look was interrupted
                self._join_if_due(rows, lesson, order, counts)
            each = {**lesson, "batch_size": self.settings.batch_size, "threads": threads}
            each |= {"undo": False, "look": False}
            once = {**lesson, "undo": False}  # for all pieces: to look whether a model overflows
            watched, start = _core.begin_transaction(self._models(), rows, order=order, **once), 0
            while start < len(order):
                done = learned[start] - counts[start]
                end = int(np.searchsorted(learned, done + self._until_next_look())) + 1
                if margins is not None:
                    each |= {"typical": typical, "margins": margins[start:end]}
                    each["watched"] = self.leading
                models = self._models()
                _core.learn_together(models, rows, order=order[start:end], **each)
                if margins is not None:
                    margins[start:end] /= self.margin_unit
                self._look_if_due()
                start = end
                self._join_if_due(rows, lesson, order[start:], counts[start:])
                if self._models() != models:  # the others begin from them
                    watched.check()
                    watched = _core.begin_transaction(
                        self._models(), rows, order=order[start:], **once
                    )
            watched.check()
        except Exception:  # but not for an interrupt: what was learned until then stays
            if restore:
                restore()
            raise

    def _reopen(self) -> None:
        """Let candidates compete again; the one that predicts does so in the next example too."""
        if self.fixed is None:
            return
        if self.fixed != best_of(self.learners):
            rank_first(self.learners, self.fixed)
        self.leading, self.fixed = self.fixed[0], None

    def checkpoint(self, rows: _core.Rows, **lesson: Any) -> Checkpoint:
        """Return what restores the selection after these rows, learned in any number of calls."""
        own = dict(self.__dict__)
        models = _core.begin_transaction(self._models(), rows, **lesson) if self.examples else None

        def restore() -> None:
            self.__dict__.update(own)
            if models is not None:
                models.restore()

        return restore

    @property
    def _regression(self) -> bool:
        return self.settings.task == "regression"

    def _models(self) -> list[Any]:
        return [learner.model for learner in self.learners]

    def _until_next_look(self) -> int:
        """Return how many examples may pass, in whole batches; all there are when none looks."""
        if self.fixed is not None:
            return int(np.iinfo(np.int64).max // 2)
        batch = self.settings.batch_size
        return -(-max(self.drift.next_checkpoint - self.examples, 1) // batch) * batch

    def affordable(self, places: Sequence[Settings], spent: int = 0) -> tuple[list[Settings], int]:
        """Return the pairs of metric and scale that fit into memory, and how many values of C."""
        return affordable(places, self.features, self.outputs, self.dtype.itemsize, spent)

    def fit_into_memory(self) -> None:
        """Drop the candidates that the memory limit does not allow with the present outputs.

        Those that are left are the same as if there had been so many outputs from the beginning,
        until the first of them leave by their records; from then on the best are left.
        """
        learners, chosen_by_record = self.learners, self.drift.elapsed(self.examples) >= SETTLED
        if not learners:
            return
        best_first = [each.settings for each in sorted(learners, key=record_of)]
        kept, values = self.affordable(
            best_first if chosen_by_record else by_importance(best_first)
        )
        if len(kept) == len(learners) and all(each.models <= values for each in learners):
            return
        narrow = narrowed if chosen_by_record else within_grid
        stay = [narrow(each, values) for each in learners if each.settings in kept]
        checkpoint = self.drift.next_checkpoint  # may be due
        self.go_on_with(stay, [each for each in learners if each.settings not in kept])
        self.drift, self.fixed = replace(self.drift, next_checkpoint=checkpoint), None

    def grid(self, place: Settings, steps: int, values: int = MOST_VALUES) -> list[float]:
        """Return the values of C to begin with, around a unit so many steps away from one."""
        return grid_of(place, steps, values)

    def _look_if_due(self) -> None:
        """Look who leads and who is far behind, and let the grids follow."""
        now, drift = self.examples, self.drift
        if self.fixed is not None or now < drift.next_checkpoint:
            return
        learners, settled, raced = self.learners, drift.is_test_due(now), drift.elapsed(now)
        if settled:
            drift = drift.verified(learners[0].model.drift_record)  # the best one at a restart
            drift = drift.tested(self._drift_sums(), self._regression)
        stay = who_stays(learners, raced, self._regression) if settled else learners
        moved = [move_grid(each, settled, raced, self.below) for each in stay]
        ensemble = joint.answers(learners)
        if ensemble:
            joint.join(moved, jointly=raced < joint.EXAMPLES)
        self.go_on_with(moved, [each for each in learners if each not in stay], drift)
        self._note_end_of(ensemble)

    def _note_end_of(self, ensemble: bool) -> None:
        """Let calibration go on with margins of the same unit where an ensemble has ended."""
        if ensemble and not joint.answers(self.learners):
            self.margin_unit = self.learners[self.leading].model.chosen_unit

    def _join_if_due(
        self, rows: _core.Rows, lesson: dict[str, Any], order: Array, counts: Array
    ) -> None:
        """Restart the selection with the best candidate among new ones, after drift."""
        if not (self.drift.drifted and self.watches and counts.any()) or self.fixed is not None:
            return
        others = list(self.learners)
        stay = [clear_record(others.pop(self.leading))]
        stay += first_candidates(self, rows, lesson, order[counts.argmax()])
        self.go_on_with(stay, others, self.drift.restarted(self.examples))

    def go_on_with(
        self,
        learners: list[Learner],
        out: Sequence[Learner] = (),
        drift: DriftDetector | None = None,
    ) -> None:
        """Let these learners race on without those that are out; what was counted stays."""
        leading = best_of(learners)[0]
        made = learners[leading].model.chosen_record
        counted = (self.mistakes - made[0], self.distance - made[1])
        drift = (drift or self.drift).followed(
            self._drift_sums(), learners[leading].model.drift_record
        )
        drift = drift.after_checkpoint(self.examples)
        left = self.left if drift.start == self.drift.start else []
        if out:
            gone, rest = (list(chain(*map(lanes_of, some))) for some in (out, learners))
            left = [*left, *leaving(gone, rest, self.examples, self._regression)]
        looked = {"learners": learners, "leading": leading, "counted": counted}
        self.__dict__.update(looked, drift=drift, left=left)  # no signal in between

    # -- the leader -------------------------------------------------------------------------

    @property
    def best(self) -> tuple[int, int]:
        """The learner and the lane that predict: who led at the last look, its best lane now.

        Its mistakes are those that count until the next look.
        """
        return self._best_of(self.learners)

    def _best_of(self, learners: list[Learner]) -> tuple[int, int]:
        if self.fixed is not None:
            return self.fixed
        leading = min(self.leading, len(learners) - 1)  # another thread may just have looked
        return leading, learners[leading].model.chosen

    def _leader(self) -> tuple[Learner, int]:
        """Return the learner and the lane that predict: one that knows nothing, at first."""
        learners = self.learners  # a look in another thread puts others in their place
        if not learners:
            return self._blank(), 0
        i, lane = self._best_of(learners)
        return learners[i], lane

    def _blank(self) -> Learner:
        chosen = {name: getattr(Settings, name) for name in selected_axes(self.settings)}
        settings = replace(self.settings, **chosen)
        return Learner(settings, self.features, self.classes, self.dtype, self.seed)

    @property
    def mistakes(self) -> float:
        """Mistakes of whoever led at the time, before learning."""
        return self.counted[0] + self.made()[0]

    @property
    def distance(self) -> float:
        """The same for regression: how far off it was."""
        return self.counted[1] + self.made()[1]

    def made(self) -> tuple[float, float]:
        """Return what the learner that leads since the last look has made of them."""
        learners, leading = self.learners, self.leading
        return learners[leading].model.chosen_record if learners else (0.0, 0.0)

    def _drift_sums(self) -> Sums:
        """Return the sums for drift detection of the best candidate of the last checkpoint."""
        learners, leading = self.learners, self.leading
        return learners[leading].model.drift_record if learners else NO_ROWS

    @property
    def C(self) -> float:
        """The C of the leader."""
        return float(self._chosen().C)

    @property
    def choice(self) -> dict[str, Any]:
        """What the leader has chosen, by the names of the settings that were left open."""
        chosen = {name: getattr(self._chosen(), name) for name in AXES}
        return {n: c for n, c in chosen.items() if getattr(self.settings, n) == "auto" != c}

    def _chosen(self) -> Settings:
        if not self.learners:
            raise ValueError("C='auto' has nothing to choose by before the first example.")
        learner, lane = self._leader()
        return learner.all_settings[lane]

    def lanes(self) -> list[dict[str, Any]]:
        """Return what is raced: the settings, mistakes and recent record of each lane."""
        learners = self.learners
        return all_lanes(learners, self._best_of(learners)) if learners else []

    def told(self) -> SelectionReport:
        """Return what was raced, the leader first, those that left the race included."""
        self._chosen()  # there is one
        return choice_of(self.lanes(), self.left, self._regression)

    @property
    def winner_unit(self) -> float:
        """The unit of recorded margins as scores of the leader alone."""
        learners = self.learners
        if self.fixed is None and joint.answers(learners):
            return float(learners[self.leading].model.chosen_unit)
        return self.margin_unit

    def winner(self) -> Learner:
        """Return the leader alone, as a learner of its own that goes on as its lane would."""
        self._chosen()  # there is one
        learner, lane = self._leader()
        return select(learner, [lane], [learner.all_settings[lane]])

    def clone(self) -> Learner:
        """Return a new learner like the leader alone."""
        return self.winner().clone()

    # -- what a Learner has -----------------------------------------------------------------

    def _answering(self) -> Joint | Alone:
        learners = self.learners
        if self.fixed is None and joint.answers(learners):
            return Joint(learners)
        return Alone(*self._leader())

    def scores(self, rows: _core.Rows, threads: int = 1) -> Array:
        """Return the scores of the leader, or of all lanes jointly."""
        return self._answering().scores(rows, threads)

    def set_coef(self, coef: Array, intercept: Array) -> None:
        """Refuse: there is no one model to start from."""
        raise ValueError(
            "C, metric or scale are 'auto': a race of models of their own, which cannot be given "
            "weights; leave coef_init and intercept_init out, or choose all three."
        )

    def coef(self) -> Array:
        """Return the weights that predict, outputs x features."""
        return self._answering().coef()

    def intercept(self) -> Array:
        """Return the intercepts that predict."""
        return self._answering().intercept()

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        learners = self.learners
        return learners[0].examples if learners else 0

    @property
    def progress(self) -> Progress:
        """Mistakes of whoever led at the time; updates and loss of the present leader."""
        learner, lane = self._leader()
        leader = learner.progress_of(lane)
        return Progress(int(self.mistakes), leader.updates, leader.loss)

    def freeze_means(self, frozen: bool = True) -> None:
        """Stop the class means, and the judging: examples seen again are no fair test.

        The choice has fallen then. Only the learner that leads goes on to learn them.
        """
        if frozen and self.fixed is None and self.learners:
            rest, (leading, lane) = list(self.learners), self.best
            ensemble = joint.answers(rest)
            self.go_on_with([rest.pop(leading)], rest)
            self.fixed = (0, lane)
            joint.join(self.learners, jointly=False)
            self._note_end_of(ensemble)
        elif not frozen:
            self.fixed = None
        self.frozen = frozen
        for learner in self.learners:
            learner.freeze_means(frozen)

    def candidate_scores(self, rows: _core.Rows) -> dict[int, Array]:
        """Return the scores of the best candidate and then of the next smaller C, by their lanes.

        A C that is best in one pass may be too large for several.
        """
        learner, best = self._leader()
        return {lane: learner.scores(rows, lane) for lane in range(best, max(best - 2, -1), -1)}

    def choose(self, lane: int) -> None:
        """Let this candidate of the best learner predict, until new rows are learned."""
        self.fixed, self.below = (self.best[0], lane), 0

    def configure(self, settings: Settings) -> None:
        """Take over new parameters other than those that are raced, for what comes."""
        check_same_layout(self.settings, settings)
        for learner in self.learners:
            learner.configure([chosen_of(s, settings) for s in learner.all_settings])
        self.settings = settings

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "turns"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, turns=OwnedLock())
