"""A group of outputs: losses, centre, step, metric and average of one round."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from . import rules
from .geometry import Centre, ClassMeans, Metric, Moments
from .predictor import Average, LateAverage, Reservoir
from .rules import TINY, Array
from .task import Task, rounding_of, without_rounding

if TYPE_CHECKING:
    from .linear import ReferenceLearner

MOST_COUNTED = 2.0  # largest loss counted by Newton's metric


class OutputGroup:
    """Outputs that share constraints, metric and centre."""

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
        """Learn one round: evaluate all rows, then learn them together.

        Mistakes are those of the predictor; the loss is that of the last weights.
        """
        if self.settings.relative_epsilon:
            for target in y:
                self.targets.update(np.array([target]))
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
            self.average.update(self.W, len(y), new=not self.settings.frozen)

    def rescale_intercept(self, constant: float) -> None:
        """Change the constant feature from 1 to a new value and rescale its weight."""
        kept = [self.W, *self.centre.queue, *(weights for _, weights in self.reservoir.members)]
        kept += [self.average.total] if self.average else []
        for weights in {id(array): array for array in kept}.values():
            weights[:, -1] /= constant
        self.metric.rescale_last(constant)

    def predictor(self) -> Array:
        """Return the weights to predict with."""
        if self.settings.average == "reservoir":
            return self.reservoir.weights(self.W)
        if self.settings.average == "auto" and not self.settings.selection.mean_predicts:
            return self.W
        return self.mean()

    def mean(self) -> Array:
        """Return the mean of the weights, or the last ones if there is none."""
        return self.average.weights(self.W) if self.average else self.W

    def _move(self, weights: Array, updates: int, examples: int) -> None:
        """Replace the weights; count the updates and examples."""
        if updates == 0:
            return
        if self.settings.average == "reservoir":
            survived = self.n_examples - self.last_update
            self.reservoir.add(self.W, survived, self.settings.random)
        self.W = weights
        self.n_updates += updates
        self.last_update = self.n_examples + examples

    def _passive_aggressive(self, rows: Array, y: Array, omega: Array) -> None:
        """PA and all its combinations: centre, losses there, steps, metric."""
        gamma = self.settings.class_mean
        penalty, kappa = zip(*(self._penalty(o / (1 + gamma)) for o in omega), strict=True)
        if self.task.kind != "regression":
            self.means.update(rows, self.task.classes(y), omega, self.settings.forgetting)
        # a hard constraint on a zero row is infeasible and skipped
        present = np.sum(rows**2, axis=1) >= TINY
        possible = present | ~np.array([p.hard for p in penalty])
        scores, rounding = rows @ self.W.T, rounding_of(rows, self.W)
        needs_step = self.task.needs_step(scores, y, rounding)
        if not np.any(possible & (needs_step | (self.settings.trigger == "always"))):
            return
        ahead = self.metric.kind == "newton"
        if ahead:
            losses = self.task.losses(scores, y, rounding)
            gains = np.array(kappa) * np.minimum(losses, MOST_COUNTED) ** 2
            self._grow_metric(rows, gains, needs_step & present)
        centre = self.centre.move(self.W, self._pull())
        shaped = self.metric.times_sigma(rows)
        rounding = rounding_of(rows, centre)
        T = self.task.coefficients(rows @ centre.T, y, rows @ shaped.T, list(penalty), rounding)
        stepped = np.any(T != 0, axis=1)
        moved_centre = gamma > 0 or self.settings.queue > 1
        updates = max(int(stepped.sum()), int(moved_centre))
        self._move(centre + T.T @ shaped, updates, len(y))
        if not ahead:
            self._grow_metric(rows, np.array(kappa), stepped)

    def _grow_metric(self, rows: Array, gains: Array, some: Array) -> None:
        """Add the contributions of some rows to the precision."""
        for k in np.flatnonzero(some):
            self.metric.grow(rows[k], gains[k], self.settings.forgetting)

    def _penalty(self, weight: float) -> tuple[rules.Slack, float]:
        """Return the slack of an example of this weight, and its gain in the metric.

        AROW is PA-II with a ridge of r; the weight multiplies the precision, too. In Newton's
        metric the gain is multiplied by the squared loss.
        """
        settings = self.settings
        if settings.rule == "arow":
            return rules.slack("squared_hinge", weight / (2 * settings.r)), weight / settings.r
        scaled_C, moved = settings.C * weight, 1 + settings.coupled  # number of outputs in a margin
        gain = 2 * moved * scaled_C if settings.metric == "newton" else 1.0
        return rules.slack(settings.loss, scaled_C), gain

    def _pull(self) -> Array:
        """Return m, the class means as a classifier; for a binary output their difference."""
        constant = self.settings.constant if self.settings.fit_intercept else None
        means = self.means.classifier(constant)
        return means[1:] - means[:1] if self.task.kind == "binary" else means[: len(self.W)]

    def _confidence(self, x: Array, y: float, omega: float) -> None:
        """Perceptron, CW, SCW: mean += alpha y Sigma x, precision += kappa x x'."""
        shaped = self.metric.times_sigma(x)
        M, V = y * float(self.W[0] @ x), float(x @ shaped)
        if self.settings.rule != "perceptron":
            needed, rounding = self._needed(V), rounding_of(x[None], self.W)[0, 0]
            M = needed - float(without_rounding(needed - M, needed + abs(M), rounding))
        alpha, kappa = self._rule(M, V, omega)
        if alpha > 0 and V >= TINY:
            self._move(self.W + alpha * y * shaped, 1, 1)
            self.metric.grow(x, kappa, self.settings.forgetting)

    def _needed(self, V: float) -> float:
        """Return the required margin of a confidence-weighted rule."""
        return self.settings.phi * (V if self.settings.rule == "cw" else float(np.sqrt(V)))

    def _rule(self, M: float, V: float, omega: float) -> tuple[float, float]:
        """Return the step of the rule; the weight multiplies C."""
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
