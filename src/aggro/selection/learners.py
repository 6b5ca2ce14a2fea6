"""Learners of candidates: the first ones, copies with fewer or other candidates, moving grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner
from aggro.selection import ensemble
from aggro.selection.memory import importance, learner_bytes
from aggro.selection.search_space import (
    FILLED,
    C_at,
    first_steps,
    is_clearly_best,
    limited_grid,
    off_edge,
    off_unit,
    pairs_of,
    shifted,
    values_kept,
)
from aggro.settings import Settings, memory_of
from aggro.transaction import Checkpoint

if TYPE_CHECKING:
    from aggro.selection.selection import ModelSelection

Views = dict[int, _core.Rows]  # the rows of a call as each representation sees them
# Records that are cleared after drift, the loss aside.
CLEARED = {"recent_mistakes", "swapped_recent", "recent_weight", "margin_size", "margin_loss"}
TALLIES = ("mistakes", "updates", "last_update", "loss")


# -- first learners ------------------------------------------------------------------------------


def first_learners(
    selection: ModelSelection, views: Views, targets: dict[str, Any], first: int
) -> list[Learner]:
    """Return new learners for all representations, whose counts begin at the present example.

    Grids are placed by the first row that they learn, and move when more is known.
    """
    s, c = selection.settings, selection
    target = np.abs(targets["values"][first]).max() if s.task == "regression" else 1.0
    pairs = [
        (which, pair)
        for which, rows in views.items()
        for pair in _settings_of(selection, which, is_sparse(rows, first))
    ]
    ranked = sorted(pairs, key=lambda pair: importance(pair[1]))
    widths = [views[which].features for which, _ in ranked]
    spent = learner_bytes(c.learners[c.leading]) if c.learners else 0  # it stays
    count, values = c.affordable([pair for _, pair in ranked], widths, spent)
    kept = ranked[:count]
    learners = [
        _first_learner(selection, which, pair, views[which], first, target, values)
        for which, pair in pairs
        if (which, pair) in kept
    ]
    for which in views:
        group = [each for each in learners if each.representation == which]
        if not c.examples and ensemble.may_begin(s, group):
            ensemble.weight(group, predict=True)
    return learners


def _settings_of(selection: ModelSelection, representation: int, sparse: bool) -> list[Settings]:
    """Return the settings of the learners of a representation, C aside."""
    about = selection.representations.descriptions[representation]
    s = replace(selection.settings, features=about.get("features", "linear"))
    return [replace(s, metric=metric, scale=scale) for metric, scale in pairs_of(s, sparse)]


def _first_learner(
    selection: ModelSelection,
    representation: int,
    place: Settings,
    rows: _core.Rows,
    first: int,
    target: float,
    values: int,
) -> Learner:
    c, scale = selection, getattr(_core.Scale, place.scale)
    steps = first_steps(place, rows.square(first, scale), target)
    grid = limited_grid(c.space.grid(place, c.outputs), values)
    costs = [C_at(step + steps) for step in grid] if c.settings.C == "auto" else [place.C]
    settings = [replace(place, C=C) for C in costs]
    learner = Learner(settings, rows.features, c.classes, c.dtype, c.seed)
    learner.representation = representation
    learner.model.set_memory(memory_of(c.settings))
    if learner.models > 1:
        learner.model.set_unit(steps)
    if c.examples:
        _count_from(learner, c.examples)
    return learner


def is_sparse(rows: _core.Rows, first: int) -> bool:
    """Return True if a row is so sparse that rows should not be centred."""
    return rows.sparse and FILLED * rows.square(first, _core.Scale.online) < rows.features


def clear_record(learner: Learner) -> Learner:
    """Return a copy with an empty record, since errors before drift are not comparable.

    Until the next example it predicts as before: other candidates start with the smallest positive
    loss, which loses ties. The count of examples stays, since it determines when a mean of weights
    may predict.
    """
    new = select(learner, range(learner.models), learner.all_settings)
    best = learner.model.chosen
    state, by_mean = new.state(), learner.model.by_mean[best]
    for name in state.keys() & CLEARED:
        state[name][:] = 0.0
    state["recent_loss"][:] = np.finfo(np.float64).tiny
    losses = state["recent_loss"].reshape(learner.models, -1)
    losses[best, 0 if by_mean else -1] = 0.0
    new.load_state(state)
    return new


def _count_from(learner: Learner, examples: int) -> None:
    """Set the number of examples of a new learner."""
    state = learner.state()
    state["counters"][0] = examples
    state["last_update"][:] = examples
    learner.load_state(state)


# -- copies --------------------------------------------------------------------------------------


def select(learner: Learner, models: Sequence[int], settings: Sequence[Settings]) -> Learner:
    """Return a learner whose model i continues model ``models[i]`` of this one."""
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    source: Any = learner.model  # of the same precision
    new.model.continue_models(source, list(models))
    return new


def restarted(learner: Learner, settings: Sequence[Settings]) -> Learner:
    """Return a learner with blank weights, but with the counts and statistics of this one.

    Every candidate gets the record of the best one.
    """
    new = Learner(settings, learner.features, learner.classes, learner.dtype)
    new.representation = learner.representation
    new.model.set_memory(learner.model.memory)
    before, after = learner.state(), new.state()
    best, each = learner.model.chosen, len(before["updates"]) // learner.models
    for name, kind in new.model.layout().items():
        if kind in ("shared", "feature"):
            after[name] = before[name]
        elif kind == "model":
            of_best = before[name].reshape(learner.models, -1)[best]
            after[name].reshape(new.models, -1)[:] = of_best
    for name in TALLIES:
        after[name] = np.tile(before[name][best * each : (best + 1) * each], new.models)
    copy_intercept_scale(before, after)
    weights = after["weights"].reshape(new.features, -1)
    _copy_sums(before["weights"].reshape(learner.features, -1), weights, learner, new)
    new.load_state(after)
    return new


def copy_intercept_scale(before: dict[str, Array], after: dict[str, Array]) -> None:
    """Copy the value of the constant feature, which the first row determines, to new outputs."""
    if "bias_prior" not in before or before["bias_prior"][0] == 0.0:
        return
    prior = before["bias_prior"][0]  # the same for all outputs
    after["bias_prior"][:] = after["bias_variance"][:] = prior
    for name in after:
        if name.startswith("full_"):
            after[name][-1] = prior


def _copy_sums(source: Array, target: Array, old: Learner, new: Learner) -> None:
    """Copy the class sums, which are stored behind the outputs."""
    had, has = old.outputs * old.models, new.outputs * new.models
    sums = min(old.model.columns - had, new.model.columns - has)
    target[:, has : has + sums] = source[:, had : had + sums]


# -- grids ---------------------------------------------------------------------------------------


def narrowed(learner: Learner, values: int, below: int = 0) -> Learner:
    """Return the learner with at most ``values`` values of C, around the best one."""
    if learner.models <= values:
        return learner
    before = values - 1 - max(values - 1 - below, 0) // 2
    first = min(max(learner.model.chosen - before, 0), learner.models - values)
    kept = range(first, first + values)
    return select(learner, kept, [learner.all_settings[each] for each in kept])


def within_grid(learner: Learner, values: int, grid: range) -> Learner:
    """Return the learner with the values of C of a limited first grid."""
    if learner.models <= values:
        return learner
    first = limited_grid(grid, values).start - limited_grid(grid, learner.models).start
    kept = range(first, first + values)
    return select(learner, kept, [learner.all_settings[each] for each in kept])


def move_grid(
    learner: Learner, tested: bool, examples: int | None = None, below: int = 0
) -> Learner:
    """Return the learner with its grid at its unit, or moved by a step if its edge is the best.

    Parameters
    ----------
    learner : Learner
        Candidates that differ in C.
    tested : bool
        Whether this evaluation step may remove candidates and move the grid off its edge.
    examples : int, optional
        Number of examples of this selection. By default those of the learner.
    below : int, default=0
        Values of C below the best one that are kept in addition.
    """
    if learner.models == 1:  # one C that was given
        return learner
    if tested:
        elapsed = learner.examples if examples is None else examples
        learner = narrowed(learner, values_kept(elapsed, below), below)
    unit, chosen = learner.model.unit, learner.model.chosen
    follow = off_unit(learner.settings, unit)
    steps = follow
    if tested and not follow:
        steps = off_edge([each.C for each in learner.all_settings], chosen, unit)
    clear = follow or is_clearly_best(learner.model.records, chosen, learner.settings)
    if steps == 0 or not clear:
        return learner
    moved = _shift(learner, steps)
    moved.model.set_unit(unit[-1] + follow)
    return moved


def _shift(learner: Learner, steps: int) -> Learner:
    """Return the learner with each C moved by steps; a new C starts as a copy of the best one.

    If the grid moves by more than one step, which happens only in the first examples, all
    candidates restart: their weights have another size, which a small C could not correct.
    """
    settings, last = learner.all_settings, learner.models - 1
    sources, moved = [], []
    for place in range(steps, steps + learner.models):
        edge = min(max(place, 0), last)
        sources.append(place if place == edge else learner.model.chosen)
        moved.append(replace(settings[edge], C=shifted(settings[edge].C, place - edge)))
    return restarted(learner, moved) if abs(steps) > 1 else select(learner, sources, moved)


# -- rollback ----------------------------------------------------------------------------------


class History:
    """Checkpoints of the blocks of a call, which are kept until the call has succeeded."""

    def __init__(self) -> None:
        self.checkpoints: list[Checkpoint] = []

    def add(self, *checkpoints: Checkpoint) -> None:
        """Add checkpoints of what the next block changes."""
        self.checkpoints += checkpoints

    def restore(self) -> None:
        """Restore the state before the first block."""
        for restore in reversed(self.checkpoints):
            restore()


class ModelStates:
    """The state of some learners before rows are learned in several calls of the core."""

    def __init__(
        self,
        groups: Mapping[int, Sequence[Learner]],
        views: Views,
        order: Array | None,
        targets: dict[str, Any],
        *,
        undo: bool,
    ) -> None:
        self.parts = []
        for which, group in groups.items():
            models: list[Any] = [each.model for each in group]
            begin = _core.begin_transaction
            self.parts.append(begin(models, views[which], order=order, undo=undo, **targets))

    def check_overflow(self) -> None:
        """Raise if a model has overflowed."""
        for part in self.parts:
            part.check()

    def end(self) -> None:
        """Ignore later changes, which have a state of their own to restore first."""
        for part in self.parts:
            part.end()

    def restore(self) -> None:
        """Restore all models."""
        for part in self.parts:
            part.restore()
