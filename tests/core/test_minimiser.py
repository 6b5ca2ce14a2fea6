"""The compiled step minimises its objective: no perturbation lowers it.

A minimiser z of a 1-strongly convex F satisfies F(z + d) >= F(z) + |d|^2 / 2 for every d.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from linear_support import (
    CLASS_LOSSES,
    NUMBER_LOSSES,
    make_learner,
    reference_of,
    train,
    train_reference,
)

from aggro.settings import Settings

D = 5
FORMS = {
    "binary": ("binary", 1, CLASS_LOSSES),
    "support": ("multiclass", 4, CLASS_LOSSES[:3]),
    "top": ("multiclass", 4, CLASS_LOSSES),
    "predicted": ("multiclass", 4, CLASS_LOSSES),
    "regression": ("regression", 1, NUMBER_LOSSES),
}
GRID = [(form, loss) for form, (_, _, losses) in FORMS.items() for loss in losses]


@dataclass
class Step:
    """One step from weights W0 (intercept in the last column) for rows and targets."""

    form: str
    loss: str
    C: float
    epsilon: float
    W0: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    precision: np.ndarray

    def norm2(self, V):
        P = self.precision
        return float(np.sum((V @ P if P.ndim == 2 else V * P) * V))

    def gap(self, W, k):
        """Return how far example k violates its worst constraint."""
        s = W @ self.rows[k]
        if self.form == "binary":
            return 1 - (2 * self.y[k] - 1) * s[0]
        if self.form == "regression":
            return abs(self.y[k] - s[0]) - (self.epsilon if self.loss != "least_squares" else 0)
        y, start = self.y[k], self.W0 @ self.rows[k]
        wrong = [v for v in range(len(W)) if v != y]
        if self.form == "predicted" and start.argmax() == y:
            return 0.0
        if self.form != "support":
            wrong = [max(wrong, key=lambda v: start[v])]
        return 1 - s[y] + max(s[v] for v in wrong)

    def sharpened(self):
        """Return the precision of Newton's metric after the update with the examples."""
        gaps = np.array([self.gap(self.W0, k) for k in range(len(self.rows))])
        losses = np.abs(gaps) if self.loss == "least_squares" else np.maximum(gaps, 0)
        losses = np.minimum(losses, 2)
        cost = 2 * self.C * (1 + (len(self.W0) > 1))
        return self.precision + cost * (self.weights * losses**2) @ self.rows**2

    def objective(self, W, tolerance=0.0):
        gaps = np.array([self.gap(W, k) for k in range(len(self.rows))])
        near = self.norm2(W - self.W0) / 2
        if self.loss == "least_squares":
            return near + self.C * np.sum(self.weights * gaps**2)
        xi = np.maximum(gaps, 0)
        if self.loss == "hard":
            return near if np.all(xi <= tolerance) else np.inf
        power = 1 if self.loss in ("hinge", "epsilon_insensitive") else 2
        return near + self.C * np.sum(self.weights * xi**power)

    def directions(self, rng, count=25):
        """Yield steps along the rows (true class up, another down) and random ones."""
        for _ in range(count):
            mix = rng.normal(size=(len(self.W0), len(self.rows)))
            if len(self.W0) > 1 and rng.random() < 0.7:
                k = rng.integers(len(self.rows))
                mix = np.zeros_like(mix)
                mix[self.y[k], k] = 1
                mix[(self.y[k] + rng.integers(1, len(mix))) % len(mix), k] = -1
            V = mix @ self.rows * rng.choice([-1, 1]) * 10 ** rng.uniform(-4, 0)
            yield V + (0.1 * rng.normal(size=V.shape) if rng.random() < 0.2 else 0)

    def check(self, W, rng):
        value = self.objective(W, tolerance=1e-9)
        assert np.isfinite(value), "a hard constraint is violated"
        for V in self.directions(rng):
            least = value + self.norm2(V) / 2
            assert self.objective(W + V) >= least - 1e-9 * (1 + abs(value))


def answers(form, n, rng):
    if form == "regression":
        return 2 * rng.normal(size=n)
    return rng.integers(0, 2 if form == "binary" else 4, n)


def joined(learner):
    """Return the weights with the intercepts as the last column."""
    W = np.array(learner.coef())
    return np.column_stack([W, learner.intercept()]) if learner.settings.fit_intercept else W


def run(form, loss, intercept, batch, metric, rng):
    task, outputs, _ = FORMS[form]
    C = 10 ** rng.uniform(-2, 1)
    multiclass = form if task == "multiclass" else "support"
    settings = Settings(
        task=task, loss=loss, C=C, epsilon=0.2, multiclass=multiclass,
        fit_intercept=intercept, metric=metric, batch_size=batch,
    )  # fmt: skip
    learner, precision = make_learner(settings, D, outputs), np.ones(D + intercept)
    if metric != "euclidean":  # start from a metric that has learned some rows
        X, y = rng.normal(size=(6, D)), answers(form, 6, rng)
        reference = reference_of(settings, D, outputs)
        train(learner, X, y)
        train_reference(reference, X, y[:, None] if form == "regression" else y, np.ones(6))
        precision = reference.groups[0].metric.precision
        if settings.metric == "adagrad":
            precision = np.sqrt(precision)
    bias = rng.normal(size=outputs) if intercept else np.zeros(outputs)
    learner.set_coef(rng.normal(size=(outputs, D)), bias)
    X, y = rng.normal(size=(batch, D)), answers(form, batch, rng)
    weights, W0 = rng.uniform(0.3, 3, batch), joined(learner)
    train(learner, X, y, weights)
    rows = np.column_stack([X, np.ones(batch)]) if intercept else X
    step = Step(form, loss, C, 0.2, W0, rows, y, weights, precision)
    if metric == "newton":
        step.precision = step.sharpened()
    step.check(joined(learner), rng)
    return not np.array_equal(joined(learner), W0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("form", "loss"), GRID)
def test_step_for_one_example_is_the_minimiser(form, loss, intercept):
    rng = np.random.default_rng(1)
    moved = [run(form, loss, intercept, 1, "euclidean", rng) for _ in range(60)]
    assert sum(moved) > 15


@pytest.mark.parametrize("metric", ["diagonal", "newton", "full"])
@pytest.mark.parametrize(("form", "loss"), GRID)
def test_step_in_a_metric_is_the_minimiser(form, loss, metric):
    rng = np.random.default_rng(2)
    for repeat in range(30):
        run(form, loss, repeat % 2 == 0, 1, metric, rng)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
@pytest.mark.parametrize(("form", "loss"), GRID)
def test_minibatch_step_is_the_minimiser(form, loss, metric):
    rng = np.random.default_rng(3)
    for repeat in range(15):
        run(form, loss, repeat % 2 == 0, 3, metric, rng)


def test_check_rejects_steps_of_slightly_wrong_length():
    """Steps of 0.98 and 1.02 times the right length fail the check."""
    rng = np.random.default_rng(4)
    W0, x = rng.normal(size=(1, D)), rng.normal(size=(1, D))
    y = np.array([int(W0[0] @ x[0] < 0)])  # a mistake
    settings = Settings(task="binary", loss="squared_hinge", C=0.7, fit_intercept=False)
    learner = make_learner(settings, D, 1)
    learner.set_coef(W0, np.zeros(1))
    train(learner, x, y)
    step = Step("binary", "squared_hinge", 0.7, 0, W0, x, y, np.ones(1), np.ones(D))
    step.check(learner.coef(), rng)
    for factor in (0.98, 1.02):
        with pytest.raises(AssertionError):
            step.check(W0 + factor * (learner.coef() - W0), rng)
