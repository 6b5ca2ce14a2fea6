"""From a variant's name and keywords to the settings of a stream learner."""

from __future__ import annotations

from typing import Any

from aggro.checks import check_choice, check_count, near
from aggro.settings import AXES, Settings, Task, check_settings, class_task
from aggro.variants import LINEAR, find, losses_of

OVERFLOWS = ("drop", "hash")


def keywords_of(algorithm: str, regression: bool, params: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a published variant; ``params`` override the row's."""
    row = find(algorithm)
    kind = LINEAR.get(row.estimator)
    if kind is None or kind.regression != regression:
        task = "regression" if regression else "classification"
        raise ValueError(
            f"{row.name!r} is not a linear variant of {task}, but of aggro.{row.estimator}."
        )
    for name in params:
        if name not in AXES:
            raise TypeError(f"{name!r} is not a setting.{near(name, AXES)}")
    return {**kind.keywords(row.params), **params}


def settings_of(keywords: dict[str, Any], regression: bool, classes: int = 2) -> Settings:
    """Return the checked settings for this many classes."""
    task: Task = "regression" if regression else class_task(classes)
    settings = Settings(task=task, **keywords)
    check_settings(settings, losses_of(regression))
    return settings


def refuse_races(params: dict[str, Any]) -> None:
    """Raise where more than C is left to a race, which only the estimators can."""
    for name in ("metric", "scale"):
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
