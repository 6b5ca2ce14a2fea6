"""The lanes of a race: what each stands for, how it is doing, and which of them is the best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from aggro.learn.grids import standing
from aggro.learn.learner import Learner
from aggro.rules import Settings


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


def best_of(learners: list[Learner]) -> tuple[int, int]:
    """Return the learner and the lane with the best recent record."""
    leaders = [(i, learner.model.chosen) for i, learner in enumerate(learners)]
    return min(leaders, key=lambda at: learners[at[0]].model.records[at[1]][1:3])


def chosen_of(lane: Settings, settings: Settings) -> Settings:
    """Return settings with what a lane stands for in the race."""
    return replace(settings, C=lane.C, metric=lane.metric, scale=lane.scale, average=lane.average)
