"""One merge rule for each part of a model.

What a model has learned since the common start is a *change*. Changes are added, in a tree of any
shape, and their sum is applied to the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aggro.learner import Array

RULES: dict[str, tuple[str, ...]] = {
    # weighted by update counts: aggro.merging.changes
    "weighted": ("weights", "average", "bias", "bias_average"),
    # the inverse of a full metric, whose weights are merged with it
    "information": ("full",),
    # rows, mean and sum of squared distances
    "moments": ("scale_moments", "target_moments"),
    "sum": (
        *("update_counts", "bias_update_counts", "precision", "bias_precision"),
        *("class_sums", "class_weight_seen", "class_total_seen"),
        *("scale_seen", "scale_square", "unit_seen"),
        *("examples", "averaged", "late_weight", "updates", "mistakes", "loss", "distances"),
        *("model_mistakes", "chosen_mistakes", "chosen_error", "drift_sums"),
        *("swapped_drift", "swapped_mistakes", "swapped_chosen"),
    ),
    # a sum in which the past fades
    "fading": (
        *("recent_mistakes", "recent_loss", "recent_examples", "recent_weight"),
        *("swapped_recent", "margin_size", "margin_loss"),
    ),
    "max": ("last_update", "bias_prior", "drift_scale"),
    # equal in all models, or arbitrary
    "first": ("frozen", "random", "unit_place", "ensemble_weight"),
}
RULE_OF = {name: rule for rule, names in RULES.items() for name in names}
DERIVED = ("mixture", "class_sum_norm", "class_sum_cross", "class_total", "class_sum_rest")
# Arrays without meaning for models that were trained separately, and why.
NOT_MERGEABLE = {
    "ring": "queue={queue} starts each step from the last classifiers of one stream, and models "
    "trained separately have no last ones in common; use queue=1",
    "pool": "average='reservoir' draws classifiers by how long each survived in one stream; use "
    "average=True",
    "class_emphasis": "forgetting={forgetting} lets the class means forget by the order of the "
    "examples, which models trained separately do not have in common; use forgetting=0 or "
    "class_mean=0",
}


@dataclass(frozen=True)
class Since:
    """The examples since the start, of one model or of several."""

    shards: float  # number of models
    examples: float
    averaged: float  # weight of the rounds that joined the average since the start
    averaged_before: float
    memory: float  # factor by which one example reduces the recent record

    @property
    def fading(self) -> float:
        """The remaining share of the recent record at the start."""
        return float(self.memory ** (self.examples / max(self.shards, 1.0)))

    def plus(self, other: Since) -> Since:
        """Return the examples of both."""
        names = ("shards", "examples", "averaged")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


def rule_of(name: str) -> str:
    """Return the rule of a part."""
    return RULE_OF["full" if name.startswith("full_") else name]


def change_of_part(name: str, start: Array, end: Array, since: Since) -> Array:
    """Return the change of a part."""
    rule = rule_of(name)
    if rule == "fading":
        return np.asarray(end - since.fading * start)
    if rule == "moments":
        return _moments_between(start, end)
    return end if rule in ("max", "first") else np.asarray(end - start)


def add_parts(name: str, some: Array, others: Array) -> Array:
    """Return the sum of two changes of a part."""
    rule = rule_of(name)
    if rule == "moments":
        return add_moments(some, others)
    if rule == "max":
        return np.maximum(some, others)
    return some if rule == "first" else np.asarray(some + others)


def apply_part(name: str, start: Array, change: Array, since: Since) -> Array:
    """Return the start of a part with the change of all models."""
    rule = rule_of(name)
    if rule == "first":
        return change
    return add_parts(name, since.fading * start if rule == "fading" else start, change)


def is_summed(name: str) -> bool:
    """Return whether changes of a part are added as numbers, and an absent one is zero."""
    return rule_of(name) in ("sum", "fading", "weighted", "information")


def add_moments(some: Array, others: Array) -> Array:
    """Return the moments of two samples together (Chan, Golub, LeVeque)."""
    (n0, m0, q0), (n1, m1, q1) = some.T, others.T
    n = n0 + n1
    share = np.divide(n1, n, out=np.zeros_like(m0), where=n > 0)
    return np.column_stack([n, m0 + share * (m1 - m0), q0 + q1 + n0 * share * (m1 - m0) ** 2])


def _moments_between(start: Array, end: Array) -> Array:
    """Return the moments of the rows since the start."""
    (n0, m0, q0), (n, m, q) = start.T, end.T
    n1 = n - n0
    m1 = np.divide(n * m - n0 * m0, n1, out=np.zeros_like(m), where=n1 > 0)
    between = np.divide(n0 * n1, n, out=np.zeros_like(m), where=n > 0) * (m1 - m0) ** 2
    return np.column_stack([n1, m1, np.maximum(q - q0 - between, 0.0)])
