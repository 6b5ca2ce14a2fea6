"""One round of shards: a model that learns one of several parts, and the merge of them all.

Measured in ``make mixing``. A mean of S changes goes as far as one shard went, so each learns at S
times the price; a step never goes beyond its own margin, so that is safe. In a diagonal metric a
feature that few shards met would then move too far: nothing was averaged, but the price was high.
Where labels are noisy the higher price learns the noise, which shows only after some rounds: for a
quarter of the first pass two models learn side by side, one at each price. In the second pass a
metric that learns has the higher one again.
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

PRICED = (
    *("hinge", "squared_hinge", "least_squares", "scw1", "scw2"),
    *("epsilon_insensitive", "squared_epsilon_insensitive"),
)


class Apart(ModelSelection):
    """A race whose lanes stay as they are: all shards race the same ones, until they merge."""

    watches = False

    def _until_next_look(self) -> int:
        return int(np.iinfo(np.int64).max // 2)

    def _look_if_due(self) -> None:
        """Leave looking to the merged race."""


def shard_of(learner: AnyLearner, shards: int) -> AnyLearner:
    """Return a copy that learns one of so many shards: at a price so many times as high."""
    twin = copy.deepcopy(learner)
    if isinstance(twin, ModelSelection):
        race = Apart.__new__(Apart)
        race.__setstate__(twin.__getstate__())
        twin = race
    for each in learners_of(twin):
        each.configure([priced(lane, shards) for lane in each.all_settings])
    return twin


def priced(settings: Settings, shards: int) -> Settings:
    """Return settings with the price of one of so many shards, where the loss has one."""
    return replace(settings, C=settings.C * shards) if settings.loss in PRICED else settings


def has_price(learner: AnyLearner) -> bool:
    """Tell whether the price of a shard matters, and is not raced anyway."""
    if not isinstance(learner, Learner):
        return False
    return learner.settings.loss in PRICED and bool(np.isfinite(learner.settings.C))


def trial_of(rounds: int) -> int:
    """Return after how many of a pass' rounds one of two prices is chosen; 0 for never.

    >>> trial_of(16), trial_of(4), trial_of(3)
    (4, 1, 0)
    """
    return rounds // 4


def stands(first: float, other: float, deviations: float = 1.0) -> bool:
    """Tell whether the first of two models stands, by the mistakes of both on rows to come.

    The other must make fewer by more than chance: so many standard deviations.

    >>> stands(100, 95), stands(100, 80)
    (True, False)
    """
    return first - other <= deviations * math.sqrt(first)


def price_stands(dear: float, cheap: float) -> bool:
    """Tell whether shards go on at the higher price, by the mistakes of both on rows to come.

    Two models of one start err mostly on the same rows, so half of a deviation is more than chance;
    and the higher price is ahead at first.

    >>> price_stands(100, 95), price_stands(100, 94)
    (True, False)
    """
    return stands(dear, cheap, deviations=0.5)


def is_dear(number: int, dear: bool, learner: AnyLearner) -> bool:
    """Tell whether shards learn at the higher price in this pass, if so far they did or did not.

    In a metric that learns, the first pass has shortened the steps until the price bounds them, not
    the margin. Noise then moves little, and the mean of S steps needs S times the price to go as
    far as one learner goes. Euclidean steps stay as long as they were, and so does the choice.
    """
    return dear or (number > 0 and learner.settings.metric != "euclidean")


def merge_round(start: AnyLearner, changes: tuple[Change, ...], shaped: bool = True) -> AnyLearner:
    """Return the start with what all shards of a round have learned; a race looks who leads.

    ``shaped``: changes are damped and lengthened, as their metric asks for; else the mean by news
    stays as it is.
    """
    merged = []
    for each, change in zip(learners_of(start), changes, strict=True):
        metric = METRICS[each.settings.metric]
        shape = (metric.damping, metric.relaxation) if shaped else (0.0, 0.0)
        merged.append(apply(each, change, 0.0, *shape))
    if isinstance(start, Learner):
        return merged[0]
    race = ModelSelection.__new__(ModelSelection)
    race.__setstate__(start.__getstate__())
    race.learners = merged
    race._look_if_due()
    return race
