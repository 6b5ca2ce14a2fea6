"""Candidates of a model selection: their records, the best one, and which ones remain."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner, Progress
from aggro.selection import ensemble
from aggro.selection.drift import NO_ROWS, DriftDetector, Sums
from aggro.selection.ensemble import Ensemble, Single
from aggro.selection.learners import select
from aggro.selection.report import SelectionReport, report_of
from aggro.selection.representation import Identity, Representations
from aggro.selection.search_space import (
    DEFAULT_SEARCH_SPACE,
    FAR_BEHIND,
    SearchSpace,
    halving,
    record_row,
)
from aggro.settings import AXES, Settings, error_name, memory_of, selected_axes
from aggro.transaction import OwnedLock

Some = TypeVar("Some", bound="Candidates")
CHOSEN = ("C", "metric", "scale", "features", "average")  # what distinguishes candidates
ENCODED = 8192  # rows that are encoded at a time to be scored
TIE = 1e-9  # relative difference of records that decides a tie


def candidates_of(learner: Learner) -> list[dict[str, Any]]:
    """Return the settings and records of the candidates of a learner."""
    parts = (learner.all_settings, learner.model.records, learner.model.by_mean)
    return [
        {
            "C": setting.C,
            "metric": setting.metric,
            "scale": setting.scale,
            "average": by_mean if setting.average == "auto" else setting.average,
            **record_row(record, chosen=False),
        }
        for setting, record, by_mean in zip(*parts, strict=True)
    ]


def by_representation(learners: Sequence[Learner]) -> dict[int, list[Learner]]:
    """Return learners by the number of their representation."""
    groups: dict[int, list[Learner]] = {}
    for each in learners:
        groups.setdefault(each.representation, []).append(each)
    return groups


def record_of(learner: Learner) -> tuple[float, float]:
    """Return the recent mistakes and loss of the best candidate; of squared errors, the root."""
    _, mistakes, loss, _ = learner.model.records[learner.model.chosen]
    squared = learner.settings.criterion == "squared"
    return mistakes, math.sqrt(loss) if squared else loss


def remaining(
    learners: Sequence[Learner], examples: int, regression: bool, space: SearchSpace
) -> list[Learner]:
    """Return the learners that remain in a selection after ``examples`` examples.

    Successive halving keeps the best ones, of each representation if the space says so. Learners
    that are far behind are removed; until ``space.patience`` examples they are compared with those
    of the same representation only.
    """
    most, _ = halving(examples)
    groups = list(by_representation(learners).values())
    rivals = [list(learners)] * len(groups) if examples >= space.patience else groups
    kept: list[Learner] = []
    for group, others in zip(groups, rivals, strict=True):
        best = min(others, key=record_of)
        near = [each for each in group if not is_hopeless(each, best, regression)]
        kept += sorted(near, key=record_of)[: most if space.halves_each else None]
    if not space.halves_each:
        kept = sorted(kept, key=record_of)[:most]
    return [each for each in learners if each in kept]


def is_hopeless(learner: Learner, best: Learner, regression: bool) -> bool:
    """Return True if a learner is so far behind the best that chance cannot explain it."""
    (mistakes, loss), (fewest, least) = record_of(learner), record_of(best)
    if regression:
        return loss > FAR_BEHIND * least
    return mistakes > FAR_BEHIND * fewest + 3.0 * math.sqrt(mistakes + fewest)


def best_of(learners: Sequence[Learner]) -> tuple[int, int]:
    """Return the learner and the candidate with the best recent record."""
    best = [(i, learner.model.chosen) for i, learner in enumerate(learners)]
    return min(best, key=lambda at: learners[at[0]].model.records[at[1]][1:3])


def rank_first(learners: Sequence[Learner], place: tuple[int, int]) -> None:
    """Raise the recent errors of the candidates with a better record than this one to its own.

    It then predicts, and is replaced as soon as another one makes fewer errors.
    """
    states = [learner.state() for learner in learners]
    predicting = [
        (i, own, own * (len(state["recent_loss"]) // learner.models) + offset)
        for i, (learner, state) in enumerate(zip(learners, states, strict=True))
        for own, offset in enumerate(_predicting(learner, state))
    ]
    (first,) = (entry for i, own, entry in predicting if (i, own) == place)
    fewest, least = (states[place[0]][name][first] for name in ("recent_mistakes", "recent_loss"))
    for i, number, entry in predicting:
        mistakes, loss = states[i]["recent_mistakes"], states[i]["recent_loss"]
        behind = (fewest - mistakes[entry], least - loss[entry])
        if (i, number) == place or behind < (0.0, 0.0):
            continue
        rivals = len(loss) // learners[i].models
        own = slice(number * rivals, (number + 1) * rivals)
        mistakes[own] += behind[0] * (1.0 + TIE)
        loss[own] += max(behind[1], 0.0) + TIE * least + np.finfo(np.float64).tiny
    for learner, state in zip(learners, states, strict=True):
        learner.load_state(state)


def _predicting(learner: Learner, state: dict[str, Any]) -> list[int]:
    """Return which of its predictors each candidate uses: the mean comes first."""
    last = len(state["recent_loss"]) // learner.models - 1
    return [0 if by_mean else last for by_mean in learner.model.by_mean]


def chosen_of(candidate: Settings, settings: Settings) -> Settings:
    """Return settings with the selected ones of a candidate."""
    own = {name: getattr(candidate, name) for name in CHOSEN}
    return replace(settings, **own)


def _no_history() -> Any:
    """Return None: no call has asked for a history."""


class Candidates:
    """The candidates of a model selection, and the predictions of the best one."""

    def __init__(
        self,
        settings: Settings,
        features: int,
        outputs: int,
        dtype: Any = np.float64,
        seed: int = 0,
        *,
        representations: Representations | None = None,
        space: SearchSpace = DEFAULT_SEARCH_SPACE,
    ) -> None:
        self.settings = settings
        self.classes, self.seed = outputs, seed
        self.outputs = 1 if settings.task == "binary" else outputs
        self.features, self.dtype = features, np.dtype(dtype)
        self.representations = representations or Identity()
        self.space = space
        several = len(self.representations.descriptions) > 1
        self.selects = several or bool(selected_axes(settings))  # whether there is a choice
        self.fixed: tuple[int, int] | None = None  # the candidate that predicts, once it is final
        self.below = 0  # values of C below the best one that are kept in addition
        self.frozen = False  # while rows that were learned before are learned again
        self.paused = False  # without evaluation steps: the candidates stay as they are
        self.left: list[dict[str, Any]] = []  # report rows of removed candidates
        # Only evaluation steps change these; all other state belongs to the models.
        self.learners: list[Learner] = []
        self.leading = 0  # the learner whose mistakes count until the next evaluation step
        self.counted = (0.0, 0.0)  # mistakes and distance, less those of the leading learner
        self.margin_unit = 1.0  # of the scores that predict, for calibration
        self.drift = DriftDetector()
        self.turns = OwnedLock()
        self.history = _no_history  # returns the history of a call, while it is needed
        if not self.selects:
            self.learners = [self._blank()]

    def width(self, representation: int) -> int:
        """Return the number of columns of the candidates of a representation."""
        found = (each.features for each in self.learners if each.representation == representation)
        return max(found, default=1)

    def at_present(self: Some) -> Some:
        """Return a view of the present candidates.

        If another thread keeps some of them, as ``keep_best`` does, the view has all of them and
        their representations.
        """
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    @property
    def _encodes(self) -> bool:
        return not isinstance(self.representations, Identity)

    @property
    def _regression(self) -> bool:
        return self.settings.task == "regression"

    @property
    def measured(self) -> str:
        """Name of the recorded errors."""
        return error_name(self.settings)

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        learners = self.learners
        return learners[0].model.examples if learners else 0

    # -- the best candidate ------------------------------------------------------------------------

    @property
    def best(self) -> tuple[int, int]:
        """The learner and the candidate that predict.

        The learner was the best at the last evaluation step, and its mistakes count until the next
        one; within it the candidate with the best record so far predicts.
        """
        return self._best_of(self.learners)

    def _best_of(self, learners: list[Learner]) -> tuple[int, int]:
        if self.fixed is not None:
            return self.fixed
        leading = min(self.leading, len(learners) - 1)  # another thread may just have evaluated
        return leading, learners[leading].model.chosen

    def _leader(self) -> tuple[Learner, int]:
        """Return the learner and the candidate that predict: a blank one at first."""
        learners = self.learners  # an evaluation step in another thread replaces the list
        if not learners:
            return self._blank(), 0
        i, candidate = self._best_of(learners)
        return learners[i], candidate

    def _blank(self, features: int | None = None) -> Learner:
        defaults = {name: getattr(Settings, name) for name in selected_axes(self.settings)}
        settings = replace(self.settings, **defaults)
        width = self.features if features is None else features
        blank = Learner(settings, width, self.classes, self.dtype, self.seed)
        blank.model.set_memory(memory_of(settings))
        return blank

    @property
    def representation(self) -> int:
        """The number of the representation that predicts."""
        return self._leader()[0].representation

    @property
    def mistakes(self) -> float:
        """Mistakes of the candidates that predicted, each before its example was learned."""
        return self.counted[0] + self.made()[0]

    @property
    def distance(self) -> float:
        """The same for regression: the sum of absolute or squared errors."""
        return self.counted[1] + self.made()[1]

    def made(self) -> tuple[float, float]:
        """Return the mistakes and distance of the learner of the last evaluation step."""
        learners, leading = self.learners, self.leading
        return learners[leading].model.chosen_record if learners else (0.0, 0.0)

    def _drift_sums(self) -> Sums:
        """Return the sums for drift detection of the best candidate of the last checkpoint."""
        learners, leading = self.learners, self.leading
        return learners[leading].model.drift_record if learners else NO_ROWS

    @property
    def C(self) -> float:
        """The C of the best candidate."""
        return float(self._chosen().C)

    @property
    def choice(self) -> dict[str, Any]:
        """The settings of the best candidate, of those that are selected."""
        chosen = {name: getattr(self._chosen(), name) for name in AXES}
        return {n: c for n, c in chosen.items() if getattr(self.settings, n) == "auto" != c}

    def _chosen(self) -> Settings:
        if not self.learners:
            raise ValueError("Nothing can be selected before the first example.")
        learner, candidate = self._leader()
        return learner.all_settings[candidate]

    # -- report ------------------------------------------------------------------------------------

    def candidates(self) -> list[dict[str, Any]]:
        """Return the representation, settings, mistakes and recent record of each candidate."""
        learners = self.learners
        if not learners or not self.selects:
            return []
        return self._described(learners, self._best_of(learners))

    def _described(
        self, learners: Sequence[Learner], best: tuple[int, int] = (-1, -1)
    ) -> list[dict[str, Any]]:
        """Return all candidates of some learners, as they are reported."""
        about = self.representations.descriptions
        return [
            {**about[each.representation], **row, "chosen": (i, place) == best}
            for i, each in enumerate(learners)
            for place, row in enumerate(candidates_of(each))
        ]

    def report(self) -> SelectionReport:
        """Return the best candidates of each kind, the best one first, and the removed ones."""
        self._chosen()  # there is one
        return report_of(self.candidates(), self.left, self.measured)

    @property
    def progress(self) -> Progress:
        """Mistakes of the candidates that predicted; updates and loss of the best one."""
        learner, candidate = self._leader()
        best = learner.progress_of(candidate)
        return Progress(int(self.mistakes), best.updates, best.loss)

    @property
    def best_unit(self) -> float:
        """The unit of recorded margins, as scores of the best candidate alone."""
        learners = self.learners
        if self.fixed is None and ensemble.predicts(learners):
            return float(learners[self.leading].model.chosen_unit)
        return self.margin_unit

    def best_learner(self) -> Learner:
        """Return the best candidate alone, as a learner that continues as the candidate would."""
        self._chosen()  # there is one
        learner, candidate = self._leader()
        return select(learner, [candidate], [learner.all_settings[candidate]])

    def clone(self) -> Any:
        """Return a blank learner with the settings and the representation of the best candidate."""
        blank = self.best_learner().clone()
        representations = self.representations.only(self.representation)
        if isinstance(representations, Identity):
            return blank
        shape = (blank.settings, self.features, self.classes, self.dtype, self.seed)
        return type(self)(*shape, representations=representations, space=self.space)

    def reference_scores(self, reference_row: _core.Rows) -> Array:
        """Return the scores of a reference row of the input, as they are recorded."""
        now = self.at_present()
        if not now.learners:
            return np.zeros(self.outputs, self.dtype)
        predictor = now._predictor()
        which, width = predictor.learner.representation, predictor.learner.features
        row = now.representations.reference(which, reference_row, width)
        scores: Array = predictor.scores(reference_row if row is None else row, 1)[0]
        return scores

    # -- predicting --------------------------------------------------------------------------------

    def _predictor(self, features: int | None = None) -> Ensemble | Single:
        learners = self.learners
        if not learners:
            return Single(self._blank(features), 0)
        i, candidate = self._best_of(learners)
        if self.fixed is None:
            group = by_representation(learners)[learners[i].representation]
            if ensemble.predicts(group):
                return Ensemble(group)
        return Single(learners[i], candidate)

    def scores(self, rows: Any, threads: int = 1) -> Array:
        """Return the scores of the best candidate, or of the ensemble, for rows of the input."""
        now = self.at_present()
        if not (now._encodes and now.learners):
            return now.score_encoded(now.encoded(rows, threads), threads)
        predictor = now._predictor()
        return now._in_pieces(
            rows, threads, predictor.learner, lambda some: predictor.scores(some, threads)
        )

    def _in_pieces(
        self, rows: Any, threads: int, learner: Learner, score: Callable[[_core.Rows], Array]
    ) -> Array:
        """Return scores by a learner, for whose representation some rows at a time are encoded."""
        if not self._encodes or rows.count <= ENCODED:
            return score(self.encoded(rows, threads, learner))
        order = np.arange(rows.count, dtype=np.int64)
        pieces = (order[start : start + ENCODED] for start in range(0, rows.count, ENCODED))
        parts = [score(self.encoded(rows, threads, learner, some)) for some in pieces]
        return np.concatenate(parts)

    def encoded(
        self,
        rows: Any,
        threads: int = 1,
        learner: Learner | None = None,
        order: Array | None = None,
    ) -> _core.Rows:
        """Return rows of the input, or some of them, as a learner sees them, or as a blank one."""
        if not self._encodes:
            same: _core.Rows = rows
            return same
        which, width = (learner.representation, learner.features) if learner else (0, 1)
        encode = self.representations.encode
        (encoded,) = encode(rows, order, [which], [width], learn=False, threads=threads)
        return encoded

    def score_encoded(self, rows: _core.Rows, threads: int = 1) -> Array:
        """Return the scores of rows of the representation that predicts."""
        return self._predictor(rows.features).scores(rows, threads)

    def coef(self) -> Array:
        """Return the weights that predict, outputs x features."""
        return self._predictor().coef()

    def intercept(self) -> Array:
        """Return the intercepts that predict."""
        return self._predictor().intercept()

    def considered(self) -> list[tuple[int, int]]:
        """Return the best candidate of each learner and that of the next smaller C.

        The one that predicts is first. A C that is best in one pass may be too large for several.
        """
        leading, predicts = self.best
        bests = {leading: predicts}
        bests |= {i: each.model.chosen for i, each in enumerate(self.learners) if i != leading}
        return [
            (i, candidate)
            for i, best in bests.items()
            for candidate in range(best, max(best - 2, -1), -1)
        ]

    def candidate_scores(self, rows: Any) -> dict[tuple[int, int], Array]:
        """Return the scores of the considered candidates, keyed by learner and candidate."""
        parts: dict[int, list[Array]] = {}
        for i, learner in enumerate(self.learners):
            score = functools.partial(learner.model.score, threads=1)
            scores = self._in_pieces(rows, 1, learner, score)
            parts[i] = np.split(scores, learner.models, axis=1)
        return {(i, candidate): parts[i][candidate] for i, candidate in self.considered()}

    def __getstate__(self) -> dict[str, Any]:
        return {n: value for n, value in self.__dict__.items() if n not in ("turns", "history")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, turns=OwnedLock(), history=_no_history)
