"""Many settings in one pass: learned side by side, each with its progressive error and curve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from aggro.bundle import same_shape, select
from aggro.learner import Array, Learner, rows_of
from aggro.rules import CLASSIFIER_LOSSES, LOSSES, REGRESSOR_LOSSES, Settings, Task, check_settings
from aggro.threads import threads_of
from aggro.variants import find

AXES = Settings.__dataclass_fields__.keys() - {"task"}
COLUMNS = ("error", "loss", "updates")


@dataclass
class SweepRow:
    """One setting and what it lived through; an entry of each list per order."""

    params: dict[str, Any]
    settings: Settings
    errors: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    curve: list[tuple[int, float]] = field(default_factory=list)

    @property
    def error(self) -> float:
        """Mean progressive error: wrong predictions, or absolute error for regression."""
        return float(np.mean(self.errors))

    @property
    def spread(self) -> float:
        """Standard deviation of the error over the orders."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) > 1 else 0.0

    @property
    def name(self) -> str:
        """The parameters that were swept, as text."""
        return ", ".join(f"{k}={_short(v)}" for k, v in self.params.items()) or "defaults"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


class SweepResult:
    """What ``sweep`` found: prints as a table, plots, and returns any of its models."""

    def __init__(self, rows: list[SweepRow], examples: int, orders: int, data: _Data) -> None:
        self.rows = rows
        self.examples = examples
        self.orders = orders
        self._data = data
        self._homes: dict[int, tuple[Learner, int]] = {}

    @property
    def best(self) -> SweepRow:
        """The row with the least progressive error; the loss decides between equals."""
        return min(self.rows, key=lambda row: (row.error, float(np.mean(row.losses))))

    def model(self, row: SweepRow | int | None = None) -> Any:
        """Return one of the models (the best by default) as a fitted estimator."""
        chosen = self.best if row is None else self.rows[row] if isinstance(row, int) else row
        learner, which = self._homes[self.rows.index(chosen)]
        return self._data.estimator(chosen, select(learner, [which], [chosen.settings]))

    def __str__(self) -> str:
        width = max(7, *(len(row.name) for row in self.rows))
        unit = "error" if self._data.task != "regression" else "|error|"
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
        from aggro.sweeping_plot import draw

        return draw(self, path, against)


@dataclass
class _Data:
    """Rows, targets and what they are."""

    X: Any
    task: Task
    lesson: dict[str, Array]
    classes: Array | None
    outputs: int

    @property
    def count(self) -> int:
        return int(self.X.shape[0])

    def estimator(self, row: SweepRow, learner: Learner) -> Any:
        """Wrap a learner as the scikit-learn estimator of its settings."""
        from aggro.linear import PassiveAggressiveClassifier, PassiveAggressiveRegressor

        name = row.params.get("algorithm")
        params = {k: v for k, v in row.params.items() if k != "algorithm"}
        kind = (
            PassiveAggressiveRegressor if self.task == "regression" else PassiveAggressiveClassifier
        )
        model = find(name).make(**params) if name else kind(**params)
        return model._adopt(learner, self.classes, self.task == "multilabel")


def sweep(
    X: Any,
    y: Any,
    *,
    task: Task | None = None,
    orders: int = 1,
    passes: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    **axes: Any,
) -> SweepResult:
    """Learn every combination of the given settings side by side and return how each did.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Rows, in the order in which they arrive.
    y : array
        Classes, an indicator matrix, or targets of a regression.
    task : {"binary", "multiclass", "multilabel", "regression"}, optional
        What y is; by default told from its values: floats that are not whole, or that take many
        values, make a regression.
    orders : int, default=1
        With more than one, the rows are learned in this many random orders.
    passes : int, default=1
        Passes over the rows. The errors are those of the first.
    seed : int, default=0
        Seed of the orders.
    n_jobs : int, default=None
        Threads that share the settings: None is one, -1 all cores. The result is the same.
    **axes
        A value or a list of values for any axis: ``C``, ``loss``, ``multiclass``, ``metric``,
        ``class_mean``, ``trigger``, ``queue``, ``batch_size``, ``average``, ``epsilon``,
        ``fit_intercept`` ...; or ``algorithm``, names from the catalogue.

    Examples
    --------
    >>> import aggro
    >>> from sklearn.datasets import load_iris
    >>> result = aggro.sweep(*load_iris(return_X_y=True), C=[0.01, 0.1, 1.0], orders=3)
    >>> result.best.params
    {'C': 0.1}
    """
    data, threads = _read(X, y, task), threads_of(n_jobs)
    rows = list(
        {row.name: row for row in (_row(p, data.task) for p in _combinations(axes))}.values()
    )
    result = SweepResult(rows, data.count, orders, data)
    for order in _orders(data.count, orders, seed):
        for members in _bundles(rows):
            learner = _run(data, [rows[i] for i in members], order, passes, threads)
            result._homes.update({i: (learner, which) for which, i in enumerate(members)})
    return result


