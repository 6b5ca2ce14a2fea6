"""Rows together with their targets and weights, validated and ready to be learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggro import _core
from aggro.kernel_learner import KernelLearner
from aggro.learner import Array, rows_of
from aggro.reference_row import ReferenceRow
from aggro.selection.selection import ModelSelection
from aggro.transaction import Checkpoint


@dataclass
class TrainingBatch:
    """Rows, targets and weights for a learner of any kind.

    Parameters
    ----------
    X : array or CSR matrix
        Rows in the format of the core.
    parts : dict
        ``labels`` (numbers of classes) or ``values`` (a column per output), and ``weights``.
    threads : int
        Maximum number of threads.
    """

    X: Any
    parts: dict[str, Any]
    threads: int = 1

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @cached_property
    def rows(self) -> _core.Rows:
        """The rows as a linear learner reads them."""
        return rows_of(self.X)

    @cached_property
    def known_rows(self) -> _core.Rows:
        """The same rows with checked indices, so that later passes need not check them."""
        self.rows.inspect()
        return self.rows

    def rows_at(self, numbers: Array) -> Any:
        """Return the rows of these numbers, for predictions."""
        return rows_of(self.X[numbers])

    @property
    def targets(self) -> Array:
        """The number of the class of each row, or its values."""
        labels = self.parts.get("labels")
        return np.asarray(self.parts["values"] if labels is None else labels)

    @property
    def weights(self) -> Array | None:
        """The weights of the rows."""
        return self.parts.get("weights")

    def counted(self, order: Array | None = None) -> Array:
        """Return the rows of positive weight, in an order."""
        order = np.arange(self.count) if order is None else order
        return order if self.weights is None else order[self.weights[order] > 0]

    def train(
        self,
        learner: Any,
        order: Array | None = None,
        *,
        again: bool = False,
        undo: bool = False,
        **record: Any,
    ) -> None:
        """Train a learner on the rows in an order.

        ``again``: the learner has learned them in an earlier pass. Without ``undo``, the caller
        must discard or restore a linear learner if this raises.
        """
        if isinstance(learner, KernelLearner):
            learner.learn_rows(self.X, self.parts, order, again, **record)
            return
        rows = self.known_rows if again else self.rows
        if again and isinstance(learner, ModelSelection):
            record["again"] = True
        learner.learn(rows, order=order, undo=undo, threads=self.threads, **self.parts, **record)

    def record_margins(
        self, learner: Any, reference: ReferenceRow | None, order: Array, again: bool
    ) -> Array:
        """Learn rows; return the scores of each, and of the reference row, before it was learned.

        The result has the shape rows x 2 x outputs; without a reference row its scores are zero.
        """
        margins = np.zeros((len(order), 2, learner.outputs))
        if reference is None:
            scores = np.empty((len(order), learner.outputs))
            self.train(learner, order, again=again, margins=scores)
            margins[:, 0] = scores
        else:
            row = reference.rows(learner.features)
            self.train(learner, order, again=again, reference=row, margins=margins)
        return margins

    def checkpoint(self, learner: Any) -> Checkpoint:
        """Return a function that restores a learner after any number of passes over the rows.

        It copies only what these rows change.
        """
        rows = self.X if isinstance(learner, KernelLearner) else self.rows
        restore: Checkpoint = learner.checkpoint(rows, **self.parts)
        return restore


def as_numbers(values: Any, name: str) -> Array:
    """Return values as doubles; raise if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from None


def read_weights(sample_weight: Any, count: int, each: str = "row") -> Array | None:
    """Return one weight per row (or text); a single number applies to all, None means none."""
    if sample_weight is None:
        return None
    weights = as_numbers(sample_weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, expected ({count},): one for each {each}."
        )
    if not np.isfinite(weights).all():
        row = int(np.argmin(np.isfinite(weights)))
        raise ValueError(
            f"sample_weight contains NaN or infinity (row {row}: {weights[row]}); give finite "
            "weights."
        )
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise ValueError(
            f"sample_weight contains a negative weight (row {row}: {weights[row]}); weights "
            "multiply C and must be zero or more."
        )
    return weights
