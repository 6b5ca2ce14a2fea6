"""The algorithm: predict, suffer, move the centre, step, let the metric and the average follow."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from . import rules
from .geometry import METRICS, Centre, ClassMeans, Metric
from .predictor import Average, Contest, LateAverage, Reservoir, Uniform, judged
from .rules import TINY, Array
from .scale import Moments, Scaler
from .task import CLASSES, Task, batches, rounding_of, settled

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
    """Linear online learner on dense rows: every axis of the family, one keyword each.

    Labels: -1/+1 (binary), 0..n_outputs-1 (multiclass), a number or a row of them (regression),
    a row of -1/+1 or 0/1 (multilabel). ``W`` and ``b`` are the predictor: the average of the
    weights after each round if ``average`` is set (from example ``average`` on), the mean of a
    sample of survivors if it is "reservoir", the better of a late average and the last weights if
    it is "auto", else the last weights. ``memory`` is what an example leaves of that record.

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
    forgetting: float = 0.0
    memory: float = 1.0 - 1.0 / 5000
    groups: list["OutputGroup"] = field(init=False, repr=False)

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
        self.contest, self.frozen = Contest(self.memory), False
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
            errors = self._judged(rows, [target[present] for target in targets])
            for group, target in zip(self.groups, targets, strict=True):
                group.learn(rows, target[present], omega[present])
            for mistakes, distance in errors:
                self.contest.judge(mistakes, distance)

    def learn_stream(self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn the rows in their order, ``batch_size`` at a time."""
        rows, labels = np.asarray(X), np.asarray(y)
        omega = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        for some in batches(omega, self.batch_size):
            self.learn_batch(rows[some], labels[some], omega[some])

    def scores(self, X: ArrayLike) -> Array:
        """One row of scores per row of X."""
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.W.T + self.b)

    def freeze_means(self) -> None:
        """Stop the class means, as the paper does after the first pass, and the judging."""
        self.frozen = True
        for group in self.groups:
            group.means.frozen = True

    def _judged(self, rows: Array, targets: list[Array]) -> list[tuple[Array, Array]]:
        """Return how wrong the mean and the last weights are about each row, before it is learned.

        Where they do not compete, or the rows are known already, nothing is judged.
        """
        if self.average != "auto" or self.frozen:
            return []
        rivals = [[g.mean() for g in self.groups], [g.W for g in self.groups]]
        return judged(self.task, rows, rivals, targets)

    @property
    def W(self) -> Array:
        """The predictor's weights, outputs x features, for features as they are given."""
        weights = np.vstack([group.predictor()[:, : self.n_features] for group in self.groups])
        return np.asarray(weights * self.scaler.factor)

    @property
    def b(self) -> Array:
        """The predictor's intercepts; without ``fit_intercept`` only what scaling shifts."""
        shift = self.W @ self.scaler.centre
        if not self.fit_intercept:
            return np.asarray(-shift)
        weights = np.concatenate([group.predictor()[:, -1] for group in self.groups])
        return np.asarray(self.constant * weights - shift)

    @property
    def n_mistakes(self) -> int:
        """Wrong predictions made before learning, summed over independent outputs."""
        return sum(group.n_mistakes for group in self.groups)

    @property
    def n_updates(self) -> int:
        """Examples that moved the weights, summed over independent outputs."""
        return sum(group.n_updates for group in self.groups)

    @property
    def cumulative_loss(self) -> float:
        """Losses suffered before learning, summed over independent outputs."""
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
        """The first row that is not zero tells the constant; what was learned before stays."""
        lengths = np.sqrt(np.sum(rows**2, axis=1))
        if np.any(found := lengths**2 >= TINY):
            self.sized, self.constant = True, min(1.0, 0.2 * float(lengths[found][0]))
            for group in self.groups:
                group.rescale_intercept(self.constant)

    def _targets(self, y: ArrayLike) -> list[Array]:
        """One array of targets per group."""
        labels = np.asarray(y, dtype=np.float64)
        if self.task == "multiclass" and not self.coupled:
            labels = np.where(labels[:, None] == np.arange(self.n_outputs), 1.0, -1.0)
        elif self.task == "multilabel":
            labels = np.where(labels > 0, 1.0, -1.0)
        return [labels] if labels.ndim == 1 else list(labels.T)


class OutputGroup:
    """Outputs that learn together: they share constraints, metric and centre."""

    def __init__(self, settings: ReferenceLearner) -> None:
        size = settings.n_features + settings.fit_intercept
        n_outputs, kind = 1, "regression" if settings.task == "regression" else "binary"
        if settings.coupled:
            n_outputs, kind = settings.n_outputs, settings.multiclass
        kind_of_mean = LateAverage if settings.average == "auto" else Average
        averages = settings.average not in (False, "reservoir")
        start = 1 if isinstance(settings.average, str) else max(1, int(settings.average))
        self.settings = settings
        self.task = Task(kind, settings.loss, settings.epsilon)
        self.W = np.zeros((n_outputs, size))
        self.targets = Moments(1)
        self.metric = Metric(settings.metric, size)
        self.means = ClassMeans(max(2, n_outputs), size)
        self.centre = Centre(settings.class_mean, settings.queue)
        self.average = kind_of_mean(start, self.W) if averages else None
        self.reservoir = Reservoir(settings.reservoir_size)
        self.n_examples, self.last_update = 0, 0
        self.n_mistakes, self.n_updates, self.cumulative_loss = 0, 0, 0.0

    def learn(self, rows: Array, y: Array, omega: Array) -> None:
        """One round: all rows are judged first, then learned together.

        A mistake is one of the predictor; the loss is that of the last weights, which learn from
        it.
        """
        if self.settings.relative_epsilon:
            for target in y:
                self.targets.meet(np.array([target]))
            width = self.settings.epsilon * float(self.targets.deviation[0])
            self.task = replace(self.task, epsilon=width)
        scores, rounding = rows @ self.W.T, rounding_of(rows, self.W)
        if not self.settings.frozen:
            self.n_mistakes += int(self.task.mistakes(rows @ self.predictor().T, y).sum())
        self.cumulative_loss += float(self.task.losses(scores, y, rounding).sum())
        if self.settings.rule in ("pa", "arow"):
            self._passive_aggressive(rows, y, omega)
        else:
            self._confidence(rows[0], y[0], omega[0])
        self.n_examples += len(y)
        if self.average:
            self.average.follow(self.W, len(y), new=not self.settings.frozen)

    def rescale_intercept(self, constant: float) -> None:
        """Count the weight of the constant feature, 1 so far, in units of its new value."""
        kept = [self.W, *self.centre.queue, *(weights for _, weights in self.reservoir.members)]
        kept += [self.average.total] if self.average else []
        for weights in {id(array): array for array in kept}.values():
            weights[:, -1] /= constant
        self.metric.rescale_last(constant)

    def predictor(self) -> Array:
        """Return the weights to predict with."""
        if self.settings.average == "reservoir":
            return self.reservoir.weights(self.W)
        if self.settings.average == "auto" and not self.settings.contest.mean_predicts:
            return self.W
        return self.mean()

    def mean(self) -> Array:
        """Return the mean of the weights, or the last ones where there is none."""
        return self.average.weights(self.W) if self.average else self.W

    def _move(self, weights: Array, updates: int, examples: int) -> None:
        """Take over new weights, that so many updates have made of as many examples."""
        if updates == 0:
            return
        if self.settings.average == "reservoir":
            survived = self.n_examples - self.last_update
            self.reservoir.offer(self.W, survived, self.settings.random)
        self.W = weights
        self.n_updates += updates
        self.last_update = self.n_examples + examples

    def _passive_aggressive(self, rows: Array, y: Array, omega: Array) -> None:
        """PA and all its combinations: centre, losses there, steps, metric."""
        gamma = self.settings.class_mean
        price, kappa = zip(*(self._price(o / (1 + gamma)) for o in omega), strict=True)
        if self.task.kind != "regression":
            self.means.absorb(rows, self.task.classes(y), omega, self.settings.forgetting)
        # no weights satisfy a hard constraint on an absent example: it is skipped
        possible = (np.sum(rows**2, axis=1) >= TINY) | ~np.array([p.hard for p in price])
        scores, rounding = rows @ self.W.T, rounding_of(rows, self.W)
        asks = self.task.asks(scores, y, rounding)
        if not np.any(possible & (asks | (self.settings.trigger == "always"))):
            return
        ahead = self.metric.kind == "newton"
        if ahead:
            gains = np.array(kappa) * self.task.losses(scores, y, rounding) ** 2
            self._sharpen(rows, gains, asks & (np.sum(rows**2, axis=1) >= TINY))
        centre = self.centre.move(self.W, self._pull())
        shaped = self.metric.times_sigma(rows)
        rounding = rounding_of(rows, centre)
        T = self.task.coefficients(rows @ centre.T, y, rows @ shaped.T, list(price), rounding)
        stepped = np.any(T != 0, axis=1)
        moved_centre = gamma > 0 or self.settings.queue > 1
        updates = max(int(stepped.sum()), int(moved_centre))
        self._move(centre + T.T @ shaped, updates, len(y))
        if not ahead:
            self._sharpen(rows, np.array(kappa), stepped)

    def _sharpen(self, rows: Array, gains: Array, some: Array) -> None:
        """Let the precision grow by what some rows add to it."""
        for k in np.flatnonzero(some):
            self.metric.grow(rows[k], gains[k], self.settings.forgetting)

    def _price(self, weight: float) -> tuple[rules.Slack, float]:
        """Return the slack of an example of this weight, and how much it sharpens the metric.

        AROW is PA-II with a ridge of r, whose weight counts in the precision as well. In Newton's
        metric that much is multiplied by the squared loss.
        """
        settings = self.settings
        if settings.rule == "arow":
            return rules.slack("squared_hinge", weight / (2 * settings.r)), weight / settings.r
        price = settings.C * weight
        return rules.slack(settings.loss, price), 2 * price if settings.metric == "newton" else 1.0

    def _pull(self) -> Array:
        """m: the class means as a classifier; for a binary output their difference."""
        constant = self.settings.constant if self.settings.fit_intercept else None
        means = self.means.classifier(constant)
        return means[1:] - means[:1] if self.task.kind == "binary" else means[: len(self.W)]

    def _confidence(self, x: Array, y: float, omega: float) -> None:
        """Perceptron, CW, SCW: mean += alpha y Sigma x, precision += kappa x x'."""
        shaped = self.metric.times_sigma(x)
        M, V = y * float(self.W[0] @ x), float(x @ shaped)
        if self.settings.rule != "perceptron":
            needed, rounding = self._needed(V), rounding_of(x[None], self.W)[0, 0]
            M = needed - float(settled(needed - M, needed + abs(M), rounding))
        alpha, kappa = self._rule(M, V, omega)
        if alpha > 0 and V >= TINY:
            self._move(self.W + alpha * y * shaped, 1, 1)
            self.metric.grow(x, kappa, self.settings.forgetting)

    def _needed(self, V: float) -> float:
        """Return the margin that a rule with doubt asks for."""
        return self.settings.phi * (V if self.settings.rule == "cw" else float(np.sqrt(V)))

    def _rule(self, M: float, V: float, omega: float) -> tuple[float, float]:
        """Look up the rule; a weight multiplies its price."""
        C, phi = self.settings.C * omega, self.settings.phi
        match self.settings.rule:
            case "perceptron":
                return rules.perceptron(M, omega)
            case "cw":
                return rules.cw_variance(M, V, phi)
            case "cw-stdev":
                return rules.cw_stdev(M, V, phi)
            case "scw-i":
                return rules.scw_i(M, V, phi, C)
        return rules.scw_ii(M, V, phi, C)
