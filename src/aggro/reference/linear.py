"""The algorithm: scale rows, evaluate them, and update each group of outputs."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from .geometry import METRICS, Scaler
from .group import OutputGroup
from .predictor import PredictorSelection, Uniform, errors_of
from .rules import TINY, Array
from .task import CLASSES, batches

CHOICES = {
    "task": ("binary", "multiclass", "regression", "multilabel"),
    "multiclass": (*CLASSES, "ovr"),
    "metric": METRICS,
    "trigger": ("loss", "always"),
    "scale": ("none", "online", "standard"),
    "rule": ("pa", "perceptron", "arow", "cw", "cw-stdev", "scw-i", "scw-ii"),
}


@dataclass
class ReferenceLearner:
    """Linear online learner on dense rows, with a keyword for each axis.

    Labels: -1/+1 (binary), 0..n_outputs-1 (multiclass), a number or a row of them (regression), a
    row of -1/+1 or 0/1 (multilabel). ``W`` and ``b`` are the predictor: the average of the weights
    after each round if ``average`` is set (from example ``average`` on), the mean of a sample of
    past weights if it is "reservoir", the better of a late average and the last weights if it is
    "auto", else the last weights. ``memory`` is the discount factor of that record.

    Examples
    --------
    >>> from aggro.reference import ReferenceLearner
    >>> model = ReferenceLearner("binary", n_features=1, loss="hard", fit_intercept=False)
    >>> model.learn([2.0], 1)
    >>> model.W.tolist(), model.scores([[2.0]]).tolist()
    ([[0.5]], [[1.0]])
    """

    task: str
    n_features: int
    n_outputs: int = 1
    loss: str = "hinge"
    C: float = 1.0
    epsilon: float = 0.1
    multiclass: str = "support"
    fit_intercept: bool = True
    intercept_scaling: float | str = 1.0
    metric: str = "euclidean"
    class_mean: float = 0.0
    trigger: str = "loss"
    queue: int = 1
    batch_size: int = 1
    average: bool | int | str = False
    reservoir_size: int = 16
    rule: str = "pa"
    r: float = 1.0
    phi: float = 1.0
    scale: str = "none"
    relative_epsilon: bool = False
    criterion: str = "absolute"
    forgetting: float = 0.0
    memory: float = 1.0 - 1.0 / 5000
    groups: list[OutputGroup] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {allowed}")
        self.coupled = self.task == "multiclass" and self.multiclass != "ovr"
        second_order = self.rule not in ("pa", "perceptron")
        axes = self.class_mean > 0 or self.queue > 1 or self.batch_size > 1
        impossible = {
            "C, r > 0": not (self.C > 0 and self.r > 0),
            "at least two classes": self.task == "multiclass" and self.n_outputs < 2,
            "class labels for class_mean": self.class_mean > 0 and self.task == "regression",
            "class labels for this rule": self.rule != "pa" and self.task == "regression",
            "multiclass='ovr' for this rule": self.rule != "pa" and self.coupled,
            "rule='pa' for class_mean, queue and batch_size": axes
            and self.rule not in ("pa", "arow"),
            "a diagonal or full metric for this rule": second_order and self.metric == "euclidean",
            "a euclidean metric": self.rule == "perceptron" and self.metric != "euclidean",
        }
        for need, missing in impossible.items():
            if missing:
                raise ValueError(f"these settings need {need}")
        self.scaler = Scaler(self.scale, self.n_features)
        self.sized = self.intercept_scaling != "auto"
        self.constant = float(self.intercept_scaling) if self.sized else 1.0
        self.random = Uniform()
        self.selection = PredictorSelection(self.memory, self.task == "regression")
        self.frozen = False
        self.groups = [OutputGroup(self) for _ in range(1 if self.coupled else self.n_outputs)]

    def learn(self, x: ArrayLike, y: ArrayLike, weight: float = 1.0) -> None:
        """Learn one example."""
        self.learn_batch(np.atleast_2d(x), np.asarray(y)[None], [weight])

    def learn_batch(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn all rows in one step; rows of weight 0 are absent."""
        given, targets = np.asarray(X, dtype=np.float64), self._targets(y)
        omega = np.ones(len(given)) if weights is None else np.asarray(weights, dtype=np.float64)
        if self.rule not in ("pa", "arow") and len(given) > 1:
            raise ValueError("these settings need one example at a time")
        if np.any(present := omega > 0):
            rows = self._rows([self.scaler.learn(row) for row in given[present]])
            errors = self._errors(rows, [target[present] for target in targets])
            for group, target in zip(self.groups, targets, strict=True):
                group.learn(rows, target[present], omega[present])
            for error, weight in zip(errors, omega[present] if errors else [], strict=True):
                self.selection.update(*error, weight)

    def learn_stream(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn the rows in order, ``batch_size`` at a time."""
        rows, labels = np.asarray(X), np.asarray(y)
        omega = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        for some in batches(omega, self.batch_size):
            self.learn_batch(rows[some], labels[some], omega[some])

    def scores(self, X: ArrayLike) -> Array:
        """Return one row of scores per row of X."""
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.W.T + self.b)

    def freeze_means(self) -> None:
        """Freeze class means and evaluation, as the paper does after the first pass."""
        self.frozen = True
        for group in self.groups:
            group.means.frozen = True

    def _errors(self, rows: Array, targets: list[Array]) -> list[tuple[Array, Array]]:
        """Return the errors of the mean and of the last weights on each row before learning it.

        The list is empty if only one of them can predict, or if the rows are repeated.
        """
        if self.average != "auto" or self.frozen:
            return []
        predictors = [[g.mean() for g in self.groups], [g.W for g in self.groups]]
        return errors_of(self.task, rows, predictors, targets, self.criterion)

    @property
    def W(self) -> Array:
        """The predictor's weights, outputs x features, for unscaled features."""
        weights = np.vstack([group.predictor()[:, : self.n_features] for group in self.groups])
        return np.asarray(weights * self.scaler.factor)

    @property
    def b(self) -> Array:
        """The predictor's intercepts; without ``fit_intercept`` only the shift by scaling."""
        shift = self.W @ self.scaler.centre
        if not self.fit_intercept:
            return np.asarray(-shift)
        weights = np.concatenate([group.predictor()[:, -1] for group in self.groups])
        return np.asarray(self.constant * weights - shift)

    @property
    def n_mistakes(self) -> int:
        """Number of wrong predictions before learning, summed over independent outputs."""
        return sum(group.n_mistakes for group in self.groups)

    @property
    def n_updates(self) -> int:
        """Number of updates, summed over independent outputs."""
        return sum(group.n_updates for group in self.groups)

    @property
    def cumulative_loss(self) -> float:
        """Sum of the losses before learning, over independent outputs."""
        return sum(group.cumulative_loss for group in self.groups)

    def _rows(self, X: ArrayLike) -> Array:
        """Append the constant feature; its weight times its value is the intercept."""
        rows = np.asarray(X, dtype=np.float64)
        if not self.fit_intercept:
            return rows
        if not self.sized:
            self._size_intercept(rows)
        return np.column_stack([rows, np.full(len(rows), self.constant)])

    def _size_intercept(self, rows: Array) -> None:
        """Set the constant feature from the first nonzero row; keep the model."""
        lengths = np.sqrt(np.sum(rows**2, axis=1))
        if np.any(found := lengths**2 >= TINY):
            self.sized, self.constant = True, min(1.0, 0.2 * float(lengths[found][0]))
            for group in self.groups:
                group.rescale_intercept(self.constant)

    def _targets(self, y: ArrayLike) -> list[Array]:
        """Return one array of targets per group."""
        labels = np.asarray(y, dtype=np.float64)
        if self.task == "multiclass" and not self.coupled:
            labels = np.where(labels[:, None] == np.arange(self.n_outputs), 1.0, -1.0)
        elif self.task == "multilabel":
            labels = np.where(labels > 0, 1.0, -1.0)
        return [labels] if labels.ndim == 1 else list(labels.T)
