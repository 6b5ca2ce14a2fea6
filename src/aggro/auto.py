"""``C="auto"``: a grid of C in lanes, judged while learning; the best one predicts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from aggro import _core
from aggro.bundle import select
from aggro.grids import (
    FAR_BEHIND,
    PIECE,
    PREDICTORS,
    SETTLED,
    grid_of,
    memory_of,
    move_grid,
    places_of,
    standing,
)
from aggro.growth import grow_classes
from aggro.learner import Array, Learner, Progress
from aggro.rules import Settings, left_open

FEW = 64  # examples that are not worth a thread
RECORDS = ("joint_mistakes", "recent_mistakes", "recent_loss", "record")


def make_learner(
    settings: Settings, features: int, outputs: int, dtype: Any = np.float64, seed: int = 0
) -> Learner | AutoLearner:
    """Return a learner, or a race of them when something is left to be chosen."""
    kind = AutoLearner if left_open(settings) else Learner
    return kind(settings, features, outputs, dtype, seed)


class AutoLearner:
    """Several learners, each with a grid of C in lanes; behaves like the best of them.

    Learners differ in metric, scale and averaging, as far as these are to be chosen. Those far
    behind leave the race, so that it costs less as it goes on.

    The best is the lane with the fewest recent mistakes (regression: the least recent error), each
    example judged before it is learned. One lane is followed rather than a vote of all: on real
    streams a vote was never clearly better, and one lane has weights that can be shown and saved.
    """

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
        self.learners: list[Learner] = []
        self.fixed: tuple[int, int] | None = None
        self._judged: list[dict[str, Array]] = []
        self.mistakes = self.distance = 0.0  # of whoever led at the time, before learning
        self.outputs = 1 if settings.task == "binary" else outputs
        self.dtype = np.dtype(dtype)
        self.features = features

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
        **lesson: Any,
    ) -> None:
        """Learn rows in all lanes; raise without a trace when one of them is refused.

        Threads share the learners: what is learned is the same for any number of them. ``margins``
        is filled with what the leader says of each row, and of the ``typical`` one, before it is
        learned.
        """
        before = (list(self.learners), self.mistakes, self.distance)
        kept = [learner.state() for learner in self.learners] if undo else []
        if not self.learners:
            self._begin(rows, lesson)
        count = len(order) if order is not None else rows.count
        order = np.arange(count, dtype=np.int64) if order is None else order
        try:
            start = 0
            while start < count:
                end = start + self._until_next_look()
                watch: dict[str, Any] = {}
                if margins is not None:
                    watch = {"typical": typical, "margins": margins[start:end]}
                self._learn_piece(rows, order[start:end], lesson, threads, watch)
                start = end
        except ValueError:
            self.learners, self.mistakes, self.distance = before
            for learner, state in zip(self.learners, kept, strict=undo):
                learner.load_state(state)
            raise

    def _learn_piece(
        self,
        rows: _core.Rows,
        order: Array,
        lesson: dict[str, Any],
        threads: int,
        watch: dict[str, Any],
    ) -> None:
        leader, start = self.learners[self.best[0]], self.examples
        mistakes, distance = leader.model.chosen_record
        together = min(threads, len(self.learners)) if len(order) >= FEW else 1
        each = {**lesson, "order": order, "undo": False, "threads": threads // together}

        def teach(learner: Learner) -> None:
            learner.learn(rows, **each, **(watch if learner is leader else {}))

        if together == 1:
            for learner in self.learners:
                teach(learner)
        else:
            with ThreadPoolExecutor(together) as pool:
                list(pool.map(teach, self.learners))
        self.mistakes += leader.model.chosen_record[0] - mistakes
        self.distance += leader.model.chosen_record[1] - distance
        # Counted from the beginning of the stream, so that the calls it comes in do not matter.
        due = self.examples >= SETTLED and self.examples // PIECE > start // PIECE
        if self.fixed is None and due:
            best = self.learners[self.best[0]]
            self.learners = [
                move_grid(learner) for learner in self.learners if not self._hopeless(learner, best)
            ]

    def _until_next_look(self) -> int:
        """Return how many examples may pass: one at first, and the same however rows arrive."""
        step = min(1 << (self.examples // 32).bit_length(), PIECE)
        batch = self.settings.batch_size
        return -(-(step - self.examples % step) // batch) * batch

    def _begin(self, rows: _core.Rows, lesson: dict[str, Any]) -> None:
        """Lay out the grids, to the scale of the first rows."""
        s = self.settings
        for metric, scale in places_of(s, rows.sparse):
            prices = [s.C]
            if s.C == "auto":
                size = rows.mean_square(1000, getattr(_core.Scale, scale))
                target = np.mean(np.abs(lesson.get("values", np.ones(1))[:1000]))
                prices = grid_of(replace(s, metric=metric, scale=scale), size, float(target))
            for average in PREDICTORS.get(s.average, (s.average,)):
                choice: dict[str, Any] = {"metric": metric, "scale": scale, "average": average}
                lanes = [replace(s, C=c, **choice) for c in prices]
                learner = Learner(lanes, self.features, self.classes, self.dtype, self.seed)
                learner.model.set_memory(memory_of(s))
                self.learners.append(learner)

    def _hopeless(self, learner: Learner, best: Learner) -> bool:
        """Tell whether a learner is so far behind the best that chance cannot explain it."""
        (_, mistakes, loss, _), (_, fewest, least, _) = (
            each.model.records[each.model.chosen] for each in (learner, best)
        )
        if self.settings.task == "regression":
            return bool(loss > FAR_BEHIND * least)
        return bool(mistakes > FAR_BEHIND * fewest + 3.0 * (mistakes + fewest) ** 0.5)

    # -- the leader -------------------------------------------------------------------------

    @property
    def best(self) -> tuple[int, int]:
        """The learner and the lane that predict."""
        if self.fixed is not None:
            return self.fixed
        leaders = [(i, learner.model.chosen) for i, learner in enumerate(self.learners)]
        return min(leaders, key=lambda at: self.learners[at[0]].model.records[at[1]][1:3])

    @property
    def C(self) -> float:
        """The C of the leader."""
        if not self.learners:
            raise ValueError("C='auto' has nothing to choose by before the first example.")
        i, lane = self.best
        return float(self.learners[i].all_settings[lane].C)

    @property
    def choice(self) -> dict[str, Any]:
        """What the leader has chosen, by the names of the settings that were left open."""
        i, lane = self.best
        chosen = self.learners[i].all_settings[lane]
        return {name: getattr(chosen, name) for name in left_open(self.settings)}

    def lanes(self) -> list[dict[str, Any]]:
        """Return what is raced: the settings, mistakes and recent record of each lane."""
        leader = self.best if self.learners else None
        return [
            {
                "C": setting.C,
                "metric": setting.metric,
                "scale": setting.scale,
                "average": setting.average,
                **standing(record, (i, lane) == leader),
            }
            for i, learner in enumerate(self.learners)
            for lane, (setting, record) in enumerate(
                zip(learner.all_settings, learner.model.records, strict=True)
            )
        ]

    def winner(self) -> Learner:
        """Return the leader alone, as a learner of its own."""
        i, lane = self.best
        return select(self.learners[i], [lane], [self.learners[i].all_settings[lane]])

    # -- what a Learner has -----------------------------------------------------------------

    def scores(self, rows: _core.Rows, threads: int = 1) -> Array:
        """Return the scores of the leader."""
        i, lane = self.best
        return self.learners[i].scores(rows, lane, threads)

    def set_coef(self, coef: Array, intercept: Array) -> None:
        """Refuse: there is no one model to start from."""
        raise ValueError(
            "C='auto' and average='auto' race models of their own, which cannot be given weights; "
            "leave coef_init and intercept_init out, or choose C and average."
        )

    def coef(self) -> Array:
        """Return the weights of the leader, outputs x features."""
        i, lane = self.best
        return self.learners[i].coef(lane)

    def intercept(self) -> Array:
        """Return the intercepts of the leader."""
        i, lane = self.best
        return self.learners[i].intercept(lane)

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        return self.learners[0].examples if self.learners else 0

    @property
    def progress(self) -> Progress:
        """Mistakes of whoever led at the time; updates and loss of the present leader."""
        if not self.learners:
            return Progress()
        i, lane = self.best
        leader = self.learners[i].progress_of(lane)
        return Progress(int(self.mistakes), leader.updates, leader.loss)

    def freeze_means(self, frozen: bool = True) -> None:
        """Stop the class means, and the judging: examples seen again are no fair test."""
        if frozen and self.fixed is None:
            self.fixed, self._judged = self.best, [learner.state() for learner in self.learners]
        elif not frozen and self.fixed is not None:
            for learner, judged in zip(self.learners, self._judged, strict=True):
                records = {name: judged[name] for name in RECORDS}
                learner.load_state({**learner.state(), **records})
            self.fixed, self._judged = None, []
        for learner in self.learners:
            learner.freeze_means(frozen)

    def configure(self, settings: Settings) -> None:
        """Take over new parameters other than C for what comes."""
        self.settings = settings
        for learner in self.learners:
            learner.configure([_chosen_of(s, settings) for s in learner.all_settings])


def grown(
    learner: Learner | AutoLearner, settings: Settings, position: Array, classes: int
) -> Learner | AutoLearner:
    """Return the same learner, or race, with more classes (see ``grow_classes``)."""
    if isinstance(learner, Learner):
        return grow_classes(learner, settings, position, classes)
    new = AutoLearner(settings, learner.features, classes, learner.dtype, learner.seed)
    new.mistakes, new.distance, new.fixed = learner.mistakes, learner.distance, learner.fixed
    if learner.classes == 1 and learner.learners and position[0] == 0:  # ties were no mistakes
        state = learner.learners[learner.best[0]].state()
        new.mistakes -= float(state["record"][1] - state["turned_chosen"][0])
    for old in learner.learners:
        lanes = [_chosen_of(s, settings) for s in old.all_settings]
        new.learners.append(grow_classes(old, lanes, position, classes))
    return new


AnyLearner = Learner | AutoLearner


def _chosen_of(lane: Settings, settings: Settings) -> Settings:
    """Return settings with what a lane stands for in the race."""
    return replace(settings, C=lane.C, metric=lane.metric, scale=lane.scale, average=lane.average)
