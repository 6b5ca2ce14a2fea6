"""Sweeps: many settings learned in one pass, each with its progressive error and curve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np

from aggro.checks import check_choice, check_count, threads_of
from aggro.learner import Array, Learner, rows_of
from aggro.settings import Task, error_name, shared_layout
from aggro.sweeping.axes import read_axes, rows_for
from aggro.sweeping.data import Data, Part, open_data
from aggro.sweeping.result import SweepResult, SweepRow

TASKS = get_args(Task)


def sweep(
    X: Any,
    y: Any = None,
    *,
    task: Task | None = None,
    orders: int = 1,
    passes: int = 1,
    random_state: int = 0,
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
    random_state : int, default=0
        Seed for the random orders.
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
    check_count("random_state", random_state, least=0)
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


def _orders(count: int, orders: int, seed: int) -> Iterator[Array | None]:
    random = np.random.default_rng(seed)
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