def _read(X: Any, y: Any, task: Task | None) -> _Data:
    from sklearn.utils import check_array

    from aggro.targets import read_classes, read_values

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    if task is None and _looks_continuous(np.asarray(y)):
        task = "regression"
    if task == "regression":
        values = read_values(y, X.shape[0])
        return _Data(X, "regression", {"values": values}, None, values.shape[1])
    y, multilabel = read_classes(y, X.shape[0])
    if multilabel:
        return _Data(X, "multilabel", {"values": y}, np.arange(y.shape[1]), y.shape[1])
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds one class only ({classes[0]!r}); two or more are needed.")
    kind: Task = "binary" if len(classes) == 2 else "multiclass"
    return _Data(X, kind, {"labels": labels.astype(np.int64)}, classes, len(classes))


def _looks_continuous(y: Array) -> bool:
    """Tell targets of a regression from class labels that happen to be floats."""
    if y.dtype.kind != "f" or not np.isfinite(y).all():
        return False
    return bool(np.any(y % 1 != 0)) or len(np.unique(y)) > max(20, len(y) // 10)


def _combinations(axes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in axes:
        if name not in AXES and name != "algorithm":
            listed = ", ".join(sorted(AXES | {"algorithm"}))
            raise TypeError(f"sweep has no axis {name!r}; the axes are {listed}.")
    lists = [v if isinstance(v, (list, tuple, np.ndarray)) else [v] for v in axes.values()]
    for values in product(*lists):
        yield {
            k: v.item() if isinstance(v, np.generic) else v
            for k, v in zip(axes, values, strict=True)
        }


def _row(params: dict[str, Any], task: Task) -> SweepRow:
    if "algorithm" in params:  # an axis that the variant does not have is no setting of it
        known = find(params["algorithm"]).make().get_params().keys() | {"algorithm"}
        params = {k: v for k, v in params.items() if k in known}
    named = {k: v for k, v in params.items() if k != "algorithm"}
    losses: Iterable[str] = REGRESSOR_LOSSES if task == "regression" else CLASSIFIER_LOSSES
    if task == "regression":
        named = {"loss": "epsilon_insensitive", "epsilon": 0.1, **named}
    if "algorithm" in params:
        named, losses = {**settings_of(params["algorithm"]), **named}, LOSSES
    settings = Settings(task=task, **named)
    check_settings(settings, losses)
    return SweepRow(params, settings)


def settings_of(name: str) -> dict[str, Any]:
    """Return the settings that make a variant of the catalogue; only linear ones have them."""
    import aggro

    variant = find(name)
    if variant.estimator.startswith("Kernel"):
        raise ValueError(f"{variant.name} is a kernel learner; sweep learns linear variants.")
    model = getattr(aggro, variant.estimator)(**variant.params)
    found = model._settings("regression" if variant.estimator.endswith("Regressor") else "binary")
    return {axis: getattr(found, axis) for axis in AXES if axis != "C"}


def _bundles(rows: list[SweepRow]) -> list[list[int]]:
    """Group the rows that can learn side by side."""
    groups: dict[Any, list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(same_shape(row.settings), []).append(i)
    return list(groups.values())


def _orders(count: int, orders: int, seed: int) -> Iterator[Array]:
    random = np.random.default_rng(seed)
    for _ in range(orders):
        yield np.arange(count) if orders == 1 else random.permutation(count)


def _checkpoints(count: int, batch: int) -> list[int]:
    """Return where the curve is noted: at powers of two, but never inside a mini-batch."""
    points = [int(count * 2.0**-k) // batch * batch for k in range(8, 0, -1)]
    return sorted({p for p in points if p > 0} | {count})


def _run(data: _Data, rows: list[SweepRow], order: Array, passes: int, threads: int) -> Learner:
    """Learn the rows of one bundle over one order, noting the error on the way."""
    learner = Learner([r.settings for r in rows], data.X.shape[1], data.outputs, data.X.dtype)
    lesson: dict[str, Any] = {**data.lesson, "rows": rows_of(data.X), "threads": threads}
    start = 0
    for row in rows:
        row.curve = []
    for end in _checkpoints(data.count, learner.settings.batch_size):
        learner.learn(order=order[start:end], undo=False, **lesson)
        start = end
        for row, error in zip(rows, _errors(learner, end), strict=True):
            row.curve.append((end, error))
    for which, row in enumerate(rows):
        progress = learner.progress_of(which)
        row.errors.append(row.curve[-1][1])
        row.losses.append(progress.loss / data.count)
        row.updates.append(progress.updates)
    for _ in range(passes - 1):
        learner.freeze_means()
        learner.learn(order=order, undo=False, **lesson)
    return learner


def _errors(learner: Learner, examples: int) -> list[float]:
    column = 2 if learner.settings.task == "regression" else 0
    return [
        record[column] / examples / (learner.outputs if column else 1)
        for record in learner.model.records
    ]
