"""The linear learner: the Python object around the models of the compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro import _core
from aggro.classes import output_map
from aggro.settings import CORE, METRICS, Settings, check_same_layout, classes_compete, memory_of
from aggro.transaction import Checkpoint

Array = npt.NDArray[Any]


def rows_of(X: Any) -> _core.Rows:
    """View a C-ordered array or a CSR matrix as rows, without copying."""
    if hasattr(X, "indptr"):
        return _core.Rows(X.data, X.indices, X.indptr, X.shape[1])
    return _core.Rows(X)


@dataclass
class Progress:
    """Counts of a learner; each example is predicted before it is learned."""

    mistakes: int = 0
    updates: int = 0
    loss: float = 0.0


class Learner:
    """Linear models that learn from the same rows; usually just one.

    ``outputs`` is the number of classes, labels or target columns. A binary task has two classes,
    or one known class, which is learned as positive until the second appears (see ``add_classes``).
    All settings must have the same layout (see ``check_same_layout``): one loop over a row then
    serves all of them.
    """

    def __init__(
        self,
        settings: Settings | Sequence[Settings],
        features: int,
        outputs: int,
        dtype: npt.DTypeLike = np.float64,
        seed: int = 0,
    ) -> None:
        self.all_settings = (settings,) if isinstance(settings, Settings) else tuple(settings)
        self.classes = outputs
        self.outputs = 1 if self.settings.task == "binary" else outputs
        self.dtype = np.dtype(dtype)
        self.representation = 0  # index of the representation of its rows in a model selection
        shape, own_sum = self._shape(features)
        make = _core.Model32 if self.dtype == np.float32 else _core.Model64
        self.model = make(shape, self._groups(), own_sum)
        self.model.average_from(self._average_from())
        if self.settings.average == "auto":
            self.model.set_memory(memory_of(self.settings))
        self.model.seed(seed)

    @property
    def settings(self) -> Settings:
        """The settings of the first model."""
        return self.all_settings[0]

    @property
    def models(self) -> int:
        """Number of models."""
        return len(self.all_settings)

    # -- learning and predicting ------------------------------------------------------------

    def learn(
        self,
        rows: _core.Rows,
        *,
        labels: Array | None = None,
        values: Array | None = None,
        weights: Array | None = None,
        order: Array | None = None,
        undo: bool = True,
        threads: int = 1,
        reference: _core.Rows | None = None,
        margins: Array | None = None,
    ) -> None:
        """Learn rows in the given order, by class label or by target values.

        A row that cannot be learned raises and leaves the learner unchanged. With ``undo=False``
        the caller must discard the learner, or restore it, if this raises. Threads share the
        independent outputs; the result does not depend on their number. ``margins``, rows x 2 x
        outputs, is filled with the scores of each row and of the ``reference`` row before it is
        learned; of several models, those of the best one.
        """
        batch = self.settings.batch_size
        parts = (rows, labels, values, weights, order, batch, undo, threads)
        self.model.learn(*parts, reference, margins)

    def checkpoint(self, rows: _core.Rows, **targets: Any) -> Checkpoint:
        """Return a function that restores the learner after these rows, in any number of calls.

        It copies only what these rows change.
        """
        models: list[Any] = [self.model]
        before: Any = _core.begin_transaction(models, rows, **targets)

        def restore() -> None:
            before.restore()

        return restore

    def checkpoint_of_all(self) -> Checkpoint:
        """Return a function that restores the learner after any rows, from a full copy."""
        row = _core.Rows(np.ones((1, self.features), self.dtype))
        first, zeros = np.zeros(1, np.int64), np.zeros((1, max(self.classes, 1)))
        return self.checkpoint(row, labels=first, values=zeros)

    def scores(self, rows: _core.Rows, which: int = 0, threads: int = 1) -> Array:
        """Return the scores of one model: a row per example and a column per output."""
        scores: Array = self.model.score(rows, threads)
        return scores if self.models == 1 else scores[:, self._part(which)]

    def _part(self, which: int) -> slice:
        return slice(which * self.outputs, (which + 1) * self.outputs)

    def freeze_means(self, frozen: bool = True) -> None:
        """Declare whether the next rows have been learned before.

        If so, mistakes are not counted and the class means do not change.
        """
        self.model.freeze_means(frozen)

    def configure(self, settings: Settings | Sequence[Settings]) -> None:
        """Change C, epsilon, class_mean and similar settings for the next rows."""
        fresh = (settings,) if isinstance(settings, Settings) else tuple(settings)
        for old, new in zip(self.all_settings, fresh, strict=True):
            check_same_layout(old, new)
        self.all_settings = fresh
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

    def coef(self, which: int = 0) -> Array:
        """Return the predicting weights, outputs x features; a view if possible."""
        s = self.settings
        plain = (
            not s.average
            and s.scale == "none"
            and all(each.class_mean == 0 for each in self.all_settings)
        )
        weights: Array = self.model.weights_view() if plain else self.model.weights()
        return np.asarray(weights.T[self._part(which)])

    def intercept(self, which: int = 0) -> Array:
        """Return the predicting intercepts."""
        return self.model.bias().astype(self.dtype)[self._part(which)]

    def set_coef(self, coef: Array | None, intercept: Array | None) -> None:
        """Set the predicting weights, outputs x features, and intercepts; None keeps them.

        Learning continues from there. Average, queue and reservoir restart; class means, metric and
        counters stay.
        """
        if self.settings.scale != "none":
            raise ValueError(
                f"scale={self.settings.scale!r} learns the size of the features, so weights cannot "
                "be set; use scale='none' to give coef_init, or to set coef_ or intercept_."
            )
        with np.errstate(over="ignore"):
            weights = None if coef is None else self._for_all(coef, self.dtype)
        bias = None if intercept is None else self._for_all(intercept, np.float64)
        if weights is not None and not np.isfinite(weights).all():
            raise ValueError(f"The weights are too large for {self.dtype}; give smaller ones.")
        self.model.set_weights(weights, bias)

    def _for_all(self, given: Array, dtype: npt.DTypeLike) -> Array:
        """Return the given array repeated for the outputs of all models."""
        return np.ascontiguousarray(np.tile(np.asarray(given, dtype=dtype).T, self.models))

    @property
    def progress(self) -> Progress:
        """Mistakes, updates and loss so far (of the first model)."""
        return self.progress_of(0)

    def progress_of(self, which: int) -> Progress:
        """Mistakes, updates and loss so far of one model."""
        counts = self.model.group_counts
        groups = len(counts) // self.models
        mine = counts[which * groups : (which + 1) * groups]
        mistakes = int(self.model.records[which][0])
        return Progress(
            mistakes,
            sum(updates for _, updates, _ in mine),
            sum(loss for _, _, loss in mine),
        )

    def add_classes(
        self, settings: Settings | Sequence[Settings], position: Array, classes: int
    ) -> Learner:
        """Return a learner with more classes that continues this one, which is not changed.

        ``position[c]`` is the new index of the old class c. If one class is known, the result is,
        to the last bit, the model that knew both classes from the beginning. Further classes start
        with zero weights (see ``output_map``).
        """
        new = Learner(settings, self.features, classes, self.dtype)
        new.representation = self.representation
        change = output_map(self.settings, new.settings, position, classes)
        source: Any = self.model  # of the same precision
        new.model.add_classes(source, position.tolist(), change.ravel().tolist())
        return new

    def relabelled(self, outputs: Sequence[int]) -> Learner:
        """Return a learner whose independent output k continues output ``outputs[k]``."""
        new = Learner(self.all_settings, self.features, len(outputs), self.dtype)
        new.representation = self.representation
        source: Any = self.model  # of the same precision
        new.model.continue_models(source, list(range(self.models)), list(outputs))
        return new

    def with_representation(self, representation: int) -> Learner:
        """Return a learner of the same models whose rows have another representation."""
        new = Learner.__new__(Learner)
        new.__dict__.update(self.__dict__, representation=representation)
        return new

    def state(self) -> dict[str, Array]:
        """Return every array of the state by name."""
        return self.model.state()

    def load_state(self, state: dict[str, Array]) -> None:
        """Restore what ``state`` returned."""
        self.model.load_state(state)

    def clone(self) -> Learner:
        """Return an untrained learner with the same settings and shape."""
        return Learner(self.all_settings, self.features, self.classes, self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "model"}
        memory = self.model.memory
        return {**kept, "features": self.features, "memory": memory, "state": self.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        Learner.__init__(
            self, kept["all_settings"], kept["features"], kept["classes"], kept["dtype"]
        )
        self.representation = kept["representation"]
        self.model.set_memory(kept["memory"])
        self.load_state(kept["state"])

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        copy = Learner.__new__(Learner)
        copy.__dict__.update(self.__dict__, model=self.model.copy())
        return copy

    # -- settings of the core --------------------------------------------------

    def _shape(self, features: int) -> tuple[_core.Shape, list[int]]:
        s = self.settings
        reservoir = s.average == "reservoir"
        words = {"reservoir": "reservoir", "auto": "either"}
        predictor = words.get(str(s.average), "average" if s.average else "last")
        one_margin = not classes_compete(s)
        sums = self.outputs if any(s.class_mean > 0 for s in self.all_settings) else 0
        shape = _core.Shape(
            features=features,
            outputs=self.outputs * self.models,
            intercept=s.fit_intercept,
            intercept_scale=0.0 if s.intercept_scaling == "auto" else float(s.intercept_scaling),
            metric=getattr(_core.Metric, METRICS[s.metric].storage),
            predictor=getattr(_core.Predictor, predictor),
            sums=sums,
            total=sums > 0 and one_margin,
            reservoir=s.reservoir_size if reservoir else 0,
            vote=self._vote(),
            models=self.models,
            scale=getattr(_core.Scale, s.scale),
            spreads=self.outputs if s.task == "regression" and s.relative_epsilon else 0,
            one_class=s.task == "binary" and self.classes == 1,
            squared_errors=s.criterion == "squared",
            **{name: getattr(s, name) for name in CORE},
        )
        return shape, list(range(self.outputs)) * self.models

    def _groups(self) -> list[_core.Group]:
        return [g for i, s in enumerate(self.all_settings) for g in self._groups_of(s, i)]

    def _groups_of(self, s: Settings, which: int) -> list[_core.Group]:
        first = which * self.outputs
        common: dict[str, Any] = {
            "rule": s.rule(),
            "gamma": s.class_mean,
            "always": s.trigger == "always",
        }
        margin = _core.Task.margin
        if s.task == "binary":
            last = self.classes - 1  # the second class, or the only known one
            return [_core.Group(first=first, count=1, task=margin, positive=last, **common)]
        if classes_compete(s):
            task = getattr(_core.Task, s.multiclass)
            return [_core.Group(first=first, count=self.outputs, task=task, positive=0, **common)]
        task = _core.Task.tube if s.task == "regression" else margin
        return [
            _core.Group(first=first + k, count=1, task=task, positive=k, **common)
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
