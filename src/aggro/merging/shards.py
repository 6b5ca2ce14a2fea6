"""One round of distributed training: models that each learn a shard, and the merge of them all.

A mean of S changes goes as far as one shard went, so each shard learns with √S times C. A step
never goes beyond its own margin, so that is safe; S times C would learn the noise of labels.
Newton's metric needs neither: its precisions are evidence of all shards alike.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace

from aggro.learner import Learner
from aggro.merging.changes import Change, apply
from aggro.selection.common import AnyLearner, learners_of
from aggro.selection.selection import ModelSelection
from aggro.settings import METRICS, Settings

WITH_C = (
    *("hinge", "squared_hinge", "least_squares", "scw1", "scw2"),
    *("epsilon_insensitive", "squared_epsilon_insensitive"),
)


def shard_of(learner: AnyLearner, shards: int) -> AnyLearner:
    """Return a copy that learns one of so many shards, with a scaled C."""
    if isinstance(learner, ModelSelection):
        selection = copy.copy(learner)
        selection.paused = True  # all shards keep the same candidates until they merge
        selection.learners = [_shard_of(each, shards) for each in learner.learners]
        return selection
    return _shard_of(learner, shards)


def _shard_of(learner: Learner, shards: int) -> Learner:
    shard = copy.deepcopy(learner)
    shard.configure([scaled_C(settings, shards) for settings in shard.all_settings])
    return shard


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
    selection = copy.copy(start)
    selection.learners = merged
    selection.evaluate_if_due()
    return selection
