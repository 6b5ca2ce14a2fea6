"""The options of a kernel learner: the kernel, its budget, and the groups of its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from aggro import _core
from aggro.checks import check_choice, check_count, check_number
from aggro.settings import Settings, classes_compete

KERNELS = ("rbf", "poly", "linear", "sigmoid", "precomputed")
STRATEGIES = ("simple", "nearest", "projection", "oldest")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel and its budget of support vectors."""

    kernel: str | Callable[..., Any] = "rbf"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    budget: int | None = None
    budget_strategy: str = "simple"

    def check(self, batch_size: int) -> None:
        """Raise a ValueError if an option is invalid."""
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_number("gamma", self.gamma, above=0, strict=False)
        check_count("degree", self.degree, least=0, most=1000)
        check_number("coef0", self.coef0, above=-inf)
        check_choice("budget_strategy", self.budget_strategy, STRATEGIES)
        if self.budget is None:
            return
        check_count("budget", self.budget)
        if self.budget < batch_size:
            raise ValueError(
                f"budget={self.budget} is not valid; it must hold at least one mini-batch, "
                f"batch_size={batch_size}."
            )

    @property
    def outside(self) -> bool:
        """Whether the kernel is computed by the caller, not by the core."""
        return callable(self.kernel) or self.kernel == "precomputed"

    def gamma_for(self, X: Any) -> float:
        """Return gamma as a number: 'scale' is 1 / (features * variance), 'auto' 1 / features."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto" or self.outside:
            return 1.0 / int(X.shape[1])
        if hasattr(X, "indptr"):
            squares = X.multiply(X).mean(dtype=np.float64)
            variance = float(squares - X.mean(dtype=np.float64) ** 2)
        else:
            variance = float(X.var(dtype=np.float64))
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0


def groups_of(s: Settings, outputs: int) -> list[Any]:
    """Return the groups of outputs of the core; a group is one optimisation problem.

    Two classes have one output: the score of the second, or of the only known one.
    """
    rule, margin = s.rule(), _core.Task.margin
    if s.task == "binary":
        return [_core.Group(first=0, count=1, task=margin, positive=outputs - 1, rule=rule)]
    if classes_compete(s):
        task = getattr(_core.Task, s.multiclass)
        return [_core.Group(first=0, count=outputs, task=task, positive=0, rule=rule)]
    task = _core.Task.tube if s.task == "regression" else margin
    columns = range(outputs)
    return [_core.Group(first=k, count=1, task=task, positive=k, rule=rule) for k in columns]


def vote_of(s: Settings) -> Any:
    """Return the definition of a mistake: of one output, of the best of several, or of any."""
    one_vs_rest = s.task == "multiclass" and s.multiclass == "ovr"
    votes = _core.Vote
    return votes.all if s.task == "multilabel" else votes.argmax if one_vs_rest else votes.each
