"""Loss bounds of the papers, checked on the compiled learner for a comparator u."""

import numpy as np
import pytest
from linear_support import make_learner, train

from aggro.settings import Settings

N, D, K = 150, 4, 4
rng = np.random.default_rng(7)


def binary(flip):
    u, X = rng.normal(size=D), rng.normal(size=(N, D))
    X = X[np.abs(X @ u) > 0.3]
    y = (X @ u > 0).astype(int)
    return X, np.where(rng.random(len(X)) < flip, 1 - y, y), u


def classes(flip):
    U, X = rng.normal(size=(K, D)), rng.normal(size=(3 * N, D))
    s = np.sort(X @ U.T, axis=1)
    X = X[s[:, -1] - s[:, -2] > 0.4]
    y = np.argmax(X @ U.T, axis=1)
    return X, np.where(rng.random(len(X)) < flip, rng.integers(0, K, len(X)), y), U


def hinge(U, X, y):
    """Return the losses of a comparator."""
    if U.ndim == 1:
        return np.maximum(0, 1 - (2 * y - 1) * (X @ U))
    s = X @ U.T
    own = s[np.arange(len(y)), y]
    s[np.arange(len(y)), y] = -np.inf
    return np.maximum(0, 1 - own + s.max(axis=1))


def new(task, outputs=1, **axes):
    return make_learner(Settings(task=task, fit_intercept=False, **axes), D, outputs)


def progressive_loss(learner, X, y, rounds=1):
    """Learn one example at a time; return the loss before each step."""
    losses = []
    for _ in range(rounds):
        for k in range(len(y)):
            before = learner.progress.loss
            train(learner, X[k : k + 1], y[k : k + 1])
            losses.append(learner.progress.loss - before)
    return np.array(losses)


FORMS = [
    ("binary", 1, "support", 1, binary),
    ("multiclass", K, "support", 2, classes),
    ("multiclass", K, "top", 2, classes),
]


@pytest.mark.parametrize(("task", "outputs", "multiclass", "factor", "data"), FORMS)
def test_hard_rule_on_separable_data_satisfies_its_bounds(task, outputs, multiclass, factor, data):
    """M <= sum l^2 <= f R^2 |u|^2, over any number of passes, when u separates with margin 1."""
    X, y, u = data(0.0)
    while hinge(u, X, y).max() > 0:
        u = 1.3 * u
    learner = new(task, outputs, loss="hard", multiclass=multiclass)
    total = np.sum(progressive_loss(learner, X, y, rounds=4) ** 2)
    limit = factor * np.max(np.sum(X**2, axis=1)) * np.sum(u**2)
    assert 0 < learner.progress.mistakes <= total <= limit * (1 + 1e-12)


@pytest.mark.parametrize(("task", "outputs", "multiclass", "factor", "data"), FORMS)
@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("flip", [0.0, 0.2])
def test_soft_rules_satisfy_their_bounds(task, outputs, multiclass, factor, data, C, flip):
    """PA-I bounds mistakes, PA-II squared losses; f = 1, or 2 for several classes.

    M <= max(fR^2, 1/C)(|u|^2 + 2C sum l*) and sum l^2 <= (fR^2 + 1/2C)(|u|^2 + 2C sum l*^2).
    """
    X, y, u = data(flip)
    R2 = factor * np.max(np.sum(X**2, axis=1))
    one = new(task, outputs, loss="hinge", C=C, multiclass=multiclass)
    two = new(task, outputs, loss="squared_hinge", C=C, multiclass=multiclass)
    progressive_loss(one, X, y)
    squares = np.sum(progressive_loss(two, X, y) ** 2)
    for v in (0 * u, u, 3 * u):
        star, norm = hinge(v, X, y), np.sum(v**2)
        assert one.progress.mistakes <= max(R2, 1 / C) * (norm + 2 * C * star.sum())
        assert squares <= (R2 + 1 / (2 * C)) * (norm + 2 * C * np.sum(star**2))


