"""The kernel learner: its kernel and budget, and kernels that are computed in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from aggro import _core
from aggro.checks import check_choice, check_count, check_number
from aggro.classes import output_map
from aggro.learner import Array, Progress, rows_of
from aggro.settings import Settings, check_same_layout, classes_compete
from aggro.transaction import Checkpoint, OwnedLock, Transaction

KERNELS = ("rbf", "poly", "linear", "sigmoid", "precomputed")
STRATEGIES = ("simple", "nearest", "projection", "oldest")
SPARSE_FROM = 512  # features; with fewer, sparse rows are stored as dense ones
ROWS_AT_ONCE = 64  # per call of a Python kernel


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


class Outside(NamedTuple):
    """A consistent copy of the predictor, for kernels computed in Python.

    It is replaced atomically, so that other threads and signal handlers see a consistent state.
    """

    rows: Any  # support vectors, if the kernel is a Python function
    ids: Array
    coef: Array  # support vectors x outputs


class KernelLearner:
    """A kernel model f = sum_i a_i k(x_i, .), learned by one variant.

    ``outputs`` is the number of classes, labels or target columns; a binary task has two classes,
    or one known class.
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
        self.lock = OwnedLock()
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
        self.outside = Outside(None, *self.model.expansion())

    # -- learning and predicting ------------------------------------------------------------

    def learn_rows(
        self,
        X: Any,
        targets: dict[str, Array | None],
        order: Array | None = None,
        again: bool = False,
        margins: Array | None = None,
    ) -> None:
        """Learn rows in the given order; ``again``: the same rows as in the last call.

        ``targets`` are ``labels`` or ``values``, and ``weights``. ``margins``, rows x outputs, is
        filled with the scores of each row before it is learned.
        """
        parts = tuple(targets.get(name) for name in ("labels", "values", "weights"))
        with self.lock.take():
            before, examples = self.next_id, self.examples
            first = before - X.shape[0] if again else before
            self.next_id = first + X.shape[0]
            try:
                if self.choice.outside:
                    self._learn_outside(X, parts, order, first, margins)
                else:
                    batch = self.settings.batch_size
                    self.model.learn(rows_of(X), *parts, order, batch, first, margins)
            except BaseException:
                if not again:  # the next call may give the rest of the rows
                    learned = _present(X.shape[0], parts[2], order)[: self.examples - examples]
                    self.next_id = first + int(learned.max(initial=-1)) + 1
                raise

    def score_rows(self, X: Any) -> Array:
        """Return one row per example and one column per output."""
        if not self.choice.outside:
            return np.asarray(self.model.score(rows_of(X)))
        known = self.outside
        constant = known.coef.sum(axis=0) * bool(self.settings.fit_intercept)
        return np.asarray(self._values(X, known) @ known.coef + constant)

    def configure(self, settings: Settings) -> None:
        """Change C, epsilon and loss for the next rows."""
        check_same_layout(self.settings, settings)
        self.settings = settings
        self.model.set_groups(groups_of(settings, self.classes))

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
        """Return the predicting coefficients, outputs x support vectors."""
        return np.asarray(self.model.coef().T)

    def intercept(self) -> Array:
        """Return the intercepts, sums of the coefficients (the kernel is k + 1)."""
        return np.asarray(self.coef().sum(axis=1) * bool(self.settings.fit_intercept))

    def support(self) -> Any:
        """Return the support vectors, an array or a CSR matrix."""
        if self.choice.outside:
            return np.empty((0, 0)) if self.outside.rows is None else self.outside.rows
        rows = self.model.support()
        if not self.sparse:
            return rows["support"]
        from scipy.sparse import csr_matrix

        shape = (self.model.size, self.features)
        return csr_matrix((rows["data"], rows["indices"], rows["indptr"]), shape=shape)

    def freeze_means(self, frozen: bool = True) -> None:
        """Declare whether the next rows are known: their mistakes do not count."""
        self.model.freeze(frozen)

    def checkpoint(self, X: Any = None, **targets: Any) -> Checkpoint:
        """Return a function that restores the learner.

        It copies the support vectors, which takes as long as predicting a few rows.
        """
        state, outside, next_id = self.model.state(), self.outside, self.next_id

        def restore() -> None:
            self.model.load_state(state)
            self.outside, self.next_id = outside, next_id

        return restore

    def clone(self) -> KernelLearner:
        """Return an untrained learner with the same settings and shape."""
        shape = (self.features, self.classes, self.sparse)
        return KernelLearner(self.settings, self.choice, self.gamma, *shape)

    def add_classes(self, settings: Settings, position: Array, classes: int) -> KernelLearner:
        """Return a learner of more classes that continues this one (see ``Learner``)."""
        shape = (self.features, classes, self.sparse)
        new = KernelLearner(settings, self.choice, self.gamma, *shape)
        change = output_map(self.settings, settings, position, classes)
        first = self.classes == 1 and int(position[0]) == 0
        new.model.add_classes(self.model, change.ravel().tolist(), first)
        new.next_id = self.next_id
        if self.choice.outside:
            new.outside = Outside(self.outside.rows, *new.model.expansion())
        return new

    def load_state(self, state: dict[str, Array], rows: Any = None) -> None:
        """Restore the state of the model, and the support vectors that are stored outside."""
        self.model.load_state(state)
        if self.choice.outside:
            self.outside = Outside(rows, *self.model.expansion())

    def __getstate__(self) -> dict[str, Any]:
        with self.lock.take() if self.choice.outside else nullcontext():
            own = ("model", "lock")
            kept = {name: value for name, value in self.__dict__.items() if name not in own}
            return {**kept, "features": self.features, "state": self.model.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        make = ("settings", "choice", "gamma", "features", "classes", "sparse")
        KernelLearner.__init__(self, *(kept[name] for name in make))
        self.next_id = kept["next_id"]
        self.load_state(kept["state"], kept["outside"].rows)

    # -- kernels that are computed outside --------------------------------------------------

    def _learn_outside(
        self,
        X: Any,
        targets: tuple[Array | None, ...],
        order: Array | None,
        first: int,
        margins: Array | None,
    ) -> None:
        """Learn block by block; an error or an interrupt undoes all blocks."""
        done = 0
        with Transaction(self.checkpoint()):  # rows and coefficients must stay consistent
            for rows in self._blocks(X.shape[0], targets[2], order):
                some = X[rows]
                function = callable(self.choice.kernel)
                within = self._call(some, some) if function else some[:, rows]
                ids = rows + first
                self.model.learn_values(
                    self._values(some, self.outside),
                    np.ascontiguousarray(within, dtype=np.float64),
                    *(None if part is None else part[rows] for part in targets),
                    ids,
                    self.settings.batch_size,
                    None if margins is None else margins[done : done + len(rows)],
                )
                done += len(rows)
                self.outside = self._after(some if function else None, ids)

    def _blocks(self, count: int, weights: Array | None, order: Array | None) -> Iterator[Array]:
        """Divide the order into blocks of whole batches, not counting rows of weight 0."""
        present = _present(count, weights, order)
        batch = self.settings.batch_size
        size = max(batch, ROWS_AT_ONCE // batch * batch)
        for start in range(0, len(present), size):
            yield present[start : start + size].astype(np.int64)

    def _values(self, X: Any, known: Outside) -> Array:
        """Return k between rows and support vectors (with a precomputed kernel: their columns)."""
        if not callable(self.choice.kernel):
            return np.ascontiguousarray(X[:, known.ids], dtype=np.float64)
        if known.rows is None or known.rows.shape[0] == 0:
            return np.zeros((X.shape[0], 0))
        return self._call(X, known.rows)

    def _call(self, X: Any, others: Any) -> Array:
        """Return the values of the kernel function, or raise if they are invalid."""
        values = self.choice.kernel(X, others)  # type: ignore[operator]  # a function here
        values = np.ascontiguousarray(getattr(values, "toarray", lambda: values)(), np.float64)
        if values.shape != (X.shape[0], others.shape[0]):
            raise ValueError(
                f"The kernel function returned an array of shape {values.shape} for {X.shape[0]} "
                f"and {others.shape[0]} rows; expected {(X.shape[0], others.shape[0])}."
            )
        if not np.isfinite(values).all():
            raise ValueError("The kernel function returned NaN or infinity.")
        return values

    def _after(self, X: Any, ids: Array) -> Outside:
        """Return the support vectors, including X, in the order of the core."""
        old, (now, coef) = self.outside, self.model.expansion()
        if X is None or (old.rows is not None and np.array_equal(now, old.ids)):
            return Outside(old.rows, now, coef)
        rows, combined = X, np.concatenate([old.ids, ids])
        if old.rows is not None:
            from scipy.sparse import issparse, vstack

            both = [old.rows, X]
            rows = vstack(both, format="csr") if issparse(X) else np.vstack(both)
        where = {int(example): k for k, example in enumerate(combined)}
        return Outside(rows[[where[int(example)] for example in now]], now, coef)


def _present(count: int, weights: Array | None, order: Array | None) -> Array:
    """Return the positions of the rows of positive weight, in their order."""
    order = np.arange(count) if order is None else order
    return order if weights is None else order[weights[order] > 0]
