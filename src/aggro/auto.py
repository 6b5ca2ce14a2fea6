"""``C="auto"``: a grid of C in lanes, judged while learning; the best one predicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from aggro import _core
from aggro.bundle import select
from aggro.growth import grow_classes
from aggro.learner import Array, Learner, Progress
from aggro.rules import Settings

# What is raced. Grids are in units of 1/‖x‖² for the Euclidean metric, where a larger C than about
# one changes nothing; the diagonal and full metrics bring features to one scale by themselves.
STEP = 10**0.5
GRIDS = {
    "euclidean": 10.0 ** np.arange(-5.0, 1.1, 0.5),
    "diagonal": 10.0 ** np.arange(-3.0, 3.1, 0.5),
    "full": 10.0 ** np.arange(-3.0, 3.1, 0.5),
}
PREDICTORS: dict[Any, tuple[bool, ...]] = {"auto": (False, True)}
MEMORY = (
    5000  # examples after which a record counts 1/e: long enough to choose, short enough to follow
)
PIECE = 1024  # examples between two looks at who leads
RECORDS = ("joint_mistakes", "recent_mistakes", "recent_loss", "record")
SETTLED = 3000  # examples before the grid may move


def make_learner(
    settings: Settings, features: int, outputs: int, dtype: Any = np.float64, seed: int = 0
) -> Learner | AutoLearner:
    """Return a learner, or a race of them when something is left to be chosen."""
    kind = AutoLearner if "auto" in (settings.C, settings.average) else Learner
    return kind(settings, features, outputs, dtype, seed)


class AutoLearner:
    """Several learners, each with a grid of C in lanes; behaves like the best of them.

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
        self._make = (features, outputs, np.dtype(dtype), seed)
        self.learners: list[Learner] = []
        self.fixed: tuple[int, int] | None = None
        self._judged: list[dict[str, Array]] = []
        self.mistakes = 0.0
        self._next_move = SETTLED
        self.outputs = 1 if settings.task == "binary" else outputs
        self.dtype = np.dtype(dtype)
        self.features = features

    # -- learning ---------------------------------------------------------------------------

    def learn(
        self, rows: _core.Rows, *, order: Array | None = None, undo: bool = True, **lesson: Any
    ) -> None:
        """Learn rows in all lanes; raise without a trace when one of them is refused."""
        before = (list(self.learners), self.mistakes)
        if not self.learners:
            self._begin(rows)
        count = len(order) if order is not None else rows.count
        order = np.arange(count, dtype=np.int64) if order is None else order
        kept = [learner.state() for learner in self.learners] if undo else []
        try:
            piece = max(PIECE // self.settings.batch_size, 1) * self.settings.batch_size
            for start in range(0, count, piece):
                self._learn_piece(rows, order[start : start + piece], lesson)
        except ValueError:
            for learner, state in zip(self.learners, kept, strict=False):
                learner.load_state(state)
            self.learners, self.mistakes = before
            raise

    def _learn_piece(self, rows: _core.Rows, order: Array, lesson: dict[str, Any]) -> None:
        leader = self.learners[self.best[0]]
        was = leader.model.chosen_record[0]
        for learner in self.learners:
            learner.learn(rows, order=order, undo=False, **lesson)
        self.mistakes += leader.model.chosen_record[0] - was
        if self.fixed is None and self.examples >= self._next_move:
            self._next_move = self.examples + PIECE
            self.learners = [_move_grid(learner) for learner in self.learners]

    def _begin(self, rows: _core.Rows) -> None:
        """Lay out the grids, to the scale of the first rows."""
        features, outputs, dtype, seed = self._make
        s = self.settings
        unit = 1.0
        if s.metric == "euclidean":
            unit = 1.0 / max(rows.mean_square(1000) + s.fit_intercept, 1e-300)
        prices = [float(c * unit) for c in GRIDS[s.metric]] if s.C == "auto" else [s.C]
        for average in PREDICTORS.get(s.average, (s.average,)):
            grid = [replace(s, C=c, average=average) for c in prices]
            learner = Learner(grid, features, outputs, dtype, seed)
            learner.model.set_memory(1.0 - 1.0 / MEMORY)
            self.learners.append(learner)

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

    def lanes(self) -> list[dict[str, Any]]:
        """Return what was raced: C, averaged or not, mistakes and recent record of each lane."""
        return [
            {
                "C": setting.C,
                "average": setting.average,
                "mistakes": int(record[0]),
                "recent_error": record[1] / max(record[3], 1.0),
                "recent_loss": record[2] / max(record[3], 1.0),
                "chosen": (i, lane) == self.best,
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
            learner.configure(
                [replace(settings, C=s.C, average=s.average) for s in learner.all_settings]
            )


def grown(
    learner: Learner | AutoLearner, settings: Settings, position: Array, classes: int
) -> Learner | AutoLearner:
    """Return the same learner, or race, with more classes (see ``grow_classes``)."""
    if isinstance(learner, Learner):
        return grow_classes(learner, settings, position, classes)
    new = AutoLearner(settings, learner.features, classes, learner.dtype)
    new.mistakes, new.fixed = learner.mistakes, learner.fixed
    for old in learner.learners:
        lanes = [replace(settings, C=s.C, average=s.average) for s in old.all_settings]
        new.learners.append(grow_classes(old, lanes, position, classes))
    return new


AnyLearner = Learner | AutoLearner


def _move_grid(learner: Learner) -> Learner:
    """Return the learner with its grid moved by one step when the best lane sits at its edge."""
    last = learner.models - 1
    best = learner.model.chosen
    settings = list(learner.all_settings)
    if best == last and settings[last].C < 1e12:
        fresh = replace(settings[last], C=settings[last].C * STEP)
        return select(learner, [*range(1, last + 1), last], [*settings[1:], fresh])
    if best == 0 and settings[0].C > 1e-12:
        fresh = replace(settings[0], C=settings[0].C / STEP)
        return select(learner, [0, *range(last)], [fresh, *settings[:-1]])
    return learner
