"""The first candidates of a selection, at the first example or after drift."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro import _core
from aggro.learner import Learner
from aggro.selection import ensemble
from aggro.selection.candidates import by_representation
from aggro.selection.copies import select
from aggro.selection.grids import FILLED, first_steps, limited_grid, places_of, price
from aggro.selection.memory import importance, learner_bytes
from aggro.settings import Settings, memory_of

if TYPE_CHECKING:
    from aggro.selection.selection import ModelSelection, Views


def first_candidates(
    selection: ModelSelection, views: Views, targets: dict[str, Any], first: int
) -> list[Learner]:
    """Return new learners for all representations, whose counts begin at the present example.

    Grids are placed by the first row that they learn, and move when more is known.
    """
    s, c = selection.settings, selection
    target = np.abs(targets["values"][first]).max() if s.task == "regression" else 1.0
    places = [
        (which, replace(s, metric=metric, scale=scale))
        for which, rows in views.items()
        for metric, scale in places_of(s, is_sparse(rows, first))
    ]
    ranked = sorted(places, key=lambda place: importance(place[1]))
    widths = [views[which].features for which, _ in ranked]
    spent = learner_bytes(c.learners[c.leading]) if c.learners else 0  # it stays
    count, values = c.affordable([place for _, place in ranked], widths, spent)
    kept = ranked[:count]
    learners = [
        _first_learner(selection, which, place, views[which], first, target, values)
        for which, place in places
        if (which, place) in kept
    ]
    for group in by_representation(learners).values():
        if c.space.ensemble and not c.examples and ensemble.may_begin(s, group):
            ensemble.weight(group, predict=True)
    return learners


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
    costs = [price(step + steps) for step in grid] if c.settings.C == "auto" else [place.C]
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
    """Tell, by one row, whether rows are so sparse that they should not be filled."""
    return rows.sparse and FILLED * rows.square(first, _core.Scale.online) < rows.features


def clear_record(learner: Learner) -> Learner:
    """Return a copy with an empty record: errors before a change of the stream mean little.

    It predicts as before until the next example: what does not predict starts with the smallest
    positive loss, which loses ties. The count of examples stays, since it tells when a mean of
    weights may predict.
    """
    new = select(learner, range(learner.models), learner.all_settings)
    best = learner.model.chosen
    state, by_mean = new.state(), learner.model.by_mean[best]
    for name in state.keys() & {"recent_mistakes", "turned_recent", "recent_weight"}:
        state[name][:] = 0.0
    state["recent_loss"][:] = np.finfo(np.float64).tiny
    losses = state["recent_loss"].reshape(learner.models, -1)
    losses[best, 0 if by_mean else -1] = 0.0
    new.load_state(state)
    return new


def _count_from(learner: Learner, examples: int) -> None:
    """Let a learner that begins count on from so many examples."""
    state = learner.state()
    state["counters"][0] = examples
    state["last_update"][:] = examples
    learner.load_state(state)
