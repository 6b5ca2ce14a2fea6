"""A learner on remembered examples, and the kernels that are computed outside the core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aggro import _core
from aggro.growth import output_map
from aggro.kernel_choice import KernelChoice, groups_of, vote_of
from aggro.learner import Array, Progress, rows_of
from aggro.rules import Settings

SPARSE_FROM = 512  # features; with fewer, sparse rows are kept as dense ones
OUTSIDE_BLOCK = 64  # rows whose kernel values are asked for together


class KernelLearner:
    """f = sum_i a_i k(x_i, .), learned by one variant.

    ``outputs`` is the number of classes, labels or target columns; a binary task has two classes,
    or one that is known.
    """

    def __init__(
        self,
        settings: Settings,
        choice: KernelChoice,
        gamma: float,
        features: int,
        outputs: int,
        sparse: bool = False,
    ) -> None:
        self.settings, self.choice, self.gamma = settings, choice, gamma
        self.classes = outputs
        self.outputs = 1 if settings.task == "binary" else outputs
        self.sparse = sparse and features >= SPARSE_FROM
        self.next_id = 0
        self.kept: Any = None  # support vectors of a kernel that is a Python function
        self.kept_ids = np.empty(0, dtype=np.int64)
        name = "external" if choice.outside else str(choice.kernel)
        shape = _core.KernelShape(
            features=features,
            outputs=self.outputs,
            kernel=getattr(_core.Kernel, name),
            gamma=gamma,
            degree=int(choice.degree),
            coef0=float(choice.coef0),
            intercept=bool(settings.fit_intercept),
            average=bool(settings.average),
            vote=vote_of(settings),
            budget=choice.budget or 0,
            forget=getattr(_core.Forget, choice.budget_strategy),
        )
        groups = groups_of(settings, outputs)
        self.model: Any = _core.KernelModel(shape, groups, self.sparse)

    # -- learning and predicting ------------------------------------------------------------

    def learn_rows(
        self,
        X: Any,
        lesson: dict[str, Array | None],
        order: Array | None = None,
        again: bool = False,
        margins: Array | None = None,
    ) -> None:
        """Learn rows in the given order; ``again``: the same rows as in the last call.

        The lesson holds ``labels`` or ``values``, and ``weights``. ``margins``, rows x outputs, is
        filled with what the predictor says of each row before it is learned.
        """
        first = self.next_id - X.shape[0] if again else self.next_id
        parts = tuple(lesson.get(name) for name in ("labels", "values", "weights"))
        if self.choice.outside:
            self._learn_outside(X, parts, order, first, margins)
        else:
            self.model.learn(rows_of(X), *parts, order, self.settings.batch_size, first, margins)
        self.next_id = first + X.shape[0]

    def score_rows(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        if not self.choice.outside:
            return np.asarray(self.model.score(rows_of(X)))
        coef = self.model.coef()
        return np.asarray(self._values(X, self.kept) @ coef + self.intercept())

    def configure(self, settings: Settings) -> None:
        """Take over new prices (C, epsilon, loss) for what comes; the past stays."""
        self.model.set_groups(groups_of(settings, self.classes))
        self.settings = settings

    # -- what was learned -------------------------------------------------------------------

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.model.features)

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        return int(self.model.examples)

    @property
    def progress(self) -> Progress:
        """Mistakes, updates and loss so far."""
        return Progress(*self.model.history)

    def coef(self) -> Array:
        """Return the coefficients that predict, outputs x support vectors."""
        return np.asarray(self.model.coef().T)

    def intercept(self) -> Array:
        """Return the intercepts: the constant of the kernel k + 1 gathers all coefficients."""
        return np.asarray(self.coef().sum(axis=1) * bool(self.settings.fit_intercept))

    def support(self) -> Any:
        """Return the support vectors, an array or a CSR matrix."""
        if self.choice.outside:
            return np.empty((0, 0)) if self.kept is None else self.kept
        rows = self.model.support()
        if not self.sparse:
            return rows["support"]
        from scipy.sparse import csr_matrix

        shape = (self.model.size, self.features)
        return csr_matrix((rows["data"], rows["indices"], rows["indptr"]), shape=shape)

    def grown(self, settings: Settings, position: Array, classes: int) -> KernelLearner:
        """Return a learner of more classes that continues this one (see ``grow_classes``)."""
        shape = (self.features, classes, self.sparse)
        new = KernelLearner(settings, self.choice, self.gamma, *shape)
        new.next_id, new.kept, new.kept_ids = self.next_id, self.kept, self.kept_ids
        state = self.model.state()
        change = output_map(self.settings, settings, position, classes)
        for name in ("coef", "trail"):
            if name in state:
                state[name] = (state[name].reshape(-1, self.outputs) @ change.T).ravel()
        if self.classes == 1 and position[0] == 0:  # scores of zero were no mistakes
            state["counters"][1] -= state["ties"][0]
        new.model.load_state(state)
        return new

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "model"}
        return {**kept, "features": self.features, "state": self.model.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        make = ("settings", "choice", "gamma", "features", "classes", "sparse")
        KernelLearner.__init__(self, *(kept[name] for name in make))
        for name in ("next_id", "kept", "kept_ids"):
            setattr(self, name, kept[name])
        self.model.load_state(kept["state"])

    # -- kernels that are computed outside --------------------------------------------------

    def _learn_outside(
        self,
        X: Any,
        lesson: tuple[Array | None, ...],
        order: Array | None,
        first: int,
        margins: Array | None,
    ) -> None:
        """Learn block by block; if the kernel fails on the way, everything is as it was."""
        before = self.model.state(), self.kept, self.kept_ids
        done = 0
        try:
            for rows in self._blocks(X.shape[0], lesson[2], order):
                some = X[rows]
                within = self._values(some, some) if callable(self.choice.kernel) else some[:, rows]
                ids = rows + first
                self.model.learn_values(
                    self._values(some, self.kept),
                    np.ascontiguousarray(within, dtype=np.float64),
                    *(None if part is None else part[rows] for part in lesson),
                    ids,
                    self.settings.batch_size,
                    None if margins is None else margins[done : done + len(rows)],
                )
                done += len(rows)
                if callable(self.choice.kernel):
                    self._keep(some, ids)
        except BaseException:  # an interrupt too: rows and coefficients belong together
            self.model.load_state(before[0])
            self.kept, self.kept_ids = before[1:]
            raise

    def _blocks(self, count: int, weights: Array | None, order: Array | None) -> Iterator[Array]:
        """Cut the order into blocks of whole batches; rows of weight 0 take no place."""
        order = np.arange(count) if order is None else order
        present = order if weights is None else order[weights[order] > 0]
        batch = self.settings.batch_size
        size = max(batch, OUTSIDE_BLOCK // batch * batch)
        for start in range(0, len(present), size):
            yield present[start : start + size].astype(np.int64)

    def _values(self, X: Any, support: Any) -> Array:
        """Return k between rows, and support vectors (with a precomputed kernel: their columns)."""
        if not callable(self.choice.kernel):
            return np.ascontiguousarray(X[:, self.model.ids()], dtype=np.float64)
        count = 0 if support is None else support.shape[0]
        if count == 0:
            return np.zeros((X.shape[0], 0))
        values = self.choice.kernel(X, support)
        values = np.ascontiguousarray(getattr(values, "toarray", lambda: values)(), np.float64)
        if values.shape != (X.shape[0], count):
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for {X.shape[0]} "
                f"and {count} rows; expected ({X.shape[0]}, {count})."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return values

    def _keep(self, X: Any, ids: Array) -> None:
        """Put the support vectors in the order in which the core holds them."""
        now = self.model.ids()
        if self.kept is not None and np.array_equal(now, self.kept_ids):
            return
        rows, everybody = X, np.concatenate([self.kept_ids, ids])
        if self.kept is not None:
            from scipy.sparse import issparse, vstack

            both = [self.kept, X]
            rows = vstack(both, format="csr") if issparse(X) else np.vstack(both)
        where = {int(example): k for k, example in enumerate(everybody)}
        self.kept, self.kept_ids = rows[[where[int(example)] for example in now]], now
