"""aggro: variants of C="auto", every fixed C of the same grid, and the default."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from aggro.learner import Learner, rows_of
from aggro.selection.search_space import first_steps, grid_of
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings
from aggro.variants import ESTIMATORS
from studies.accuracy.data import Problem

CHUNK = 16  # rows per call, as with partial_fit on small batches
EPSILON = 0.0  # in regression, since other values would need tuning
MARKS = (2000, 5000)  # rows at which errors are recorded, for slow libraries

RECOMMENDED = "auto all"
ONLY_C = "auto diagonal average"  # selects among the models of the fixed grids below
ALL = {"metric": "auto", "scale": "auto", "average": "auto"}
LOSSES = {  # classification and regression
    "plain": ("hinge", "epsilon_insensitive"),
    "squared": ("squared_hinge", "squared_epsilon_insensitive"),
    "recommended": tuple(
        ESTIMATORS[kind].fixed["loss"] for kind in ("AutoClassifier", "AutoRegressor")
    ),
}
SPELLINGS: dict[str, dict[str, Any]] = {
    RECOMMENDED: ALL | {"loss": "recommended"},
    "auto all plain": ALL,
    "auto all squared": ALL | {"loss": "squared"},
    "auto diagonal all": ALL | {"metric": "diagonal"},
    ONLY_C: {"metric": "diagonal", "average": "auto"},
    "auto diagonal": {"metric": "diagonal"},
    "auto euclidean average": {"average": "auto"},
}
FIXED: dict[str, dict[str, Any]] = {
    "fixed diagonal": {"metric": "diagonal"},
    "fixed diagonal mean": {"metric": "diagonal", "average": True},
}


def settings(p: Problem, C: Any, loss: str = "plain", **axes: Any) -> Settings:
    """Return the settings of an estimator with its defaults and these keywords."""
    loss = LOSSES[loss][p.is_regression]
    if p.is_regression:
        return Settings(task=p.task, C=C, loss=loss, **{"epsilon": EPSILON} | axes)
    axes.pop("epsilon", None)
    axes = {"intercept_scaling": "auto", **axes}
    return Settings(task=p.task, C=C, loss=loss, multiclass="support", **axes)


def targets_of(p: Problem) -> dict[str, np.ndarray]:
    """Return the targets in the format of a learner."""
    if p.is_regression:
        return {"values": np.ascontiguousarray(p.y, np.float64)[:, None]}
    return {"labels": p.y.astype(np.int64)}


def auto(p: Problem, order: int, **axes: Any) -> dict[str, Any]:
    """Learn with C="auto"; return the error of the best candidates, also at the marks."""
    selection = ModelSelection(
        settings(p, "auto", **axes), p.X.shape[1], max(p.classes, 1), p.X.dtype
    )
    rows, targets, noted = rows_of(p.X), targets_of(p), {}
    cuts = sorted({*range(0, p.rows, CHUNK), *(m for m in MARKS if m < p.rows), p.rows})
    for start, end in pairwise(cuts):
        selection.learn(rows, order=p.orders[order][start:end], undo=False, **targets)
        total = selection.distance if p.is_regression else selection.mistakes
        if end in MARKS:
            noted[str(end)] = total
    result = {"error": total / p.scale(order), "C": selection.C}
    result |= {mark: sum_ / p.scale(order, int(mark)) for mark, sum_ in noted.items()}
    return result


def fixed(p: Problem, order: int, **axes: Any) -> dict[str, Any]:
    """Learn with every C of the grid in one pass; return the error of each."""
    one = settings(p, 1.0, **axes)
    target = float(np.mean(np.abs(p.y[p.orders[order][:1000]]))) if p.is_regression else 1.0
    grid = grid_of(one, first_steps(one, 1.0 / p.unit() - 1.0, target))
    return {"C": grid, "errors": _errors(p, order, [settings(p, C, **axes) for C in grid])}


def default(p: Problem, order: int) -> dict[str, Any]:
    """Learn with C=1 and defaults."""
    model = _learned(p, order, [settings(p, 1.0, epsilon=0.1, average="auto")]).model
    return {"error": model.chosen_record[p.is_regression] / p.scale(order)}


def _errors(p: Problem, order: int, candidates: list[Settings]) -> list[float]:
    """Return the progressive error of each candidate."""
    column = 2 if p.is_regression else 0
    records = _learned(p, order, candidates).model.records
    return [record[column] / p.scale(order) for record in records]


def _learned(p: Problem, order: int, candidates: list[Settings]) -> Learner:
    learner = Learner(candidates, p.X.shape[1], max(p.classes, 1), p.X.dtype)
    learner.learn(rows_of(p.X), order=p.orders[order], undo=False, **targets_of(p))
    return learner


METHODS = {
    **{name: lambda p, o, axes=axes: auto(p, o, **axes) for name, axes in SPELLINGS.items()},
    **{name: lambda p, o, axes=axes: fixed(p, o, **axes) for name, axes in FIXED.items()},
    "C=1": default,
}
# variants that were not chosen are compared on this number of orders
ORDERS = dict.fromkeys([name for name in SPELLINGS if name not in (RECOMMENDED, ONLY_C)], 2)
