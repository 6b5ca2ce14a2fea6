"""How each part of a model merges: one row per part, one rule per row.

A rule turns what a model has learned since the common start into a *change*, adds changes, and
applies their sum to the start. Changes add like numbers, so they may be added in any tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from aggro.learner import Array


@dataclass(frozen=True)
class Since:
    """What the rules must know of the time since the start, of one model or of several together."""

    shards: float  # models
    examples: float  # learned since the start, by all of them
    averaged: float  # weight of the rounds that joined the average since the start
    averaged_before: float
    memory: float  # what an example leaves of the recent record before it

    def fading(self) -> float:
        """Return what is left of the record that there was at the start."""
        return float(self.memory ** (self.examples / max(self.shards, 1.0)))


class Rule(Protocol):
    """The three steps of a merge."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return what one model adds."""

    def add(self, some: Array, others: Array) -> Array:
        """Return both changes together."""

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return the start with the change of all."""


class Sum:
    """Exact: what is counted or summed adds up."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return what was added."""
        return np.asarray(end - start)

    def add(self, some: Array, others: Array) -> Array:
        """Return the sum."""
        return np.asarray(some + others)

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return the start and what was added to it."""
        return np.asarray(start + change)


class Fading(Sum):
    """A sum that forgets: what there was at the start fades as it did in each model."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return what was added since."""
        return np.asarray(end - since.fading() * start)

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return what is left of the start, and what was added to it."""
        return np.asarray(since.fading() * start + change)


class Moments:
    """Exact: rows, mean and squared distances of several samples (Chan, Golub, LeVeque)."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return the moments of the rows since the start."""
        (n0, m0, q0), (n, m, q) = start.T, end.T
        n1 = n - n0
        m1 = np.divide(n * m - n0 * m0, n1, out=np.zeros_like(m), where=n1 > 0)
        between = np.divide(n0 * n1, n, out=np.zeros_like(m), where=n > 0) * (m1 - m0) ** 2
        return np.column_stack([n1, m1, np.maximum(q - q0 - between, 0.0)])

    def add(self, some: Array, others: Array) -> Array:
        """Return the moments of both samples."""
        (n0, m0, q0), (n1, m1, q1) = some.T, others.T
        n = n0 + n1
        share = np.divide(n1, n, out=np.zeros_like(m0), where=n > 0)
        return np.column_stack([n, m0 + share * (m1 - m0), q0 + q1 + n0 * share * (m1 - m0) ** 2])

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return the moments of the start and of what came since."""
        return self.add(start, change)


class Latest:
    """The largest: when something happened last, or the longest row."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return the end."""
        return end

    def add(self, some: Array, others: Array) -> Array:
        """Return the later one."""
        return np.maximum(some, others)

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return the later one."""
        return np.maximum(start, change)


class Kept:
    """As it was at the start: models that learn apart do not change it."""

    def change(self, start: Array, end: Array, since: Since) -> Array:
        """Return the end, which is the start."""
        return end

    def add(self, some: Array, others: Array) -> Array:
        """Return either."""
        return some

    def applied(self, start: Array, change: Array, since: Since) -> Array:
        """Return it as it was."""
        return change


SUM, FADING, MOMENTS, LATEST, KEPT = Sum(), Fading(), Moments(), Latest(), Kept()
VOTE = "vote"  # weighted by update counts: aggro.merging.changes
INFORMATION = "information"  # the inverse of a full metric, with which its weights vote

RULES: dict[str, Any] = {
    # what steps have moved
    "weights": VOTE,
    "average": VOTE,
    "bias": VOTE,
    "bias_average": VOTE,
    # how much news there is
    "update_counts": SUM,
    "bias_update_counts": SUM,
    "precision": SUM,
    "bias_precision": SUM,
    "full": INFORMATION,
    # sums of examples
    "class_sums": SUM,
    "class_weight_seen": SUM,
    "class_total_seen": SUM,
    "scale_seen": SUM,
    "scale_square": SUM,
    "scale_moments": MOMENTS,
    "target_moments": MOMENTS,
    "unit_seen": SUM,
    "unit_place": KEPT,
    # counters and records
    "examples": SUM,
    "averaged": SUM,
    "late_weight": SUM,
    "frozen": KEPT,
    "random": KEPT,
    "updates": SUM,
    "mistakes": SUM,
    "loss": SUM,
    "last_update": LATEST,
    "bias_prior": LATEST,  # told by the longest of the first rows
    "model_mistakes": SUM,
    "chosen_mistakes": SUM,
    "chosen_error": SUM,
    "distances": SUM,
    "drift_sums": SUM,
    "drift_scale": LATEST,
    "swapped_drift": SUM,
    "swapped_mistakes": SUM,
    "swapped_chosen": SUM,
    "recent_mistakes": FADING,
    "recent_loss": FADING,
    "recent_examples": FADING,
    "recent_weight": FADING,
    "swapped_recent": FADING,
    "margin_size": FADING,
    "margin_loss": FADING,
    "ensemble_weight": KEPT,
}
# What has no meaning for models that learned apart, and why.
REFUSED = {
    "ring": "queue={queue} starts each step from the last classifiers of one stream, and models "
    "learned apart have no last ones in common; use queue=1",
    "pool": "average='reservoir' draws classifiers by how long each survived in one stream; use "
    "average=True",
    "class_emphasis": "forgetting={forgetting} lets the class means forget by the order of the "
    "examples, which models learned apart do not have in common; use forgetting=0 or class_mean=0",
}
DERIVED = ("mixture", "class_sum_norm", "class_sum_cross", "class_total", "class_sum_rest")


def rule_of(name: str) -> Any:
    """Return the rule of a part."""
    return RULES["full" if name.startswith("full_") else name]
