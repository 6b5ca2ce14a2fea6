"""One round of distributed training: models that each learn a shard, and the merge of them all.

A mean of S changes goes as far as one shard went, so each shard learns with √S times C. A step
never goes beyond its own margin, so that is safe; S times C would learn the noise of labels.
Newton's metric needs neither: its precisions are evidence of all shards alike.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np

from aggro.learner import Learner
from aggro.merging.changes import Change, apply
from aggro.selection.common import AnyLearner, learners_of
from aggro.selection.selection import ModelSelection
from aggro.settings import METRICS, Settings

WITH_C = (
    *("hinge", "squared_hinge", "least_squares", "scw1", "scw2"),
    *("epsilon_insensitive", "squared_epsilon_insensitive"),
)


class ShardSelection(ModelSelection):
    """A selection without evaluation steps: all shards keep the same candidates until the merge."""

    watches = False

    def _until_next_look(self) -> int:
        return int(np.iinfo(np.int64).max // 2)

    def _look_if_due(self) -> None:
        """Leave evaluation to the merged selection."""


def shard_of(learner: AnyLearner, shards: int) -> AnyLearner:
    """Return a copy that learns one of so many shards, with a scaled C."""
    own = copy.deepcopy(learner)
    if isinstance(own, ModelSelection):
        selection = ShardSelection.__new__(ShardSelection)
        selection.__setstate__(own.__getstate__())
        own = selection
    for each in learners_of(own):
        each.configure([scaled_C(settings, shards) for settings in each.all_settings])
    return own


def scaled_C(settings: Settings, shards: int) -> Settings:
    """Return settings with C times the root of the number of shards, where that matters."""
    if settings.loss not in WITH_C or METRICS[settings.metric].prior:
        return settings
    return replace(settings, C=settings.C * math.sqrt(shards))


def merge_round(start: AnyLearner, changes: tuple[Change, ...]) -> AnyLearner:
    """Return the start with the changes of all shards of a round; a selection is evaluated."""
    merged = []
    for each, change in zip(learners_of(start), changes, strict=True):
        metric = METRICS[each.settings.metric]
        prior = 1.0 / change.since.shards if metric.prior else 0.0
        merged.append(apply(each, change, prior, metric.damping, metric.relaxation))
    if isinstance(start, Learner):
        return merged[0]
    selection = ModelSelection.__new__(ModelSelection)
    selection.__setstate__(start.__getstate__())
    selection.learners = merged
    selection._look_if_due()
    return selection
