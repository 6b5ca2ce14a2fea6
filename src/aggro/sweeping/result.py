"""The result of a sweep: a row per setting, as a table, a figure and models."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aggro.learner import Array, Learner
from aggro.selection.learners import select
from aggro.settings import Settings, Task, error_name
from aggro.variants import PLAIN, find

SHORT_NAMES = {"mistakes": "error", "absolute error": "|error|", "squared error": "error²"}


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
        from aggro.plot.sweep import draw

        return draw(self, path, against)
