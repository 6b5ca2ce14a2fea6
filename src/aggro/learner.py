"""The only Python object that touches the compiled core: rows in, scores out, state in between."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro import _core
from aggro.rules import Settings

Array = npt.NDArray[Any]


def rows_of(X: Any) -> _core.Rows:
    """View a C-ordered array or a CSR matrix as rows, without copying."""
    if hasattr(X, "indptr"):
        return _core.Rows(X.data, X.indices, X.indptr, X.shape[1])
    return _core.Rows(X)


@dataclass
class Progress:
    """What a learner has lived through; each example judged before it was learned."""

    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0


class Learner:
    """A linear model that learns one variant.

    ``outputs`` is the number of classes (2 for a binary task), labels or target columns.
    """

    def __init__(
        self,
        settings: Settings,
        features: int,
        outputs: int,
        dtype: npt.DTypeLike = np.float64,
        seed: int = 0,
    ) -> None:
        self.settings = settings
        self.outputs = 1 if settings.task == "binary" else outputs
        self.dtype = np.dtype(dtype)
        self.past = Progress()
        shape, own_sum = self._shape(features)
        make = _core.Model32 if self.dtype == np.float32 else _core.Model64
        self.model = make(shape, self._groups(), own_sum)
        self.model.average_from(self._average_from())
        self.model.seed(seed)

    # -- learning and predicting ------------------------------------------------------------

    def learn(
        self,
        rows: _core.Rows,
        *,
        labels: Array | None = None,
        values: Array | None = None,
        weights: Array | None = None,
        order: Array | None = None,
    ) -> None:
        """Learn rows in the given order, by class label or by target values."""
        self.model.learn(rows, labels, values, weights, order, self.settings.batch_size)

    def scores(self, rows: _core.Rows) -> Array:
        """Return one row per example and one column per output."""
        return self.model.score(rows)

    def freeze_means(self, frozen: bool = True) -> None:
        """Stop the class means from moving, or let them move again."""
        self.model.freeze_means(frozen)

    def configure(self, settings: Settings) -> None:
        """Take over new prices (C, epsilon, class_mean ...) for what comes; the past stays."""
        self.settings = settings
        self.model.set_groups(self._groups())

    # -- what was learned -------------------------------------------------------------------

    @property
    def features(self) -> int:
        """Number of features."""
        return self.model.features

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        return self.model.examples

    def coef(self) -> Array:
        """Return the weights that predict, outputs x features: in place where that is possible."""
        plain = self.settings.average is False and self.settings.class_mean == 0
        weights = self.model.weights_view() if plain else self.model.weights()
        return weights.T

    def intercept(self) -> Array:
        """Return the intercepts that predict."""
        return self.model.bias().astype(self.dtype)

    def set_coef(self, coef: Array, intercept: Array) -> None:
        """Start from these weights, outputs x features, and intercepts."""
        self.model.weights_view()[...] = np.asarray(coef, dtype=self.dtype).T
        self.model.set_bias(np.asarray(intercept, dtype=np.float64).tolist())

    @property
    def progress(self) -> Progress:
        """Mistakes, updates and loss so far."""
        mistakes, updates, loss = (sum(column) for column in zip(*self.model.tallies, strict=True))
        if self._vote() is not _core.Vote.each:
            mistakes = self.model.joint_mistakes
        past = self.past
        return Progress(past.mistakes + mistakes, past.updates + updates, past.loss + loss)

    def state(self) -> dict[str, Array]:
        """Return every array of the state by name."""
        return self.model.state()

    def load_state(self, state: dict[str, Array]) -> None:
        """Put back what ``state`` gave."""
        self.model.load_state(state)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "model"}
        return {**kept, "features": self.features, "state": self.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        Learner.__init__(self, kept["settings"], kept["features"], kept["outputs"], kept["dtype"])
        self.past = kept["past"]
        self.load_state(kept["state"])

    # -- how the settings look in the core --------------------------------------------------

    def _shape(self, features: int) -> tuple[_core.Shape, list[int]]:
        s = self.settings
        reservoir = s.average == "reservoir"
        averages = not reservoir and s.average is not False and s.average > 0
        one_margin = not (s.task == "multiclass" and s.multiclass != "ovr")
        sums = self.outputs if s.class_mean > 0 else 0
        if s.metric == "full":
            self._check_memory(features)
        shape = _core.Shape(
            features=features,
            outputs=self.outputs,
            intercept=s.fit_intercept,
            metric=getattr(_core.Metric, s.metric),
            predictor=getattr(
                _core.Predictor, "reservoir" if reservoir else "average" if averages else "last"
            ),
            sums=sums,
            total=sums > 0 and one_margin,
            queue=s.queue,
            reservoir=s.reservoir_size if reservoir else 0,
            vote=self._vote(),
        )
        return shape, list(range(self.outputs))

    def _groups(self) -> list[_core.Group]:
        s = self.settings
        common = {"rule": s.rule(), "gamma": s.class_mean, "always": s.trigger == "always"}
        margin = _core.Task.margin
        if s.task == "binary":
            return [_core.Group(first=0, count=1, task=margin, positive=1, **common)]
        if s.task == "multiclass" and s.multiclass != "ovr":
            task = getattr(_core.Task, s.multiclass)
            return [_core.Group(first=0, count=self.outputs, task=task, positive=0, **common)]
        task = _core.Task.tube if s.task == "regression" else margin
        return [
            _core.Group(first=k, count=1, task=task, positive=k, **common)
            for k in range(self.outputs)
        ]

    def _vote(self) -> _core.Vote:
        s = self.settings
        if s.task == "multilabel":
            return _core.Vote.all
        ovr = s.task == "multiclass" and s.multiclass == "ovr"
        return _core.Vote.argmax if ovr else _core.Vote.each

    def _average_from(self) -> int:
        average = self.settings.average
        return 0 if isinstance(average, (bool, str)) else max(0, int(average) - 1)

    def _check_memory(self, features: int) -> None:
        size = features + self.settings.fit_intercept
        needed = len(self._groups()) * size * (size + 1) / 2 * self.dtype.itemsize / 2**30
        if needed > _memory_gib():
            raise MemoryError(
                f"metric='full' on {features} features needs {needed:.1f} GiB for its matrices, but "
                f"this machine has {_memory_gib():.1f} GiB; use metric='diagonal' or fewer features."
            )


def _memory_gib() -> float:
    """Return the memory of the machine, or no limit where it cannot be told."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (AttributeError, ValueError, OSError):
        return float("inf")
