"""Sweeps: many settings learned in one pass, each with its progressive error and curve."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np

from aggro.checks import check_choice, check_count, threads_of
from aggro.learner import Array, Learner, rows_of
from aggro.selection.learners import select
from aggro.settings import (
    AXES,
    Settings,
    Task,
    check_settings,
    error_name,
    selected_axes,
    shared_layout,
)
from aggro.sklearn_api import check_random_state, check_seed
from aggro.sweeping.data import Data, Part, open_data
from aggro.variants import ESTIMATORS, PLAIN, Variant, find, keywords_of

TASKS = get_args(Task)
NAMES = {*AXES, "algorithm"}
SHORT_NAMES = {"mistakes": "error", "absolute error": "|error|", "squared error": "error²"}


# -- result ------------------------------------------------------------------------------------


@dataclass
class SweepRow:
    """One setting and its results; lists have an entry per order."""

    params: dict[str, Any]
    settings: Settings
    errors: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    curve: list[tuple[int, float]] = field(default_factory=list)
    digits: int = 3  # digits of numbers in the name

    @property
    def error(self) -> float:
        """Mean progressive error: error rate, or for regression the error that ``criterion`` names.

        Rows count by their weights.
        """
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the error over the orders."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0

    @property
    def name(self) -> str:
        """The swept parameters as text."""
        shown = (f"{k}={self._short(v)}" for k, v in self.params.items())
        return ", ".join(shown) or "defaults"

    def _short(self, value: Any) -> str:
        return f"{value:.{self.digits}g}" if isinstance(value, float) else str(value)


class SweepResult:
    """The result of ``sweep``: prints as a table, plots, and returns any of its models.

    Attributes
    ----------
    rows : list of SweepRow
        One for each setting.
    examples : int
        Number of rows learned in a pass.
    orders : int
        Number of random orders.
    constant_error : float or None
        Error of the best constant prediction (the most frequent class, the median, or for squared
        errors the mean); None if rows have several labels.
    """

    def __init__(
        self,
        rows: list[SweepRow],
        examples: int,
        orders: int,
        passes: int,
        task: Task,
        classes: Array | None,
        names: Array | None = None,
        constant_error: float | None = None,
    ) -> None:
        self.rows = rows
        self.examples = examples
        self.orders, self._passes = orders, passes
        self._task, self._classes, self._names = task, classes, names
        self.constant_error = constant_error
        self._homes: dict[int, tuple[Learner, int]] = {}

    @property
    def best(self) -> SweepRow:
        """The row with the least progressive error; the loss decides between equals."""
        return min(self.rows, key=lambda row: (row.error, float(np.mean(row.losses))))

    def model(self, row: SweepRow | int | None = None) -> Any:
        """Return one of the models (the best by default) as a fitted estimator."""
        chosen = self.best if row is None else self.rows[row] if isinstance(row, int) else row
        learner, which = self._homes[self.rows.index(chosen)]
        model = self._unfitted(chosen.params)
        alone = select(learner, [which], [chosen.settings])
        names = None if self._names is None else self._names.copy()
        return model._adopt(alone, self._classes, self._passes, names)

    def _unfitted(self, params: dict[str, Any]) -> Any:
        """Return the scikit-learn estimator that has these parameters."""
        given = {name: value for name, value in params.items() if name != "algorithm"}
        plain = find(params.get("algorithm", PLAIN[self._task == "regression"]))
        return plain.make(**given)

    def __str__(self) -> str:
        width = max(7, *(len(row.name) for row in self.rows))
        unit = SHORT_NAMES[error_name(self.rows[0].settings)]
        head = f"{'setting':<{width}}  {unit:>9}  {'± orders':>9}  {'loss':>9}  {'updates':>9}"
        lines = [head]
        for row in self.rows:
            mark = "  *" if row is self.best else ""
            error = f"{row.error:9.2%}" if unit == "error" else f"{row.error:9.4g}"
            spread = f"{row.spread:9.2%}" if unit == "error" else f"{row.spread:9.2g}"
            lines.append(
                f"{row.name:<{width}}  {error}  {spread if self.orders > 1 else '':>9}  "
                f"{np.mean(row.losses):9.4g}  {np.mean(row.updates):9.0f}{mark}"
            )
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None, *, against: str = "C") -> Any:
        """Draw the error against one parameter and the curves over time; return the figure."""
        from aggro.plot import draw_sweep

        return draw_sweep(self, path, against)


# -- axes --------------------------------------------------------------------------------------


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
            f"sweep compares values, so {name}='auto' is not possible; give a list of values, or "
            f"use {name}='auto' in an estimator, which selects while it learns."
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


# -- learning ----------------------------------------------------------------------------------


def sweep(
    X: Any,
    y: Any = None,
    *,
    task: Task | None = None,
    orders: int = 1,
    passes: int = 1,
    random_state: Any = 0,
    n_jobs: int | None = None,
    **axes: Any,
) -> SweepResult:
    """Train every combination of the given settings in one pass and return their results.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features), path, or files
        Rows, in the order in which they arrive. A path, a list of paths or patterns, or the result
        of ``aggro.io.read`` is read batch by batch and may be larger than memory. It is read
        once to find out what it contains and once for each pass.
    y : array, optional
        Classes, an indicator matrix, or regression targets. Files contain their own labels and
        weights.
    task : {"binary", "multiclass", "multilabel", "regression"}, optional
        The type of problem. By default it is inferred from y: floats that are not whole numbers,
        or that take many values, mean regression.
    orders : int, default=1
        With more than one, the rows are learned in this many random orders (arrays only).
    passes : int, default=1
        Number of passes over the rows. The errors are those of the first pass.
    random_state : int, RandomState or None, default=0
        Seed for the random orders; None draws another one in each call.
    n_jobs : int, default=None
        Number of threads that share the settings. None means one, -1 means all cores. The result
        does not depend on it.
    **axes
        A value or a list of values for any axis: ``C``, ``loss``, ``multiclass``, ``metric``,
        ``class_mean``, ``trigger``, ``queue``, ``batch_size``, ``average``, ``epsilon``,
        ``fit_intercept`` ...; or ``algorithm``, names from the catalogue that suit the task; an
        axis then counts for those variants that have it. Values only: what "auto" leaves open is
        chosen by the estimators.

    Examples
    --------
    >>> import aggro
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = aggro.sweep(X, y, C=0.1, scale=["none", "standard"], orders=3)
    >>> result.best.params
    {'C': 0.1, 'scale': 'standard'}
    """
    check_count("orders", orders)
    check_count("passes", passes)
    check_seed(random_state)
    lists, threads = read_axes(axes), threads_of(n_jobs)
    if task is not None:
        check_choice("task", task, TASKS)
    data = open_data(X, y, task, orders)
    rows = rows_for(lists, data.task)
    facts = (data.task, data.classes, data.names)
    measured = error_name(rows[0].settings)
    constant = None if data.constant is None else data.constant.error(measured)
    result = SweepResult(rows, data.count, orders, passes, *facts, constant)
    bundles = _bundles(rows)
    for order in _orders(data.count, orders, random_state):
        runs = [_Run([rows[i] for i in members], data, threads) for members in bundles]
        for _ in range(passes):
            for part in data.parts(order):
                with rows_counted_from(part.first):
                    for run in runs:
                        run.learn(part)
        for members, run in zip(bundles, runs, strict=True):
            run.learner.freeze_means(False)  # later rows are new
            result._homes.update({i: (run.learner, at) for at, i in enumerate(members)})
    return result


@contextmanager
def rows_counted_from(first: int) -> Iterator[None]:
    """Make error messages count rows from the beginning of the data."""
    try:
        yield
    except ValueError as error:
        row = re.compile(r"^row (\d+)")
        raise ValueError(row.sub(lambda m: f"row {int(m[1]) + first}", str(error))) from None


def _bundles(rows: list[SweepRow]) -> list[list[int]]:
    """Group the settings that can be learned in one loop."""
    groups: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(shared_layout(row.settings), []).append(i)
    return list(groups.values())


def _orders(count: int, orders: int, seed: Any) -> Iterator[Array | None]:
    random = check_random_state(seed)
    for _ in range(orders):
        yield None if orders == 1 else random.permutation(count)


def _checkpoints(count: int, batch: int) -> list[int]:
    """Return the points of the curve: powers of two, at ends of mini-batches."""
    points = [int(count * 2.0**-k) // batch * batch for k in range(8, 0, -1)]
    return sorted({p for p in points if p > 0} | {count})


class _Run:
    """Trains a group of settings and records their errors."""

    def __init__(self, rows: list[SweepRow], data: Data, threads: int) -> None:
        settings = [row.settings for row in rows]
        self.rows, self.count, self.threads = rows, data.count, threads
        self.learner = Learner(settings, data.features, data.outputs, data.dtype)
        self.points = _checkpoints(data.count, self.learner.settings.batch_size)
        self.seen = 0
        self.waiting: Part | None = None  # an incomplete mini-batch
        for row in rows:
            row.curve = []

    def learn(self, part: Part) -> None:
        """Learn rows in complete mini-batches; only the last of a pass may be smaller."""
        if self.waiting is not None:
            part, self.waiting = self.waiting.joined(part), None
        whole, start, rows = self._ready(len(part.order)), 0, rows_of(part.X)
        while start < whole:
            end = min(whole, start + self._until_checkpoint())
            batch = {**part.targets, "order": part.order[start:end], "threads": self.threads}
            self.learner.learn(rows, undo=False, **batch)
            self.seen, start = self.seen + end - start, end
            self._note()
        if whole < len(part.order):
            self.waiting = part.rest(whole)

    def _ready(self, rows: int) -> int:
        batch = self.learner.settings.batch_size
        return rows if self.seen % self.count + rows == self.count else rows // batch * batch

    def _until_checkpoint(self) -> int:
        return self.points[0] - self.seen if self.points else self.count

    def _note(self) -> None:
        if not self.points or self.seen < self.points[0]:
            return
        self.points.pop(0)
        for row, error in zip(self.rows, self._errors(), strict=True):
            row.curve.append((self.seen, error))
        if not self.points:
            self._finish()

    def _errors(self) -> list[float]:
        """Return the weighted progressive error of each setting."""
        regression = self.learner.settings.task == "regression"
        column, parts = (2, self.learner.outputs) if regression else (1, 1)
        return [record[column] / record[3] / parts for record in self.learner.model.records]

    def _finish(self) -> None:
        """Record the results of the first pass; later passes are not tests."""
        for which, row in enumerate(self.rows):
            progress = self.learner.progress_of(which)
            row.errors.append(row.curve[-1][1])
            row.losses.append(progress.loss / self.count)
            row.updates.append(progress.updates)
        self.learner.freeze_means()
