"""The estimators as rows: which axes each has, and what it fixes. Free of scikit-learn.

The constructors of the estimators repeat the names, as scikit-learn wants it; a test holds them
against this table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aggro.rules import CLASSIFIER_LOSSES, REGRESSOR_LOSSES


@dataclass(frozen=True)
class Kind:
    """What can be set on an estimator.

    ``fixed`` is what is no keyword of it, and ``defaults`` are those of its keywords that differ
    from the defaults of ``Settings``.
    """

    axes: tuple[str, ...]
    losses: tuple[str, ...]
    regression: bool = False
    kernel: bool = False  # learns in a kernel's space, in Python alone
    fixed: dict[str, Any] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The keywords that are settings: the axes, and the loss where there is a choice of it."""
        chooses = len(self.losses) > 1 and "loss" not in self.axes
        return (*self.axes, "loss") if chooses else self.axes

    def keywords(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the settings that the given parameters mean, defaults and fixed ones included."""
        return {**self.fixed, **self.defaults, **given}


_ALL = ("fit_intercept", "average", "reservoir_size")
_SIZED = (*_ALL, "intercept_scaling")
_PA = (*_SIZED, "mergeable", "C", "loss", "metric", "queue", "batch_size", "scale", "forgetting")
_KERNEL = ("fit_intercept", "average", "C", "loss", "batch_size")
_DIAGONAL = {"intercept_scaling": "auto", "metric": "diagonal"}
_CHOSEN = {"C": "auto", "metric": "auto", "scale": "auto", "average": "auto"}

KINDS: dict[str, Kind] = {
    "PassiveAggressiveClassifier": Kind(
        axes=(*_PA, "multiclass", "class_mean", "trigger"),
        losses=CLASSIFIER_LOSSES,
        defaults={"intercept_scaling": "auto", "average": "auto"},
    ),
    "PassiveAggressiveRegressor": Kind(
        axes=(*_PA, "epsilon", "relative_epsilon"),
        losses=REGRESSOR_LOSSES,
        regression=True,
        defaults={"loss": "epsilon_insensitive", "epsilon": 0.1, "average": "auto"},
    ),
    "AutoClassifier": Kind(
        axes=("fit_intercept", "mergeable"),
        losses=("squared_hinge",),
        fixed={**_CHOSEN, "loss": "squared_hinge", "intercept_scaling": "auto"},
    ),
    "AutoRegressor": Kind(
        axes=("fit_intercept", "mergeable"),
        losses=("epsilon_insensitive",),
        regression=True,
        fixed={**_CHOSEN, "loss": "epsilon_insensitive", "epsilon": 0.0},
    ),
    "Perceptron": Kind(
        axes=(*_ALL, "multiclass", "mergeable"),
        losses=("perceptron",),
        fixed={"loss": "perceptron"},
        defaults={"multiclass": "top"},
    ),
    "AROWClassifier": Kind(
        axes=(*_SIZED, "r", "metric", "multiclass"),
        losses=("arow",),
        fixed={"loss": "arow"},
        defaults={**_DIAGONAL, "multiclass": "ovr"},
    ),
    "AROWRegressor": Kind(
        axes=(*_SIZED, "r", "epsilon", "metric"),
        losses=("arow",),
        regression=True,
        fixed={"loss": "arow"},
        defaults={"metric": "diagonal"},
    ),
    "ConfidenceWeightedClassifier": Kind(
        axes=(*_SIZED, "eta", "metric"),
        losses=("cw", "cw_stdev"),
        fixed={"multiclass": "ovr"},
        defaults={**_DIAGONAL, "loss": "cw"},
    ),
    "SoftConfidenceWeightedClassifier": Kind(
        axes=(*_SIZED, "C", "eta", "metric"),
        losses=("scw1", "scw2"),
        fixed={"multiclass": "ovr"},
        defaults={**_DIAGONAL, "loss": "scw1"},
    ),
    "KernelPassiveAggressiveClassifier": Kind(
        axes=(*_KERNEL, "multiclass"), losses=CLASSIFIER_LOSSES, kernel=True
    ),
    "KernelPassiveAggressiveRegressor": Kind(
        axes=(*_KERNEL, "epsilon"),
        losses=REGRESSOR_LOSSES,
        regression=True,
        kernel=True,
        defaults={"loss": "epsilon_insensitive", "epsilon": 0.1},
    ),
}


LINEAR = {name: row for name, row in KINDS.items() if not row.kernel}


def losses_of(regression: bool) -> tuple[str, ...]:
    """Return every loss of classification, or of regression."""
    rows = [row.losses for row in KINDS.values() if row.regression == regression]
    return tuple(dict.fromkeys(loss for losses in rows for loss in losses))
