"""The lanes of a race: what each stands for, how it is doing, and which of them is the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro.learner import Learner
from aggro.selection.grids import FAR_BEHIND, standing, staying
from aggro.settings import Settings

TIE = 1e-9  # relative difference of records that decides a tie


def lanes_of(learner: Learner) -> list[dict[str, Any]]:
    """Return what the lanes of a learner stand for, and their records."""
    parts = (learner.all_settings, learner.model.records, learner.model.by_mean)
    return [
        {
            "C": setting.C,
            "metric": setting.metric,
            "scale": setting.scale,
            "average": by_mean if setting.average == "auto" else setting.average,
            **standing(record, chosen=False),
        }
        for setting, record, by_mean in zip(*parts, strict=True)
    ]


def all_lanes(learners: Sequence[Learner], leader: tuple[int, int]) -> list[dict[str, Any]]:
    """Return the same for several learners; the leader is a learner and a lane of it."""
    return [
        {**lane, "chosen": (i, place) == leader}
        for i, learner in enumerate(learners)
        for place, lane in enumerate(lanes_of(learner))
    ]


def record_of(learner: Learner) -> tuple[float, float]:
    """Return the recent mistakes and loss of the best lane of a learner."""
    _, mistakes, loss, _ = learner.model.records[learner.model.chosen]
    return mistakes, loss


def who_stays(learners: list[Learner], examples: int, regression: bool) -> list[Learner]:
    """Return the learners that race on after so many examples: the best, and who is near them."""
    best, (most, _) = min(learners, key=record_of), staying(examples)
    near = [each for each in learners if not is_hopeless(each, best, regression)]
    kept = sorted(near, key=record_of)[:most]
    return [each for each in learners if each in kept]


def is_hopeless(learner: Learner, best: Learner, regression: bool) -> bool:
    """Tell whether a learner is so far behind the best that chance cannot explain it."""
    (mistakes, loss), (fewest, least) = record_of(learner), record_of(best)
    if regression:
        return loss > FAR_BEHIND * least
    return mistakes > FAR_BEHIND * fewest + 3.0 * math.sqrt(mistakes + fewest)


def best_of(learners: list[Learner]) -> tuple[int, int]:
    """Return the learner and the lane with the best recent record."""
    leaders = [(i, learner.model.chosen) for i, learner in enumerate(learners)]
    return min(leaders, key=lambda at: learners[at[0]].model.records[at[1]][1:3])


def rank_first(learners: Sequence[Learner], place: tuple[int, int]) -> None:
    """Raise the recent errors of the candidates with a better record than this one to its own.

    It then predicts, and is replaced as soon as another one makes fewer errors.
    """
    states = [learner.state() for learner in learners]
    predicting = [
        (i, lane, lane * (len(state["recent_loss"]) // learner.models) + offset)
        for i, (learner, state) in enumerate(zip(learners, states, strict=True))
        for lane, offset in enumerate(_predicting(learner, state))
    ]
    (first,) = (entry for i, lane, entry in predicting if (i, lane) == place)
    fewest, least = (states[place[0]][name][first] for name in ("recent_mistakes", "recent_loss"))
    for i, lane, entry in predicting:
        mistakes, loss = states[i]["recent_mistakes"], states[i]["recent_loss"]
        behind = (fewest - mistakes[entry], least - loss[entry])
        if (i, lane) == place or behind < (0.0, 0.0):
            continue
        rivals = len(loss) // learners[i].models
        own = slice(lane * rivals, (lane + 1) * rivals)
        mistakes[own] += behind[0] * (1.0 + TIE)
        loss[own] += max(behind[1], 0.0) + TIE * least + np.finfo(np.float64).tiny
    for learner, state in zip(learners, states, strict=True):
        learner.load_state(state)


def _predicting(learner: Learner, state: dict[str, Any]) -> list[int]:
    """Return which of its predictors each candidate uses: the mean comes first."""
    last = len(state["recent_loss"]) // learner.models - 1
    return [0 if by_mean else last for by_mean in learner.model.by_mean]


def chosen_of(lane: Settings, settings: Settings) -> Settings:
    """Return settings with what a lane stands for in the race."""
    return replace(settings, C=lane.C, metric=lane.metric, scale=lane.scale, average=lane.average)
