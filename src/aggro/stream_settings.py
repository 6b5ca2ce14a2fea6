"""From a variant's name and keywords to the settings of a stream learner."""

from __future__ import annotations

from typing import Any

from aggro.rules import (
    CLASSIFIER_LOSSES,
    REGRESSOR_LOSSES,
    Settings,
    Task,
    check_choice,
    check_count,
    check_settings,
    near,
)
from aggro.variants import find

OVERFLOWS = ("drop", "hash")
LOSSES_OF_CLASSIFIERS = (*CLASSIFIER_LOSSES, "perceptron", "arow", "cw", "cw_stdev", "scw1", "scw2")
LOSSES_OF_REGRESSORS = (*REGRESSOR_LOSSES, "arow")

# What the estimators of the catalogue's rows add to the keywords of the row.
_CLASSIFIERS: dict[str, dict[str, Any]] = {
    "PassiveAggressiveClassifier": {},
    "Perceptron": {"loss": "perceptron", "multiclass": "top"},
    "AROWClassifier": {"loss": "arow", "metric": "diagonal", "multiclass": "ovr"},
    "ConfidenceWeightedClassifier": {"loss": "cw", "metric": "diagonal", "multiclass": "ovr"},
    "SoftConfidenceWeightedClassifier": {"loss": "scw1", "metric": "diagonal", "multiclass": "ovr"},
}
_REGRESSORS: dict[str, dict[str, Any]] = {
    "PassiveAggressiveRegressor": {"loss": "epsilon_insensitive", "epsilon": 0.1},
    "AROWRegressor": {"loss": "arow", "metric": "diagonal"},
}
# Keywords of the estimators that only choose a loss.
_LOSS_OF = {
    "form": {"variance": "cw", "stdev": "cw_stdev"},
    "kind": {"I": "scw1", "II": "scw2"},
}


def keywords_of(algorithm: str, regression: bool, params: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a published variant; ``params`` override the row's."""
    row = find(algorithm)
    estimators = _REGRESSORS if regression else _CLASSIFIERS
    if row.estimator not in estimators:
        kind = "regression" if regression else "classification"
        raise ValueError(
            f"{row.name!r} is not a linear variant of {kind}, but of aggro.{row.estimator}."
        )
    keywords = {**estimators[row.estimator], **row.params}
    for name, losses in _LOSS_OF.items():
        if name in keywords:
            keywords["loss"] = losses[keywords.pop(name)]
    known = Settings.__dataclass_fields__.keys() - {"task"}
    for name in params:
        if name not in known:
            raise TypeError(f"{name!r} is not a setting.{near(name, known)}")
    return {**keywords, **params}


def settings_of(keywords: dict[str, Any], regression: bool, classes: int = 2) -> Settings:
    """Return the checked settings for this many classes."""
    task: Task = "regression" if regression else "binary" if classes <= 2 else "multiclass"
    settings = Settings(task=task, **keywords)
    check_settings(settings, LOSSES_OF_REGRESSORS if regression else LOSSES_OF_CLASSIFIERS)
    return settings


def refuse_races(params: dict[str, Any]) -> None:
    """Raise where more than C is left to a race, which only the estimators can."""
    for name in ("average", "metric", "scale"):
        if params.get(name) == "auto":
            raise ValueError(
                f"{name}='auto' is not for stream learners, which race values of C only; choose "
                f"{name}, or use an estimator's partial_fit."
            )


def check_bounds(max_features: int | None, overflow: str) -> None:
    """Raise unless the bounds of the memory make sense."""
    if max_features is not None:
        check_count("max_features", max_features, most=2**31 - 1)
    check_choice("overflow", overflow, OVERFLOWS)
