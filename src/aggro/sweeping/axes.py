"""The axes of a sweep: every combination of the given values, checked before learning."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from aggro.settings import AXES, Settings, Task, check_settings, selected_axes
from aggro.sweeping.result import SweepRow
from aggro.variants import ESTIMATORS, PLAIN, Variant, find, keywords_of

NAMES = {*AXES, "algorithm"}


def read_axes(axes: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the values of every axis; raise if an axis is unknown or has no values."""
    for name in axes:
        if name not in NAMES:
            raise TypeError(f"sweep has no axis {name!r}; the axes are {', '.join(sorted(NAMES))}.")
    lists = {name: _values(name, given) for name, given in axes.items()}
    if "algorithm" in lists:
        lists["algorithm"] = [find(name).name for name in lists["algorithm"]]
    if len(lists.get("criterion", ())) > 1:
        raise ValueError("sweep ranks all settings by one error; give one criterion.")
    return lists


def _values(name: str, given: Any) -> list[Any]:
    several = isinstance(given, Iterable) and not isinstance(given, str) and not _is_scalar(given)
    values = [v.item() if _is_scalar(v) else v for v in (given if several else [given])]
    if not values:
        raise ValueError(f"{name} has no values; give at least one, or leave {name} out.")
    return values


def _is_scalar(value: Any) -> bool:
    """Return whether a value is a scalar of NumPy."""
    return isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0


def rows_for(axes: dict[str, list[Any]], task: Task) -> list[SweepRow]:
    """Return a row for every distinct combination."""
    rows: dict[Any, SweepRow] = {}
    for values in product(*axes.values()):
        row = _row(dict(zip(axes, values, strict=True)), task)
        rows.setdefault((row.params.get("algorithm"), row.settings), row)
    found = list(rows.values())
    for name in axes:
        if not any(name in row.params for row in found):
            kinds = ", ".join(sorted({_variant(row.params, task).estimator for row in found}))
            raise TypeError(f"There is nothing to sweep: {kinds} has no {name}; leave it out.")
    _tell_apart(found)
    return found


def _row(params: dict[str, Any], task: Task) -> SweepRow:
    variant, regression = _variant(params, task), task == "regression"
    kind = ESTIMATORS[variant.estimator]
    # Drop axes that the variant does not have.
    params = {k: v for k, v in params.items() if k in {"algorithm", *kind.axes}}
    given = {k: v for k, v in params.items() if k != "algorithm"}
    settings = Settings(task=task, **keywords_of(variant.name, regression, given))
    for name in selected_axes(settings):
        raise ValueError(
            f"sweep compares values, and {name}='auto' is none; give a list of them, or use "
            f"{name}='auto' in an estimator, which chooses while it learns."
        )
    if settings.features != "linear":
        raise ValueError(
            f"sweep compares linear models; transform X with aggro.FeatureMap instead of "
            f"features={settings.features!r}."
        )
    check_settings(settings, kind.losses)
    return SweepRow(params, settings)


def _variant(params: dict[str, Any], task: Task) -> Variant:
    """Return the catalogue row that these parameters modify."""
    regression = task == "regression"
    variant = find(params.get("algorithm", PLAIN[regression]))
    if ESTIMATORS[variant.estimator].kernel:
        raise ValueError(f"{variant.name} is a kernel learner; sweep learns linear variants.")
    if ESTIMATORS[variant.estimator].regression != regression:
        what, other = ("numbers", "classes") if regression else ("classes", "numbers")
        raise ValueError(
            f"{variant.name} learns {other}, and y holds {what}; choose variants such as "
            f"{PLAIN[regression]}, or say what y is with task."
        )
    return variant


def _tell_apart(rows: list[SweepRow]) -> None:
    """Increase the number of digits until all names differ."""
    for digits in range(3, 18):
        for row in rows:
            row.digits = digits
        if len({row.name for row in rows}) == len(rows):
            return
