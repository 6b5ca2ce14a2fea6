"""Learners that begin to race, at the first example or when the stream has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro import _core
from aggro.learner import Learner
from aggro.selection import ensemble as joint
from aggro.selection.copies import select
from aggro.selection.grids import FILLED, first_steps, places_of
from aggro.selection.memory import by_importance, learner_bytes
from aggro.settings import memory_of

if TYPE_CHECKING:
    from aggro.selection.selection import ModelSelection


def first_candidates(
    race: ModelSelection, rows: _core.Rows, lesson: dict[str, Any], first: int
) -> list[Learner]:
    """Return a learner for each place that is raced; they count on from the race's examples.

    Grids lie by the first example of the lesson that they learn. They follow when more is known.
    """
    s, shape = race.settings, (race.features, race.classes, race.dtype, race.seed)
    target = np.abs(lesson["values"][first]).max() if s.task == "regression" else 1.0
    pairs = places_of(s, is_sparse(rows, first))
    places = [replace(s, metric=metric, scale=scale) for metric, scale in pairs]
    spent = learner_bytes(race.learners[race.leading]) if race.learners else 0  # it stays
    kept, values = race.affordable(by_importance(places), spent)
    learners = []
    for place in (place for place in places if place in kept):
        scale = place.scale
        steps = first_steps(place, rows.square(first, getattr(_core.Scale, scale)), target)
        prices = race.grid(place, steps, values) if s.C == "auto" else [s.C]
        learner = Learner([replace(place, C=c) for c in prices], *shape)
        learner.model.set_memory(memory_of(s))
        if learner.models > 1:
            learner.model.set_unit(steps)
        if race.examples:
            _count_from(learner, race.examples)
        learners.append(learner)
    if race.joins and not race.examples and joint.may_begin(s, learners):
        joint.join(learners, jointly=True)
    return learners


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
