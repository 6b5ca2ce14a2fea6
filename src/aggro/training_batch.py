"""A lesson: rows, and what comes with them, read and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aggro import _core
from aggro.kernel_learner import KernelLearner
from aggro.learner import Array, rows_of
from aggro.reference_row import ReferenceRow
from aggro.selection.selection import ModelSelection


@dataclass
class TrainingBatch:
    """Rows and what they teach a learner of any kind.

    ``parts`` are ``labels`` or ``values``, and ``weights``; threads share the work where they can.
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
        """The same, looked at once: no pass will look again whether they are in order."""
        self.rows.inspect()
        return self.rows

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
        """Return the rows that have a weight, in an order."""
        order = np.arange(self.count) if order is None else order
        return order if self.weights is None else order[self.weights[order] > 0]

    def teach(
        self,
        learner: Any,
        order: Array | None = None,
        *,
        again: bool = False,
        undo: bool = False,
        **watch: Any,
    ) -> None:
        """Let a learner learn the rows in an order; ``again``: it knows them from the last call.

        Without ``undo``, who calls it throws a linear learner away when it fails, or undoes it.
        """
        if isinstance(learner, KernelLearner):
            learner.learn_rows(self.X, self.parts, order, again, **watch)
        else:
            rows, parts = self.known_rows if again else self.rows, self.parts
            if again and isinstance(learner, ModelSelection):
                watch["again"] = True
            learner.learn(rows, order=order, undo=undo, threads=self.threads, **parts, **watch)

    def watch(self, learner: Any, typical: ReferenceRow | None, order: Array, again: bool) -> Array:
        """Teach; return the scores of each row, and of a typical one, before it was learned."""
        margins = np.zeros((len(order), 2, learner.outputs))
        if typical is None:
            scores = np.empty((len(order), learner.outputs))
            self.teach(learner, order, again=again, margins=scores)
            margins[:, 0] = scores
        else:
            row = typical.rows(learner.features)
            self.teach(learner, order, again=again, typical=row, margins=margins)
        return margins

    def undone_if_cut(self, learner: Any) -> UndoneIfCut:
        """Undo what a learner has learned of some rows when the learning of all of them ends."""
        return UndoneIfCut(self.snapshot(learner))

    def snapshot(self, learner: Any) -> Callable[[], None]:
        """Return what restores a learner after it has learned the rows, any number of times.

        It keeps a copy of what these rows change: at most of everything the learner knows.
        """
        rows = self.X if isinstance(learner, KernelLearner) else self.rows
        restore: Callable[[], None] = learner.before(rows, **self.parts)
        return restore


@dataclass(frozen=True)
class UndoneIfCut:
    """A block that is undone when it raises.

    No generator: one that an interrupt leaves unfinished would undo the block when it is freed.
    """

    restore: Callable[[], None]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self.restore()


def as_numbers(values: Any, name: str) -> Array:
    """Return values as doubles; raise with their name if they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from None


def read_weights(sample_weight: Any, count: int, each: str = "row") -> Array | None:
    """Return one weight for each row (or text); one number counts for all, None means none."""
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