def test_rows_of_unit_norm_satisfy_the_relative_bounds():
    """sqrt(sum l^2) <= |u| + 2 sqrt(sum l*^2); SPA: L <= L* + sqrt(2 R^2 U^2 + 2 L*^2)."""
    X, y, u = binary(0.2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    L = np.linalg.norm(progressive_loss(new("binary", loss="hard"), X, y))
    for v in (0 * u, u, 3 * u):
        assert np.linalg.norm(v) + 2 * np.linalg.norm(hinge(v, X, y)) >= L
    X, y, U = classes(0.2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    L = np.linalg.norm(progressive_loss(new("multiclass", K, loss="hard"), X, y))
    for V in (0 * U, U, 3 * U):
        star = np.linalg.norm(hinge(V, X, y))
        assert star + np.sqrt(2 * np.sum(V**2) + 2 * star**2) >= L


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_each_step_makes_the_required_progress_towards_u(loss):
    """|w-u|^2 - |w'-u|^2 >= tau(2l - tau n - 2l*)."""
    X, y, u = binary(0.1)
    learner = new("binary", loss=loss, C=0.3)
    for x, label in zip(X, y, strict=True):
        w, sign, n = learner.coef()[0].copy(), 2 * label - 1, x @ x
        train(learner, x[None], np.array([label]))
        after = learner.coef()[0]
        tau, l_t = sign * ((after - w) @ x) / n, max(0.0, 1 - sign * (w @ x))
        for v in (0 * u, u, 5 * u, rng.normal(size=D)):
            gained = np.sum((w - v) ** 2) - np.sum((after - v) ** 2)
            floor = tau * (2 * l_t - tau * n - 2 * max(0.0, 1 - sign * (v @ x)))
            assert gained >= floor - 1e-9 * (1 + np.sum(v**2) + np.sum(w**2))


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_regression_satisfies_its_bounds(C):
    """sum l^2 <= (R^2 + 1/2C)(|u|^2 + 2C sum l*^2); hard, realisable: sum l^2 <= R^2 |u|^2."""
    u, X = rng.normal(size=D), rng.normal(size=(N, D))
    R2 = np.max(np.sum(X**2, axis=1))
    y = (X @ u + 0.3 * rng.normal(size=N))[:, None]
    learner = new("regression", loss="squared_epsilon_insensitive", C=C, epsilon=0.1)
    squares = np.sum(progressive_loss(learner, X, y) ** 2)
    for v in (0 * u, u):
        star = np.maximum(0, np.abs(y[:, 0] - X @ v) - 0.1)
        assert squares <= (R2 + 1 / (2 * C)) * (v @ v + 2 * C * np.sum(star**2))
    exact = new("regression", loss="hard", epsilon=0.1)
    assert np.sum(progressive_loss(exact, X, (X @ u)[:, None], 3) ** 2) <= R2 * (u @ u) * (
        1 + 1e-12
    )


def test_support_class_steps_have_the_required_length():
    """Hard SPA: |W' - W|^2 >= l^2 / 2n, and the progress towards U is at least that."""
    X, y, U = classes(0.0)
    while hinge(U, X, y).max() > 0:
        U = 1.3 * U
    learner = new("multiclass", K, loss="hard")
    for k in range(len(y)):
        W, before = np.array(learner.coef()), learner.progress.loss
        train(learner, X[k : k + 1], y[k : k + 1])
        loss, moved = learner.progress.loss - before, np.sum((learner.coef() - W) ** 2)
        gained = np.sum((W - U) ** 2) - np.sum((learner.coef() - U) ** 2)
        noise = 1e-9 * np.sum(U**2)
        assert gained >= moved - noise
        assert moved >= loss**2 / (2 * X[k] @ X[k]) - noise


def test_minibatches_satisfy_their_bound():
    """BPA-II: sum over batches of max l_k^2 <= (R^2 + 1/2C)(|u|^2 + 2C sum l*^2)."""
    X, y, u = binary(0.1)
    C, worst, learner = 0.5, 0.0, new("binary", loss="squared_hinge", C=0.5, batch_size=5)
    for start in range(0, len(y), 5):
        some = slice(start, start + 5)
        worst += np.max(hinge(learner.coef()[0].copy(), X[some], y[some])) ** 2
        train(learner, X[some], y[some])
    for v in (0 * u, u, 3 * u):
        limit = np.max(np.sum(X**2, axis=1)) + 1 / (2 * C)
        assert worst <= limit * (v @ v + 2 * C * np.sum(hinge(v, X, y) ** 2))


@pytest.mark.parametrize("trigger", ["loss", "always"])
def test_class_means_bound_the_weights(trigger):
    """PAm-1: |w| <= max |m| + C R / gamma."""
    X, y, _ = binary(0.3)
    gamma, C, largest = 0.1, 0.2, 0.0
    learner = new("binary", loss="hinge", C=C, class_mean=gamma, trigger=trigger)
    R = np.max(np.linalg.norm(X, axis=1))
    for k in range(len(y)):
        train(learner, X[k : k + 1], y[k : k + 1])
        seen, labels = X[: k + 1], y[: k + 1]
        means = [seen[labels == c].mean(axis=0) if np.any(labels == c) else 0 for c in (0, 1)]
        largest = max(largest, np.linalg.norm(means[1] - means[0]))
        assert np.linalg.norm(learner.coef()) <= largest + C * R / gamma + 1e-12


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_full_metric_satisfies_the_potential_identity(loss):
    """PAM: D' - D = -2 tau (l - l~) + tau^2 v + (l~ - r)^2 with D = (w-u)' Sigma^-1 (w-u)."""
    X, y, u = binary(0.1)
    learner, P, seen = new("binary", loss=loss, C=0.4, metric="full"), np.eye(D), 0
    for x, label in zip(X, y, strict=True):
        w, sign, updates = learner.coef()[0].copy(), 2 * label - 1, learner.progress.updates
        train(learner, x[None], np.array([label]))
        if learner.progress.updates == updates:
            continue
        after, v = learner.coef()[0], x @ np.linalg.solve(P, x)
        tau, l_t, tilde = sign * ((after - w) @ x) / v, 1 - sign * (w @ x), 1 - sign * (u @ x)
        grown = P + np.outer(x, x)
        potential = (after - u) @ grown @ (after - u)
        change = -2 * tau * (l_t - tilde) + tau**2 * v + (tilde - (l_t - tau * v)) ** 2
        assert potential - (w - u) @ P @ (w - u) == pytest.approx(change, rel=1e-6, abs=1e-7)
        P, seen = grown, seen + 1
    assert seen > 10
