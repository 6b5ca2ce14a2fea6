"""Theorems: mistake and loss bounds for any comparator u, and identities."""

import numpy as np
import pytest

from aggro.reference import ReferenceLearner

rng = np.random.default_rng(0)
N, D, K = 150, 4, 4


def noisy_binary(flip):
    u = rng.normal(size=D)
    X = rng.normal(size=(N, D))
    X = X[np.abs(X @ u) > 0.3]
    return X, np.sign(X @ u) * np.where(rng.random(len(X)) < flip, -1, 1), u


def noisy_multiclass(flip):
    U, X = rng.normal(size=(K, D)), rng.normal(size=(3 * N, D))
    s = np.sort(X @ U.T, axis=1)
    X = X[s[:, -1] - s[:, -2] > 0.4]
    y = np.argmax(X @ U.T, axis=1)
    return X, np.where(rng.random(len(X)) < flip, rng.integers(0, K, len(X)), y), U


def losses_of(learner, X, y):
    """Return the loss before each step."""
    progressive_loss, before = [], 0.0
    for row, label in zip(X, y, strict=True):
        learner.learn(row, label)
        progressive_loss.append(learner.cumulative_loss - before)
        before = learner.cumulative_loss
    return np.array(progressive_loss)


def hinge(U, X, y):
    if U.ndim == 1:
        return np.maximum(0, 1 - y * (X @ U))
    s = X @ U.T
    own = s[np.arange(len(y)), y]
    s[np.arange(len(y)), y] = -np.inf
    return np.maximum(0, 1 - own + s.max(axis=1))


BINARY = [("binary", {}, 1, noisy_binary)]
MULTI = [
    ("multiclass", {"multiclass": kind, "n_outputs": K}, 2, noisy_multiclass)
    for kind in ("support", "top")
]


@pytest.mark.parametrize(("task", "extra", "factor", "data"), BINARY + MULTI)
def test_hard_rule_on_separable_data(task, extra, factor, data):
    """M <= sum l^2 <= f R^2 |u|^2 when u separates with margin 1."""
    X, y, u = data(0.0)
    while hinge(u, X, y).max() > 0:
        u = 1.5 * u
    learner = ReferenceLearner(task, D, loss="hard", fit_intercept=False, **extra)
    progressive_loss = losses_of(learner, X, y)
    limit = factor * np.max(np.sum(X**2, axis=1)) * np.sum(u**2)
    assert learner.n_mistakes <= np.sum(progressive_loss**2) <= limit * (1 + 1e-12)


@pytest.mark.parametrize(("task", "extra", "factor", "data"), BINARY + MULTI)
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_soft_rules_on_any_data(task, extra, factor, data, C):
    """Mistakes of kind I, squared losses of kind II; f = 1, or 2 for several classes.

    M <= max(fR^2, 1/C)(|u|^2 + 2C sum l*) and sum l^2 <= (fR^2 + 1/2C)(|u|^2 + 2C sum l*^2).
    """
    X, y, u = data(0.15)
    R2 = factor * np.max(np.sum(X**2, axis=1))
    one = ReferenceLearner(task, D, loss="hinge", C=C, fit_intercept=False, **extra)
    two = ReferenceLearner(task, D, loss="squared_hinge", C=C, fit_intercept=False, **extra)
    losses_of(one, X, y)
    squares = np.sum(losses_of(two, X, y) ** 2)
    for v in (0 * u, u, 3 * u):
        star, norm = hinge(v, X, y), np.sum(v**2)
        assert one.n_mistakes <= max(R2, 1 / C) * (norm + 2 * C * star.sum())
        assert squares <= (R2 + 1 / (2 * C)) * (norm + 2 * C * np.sum(star**2))


def test_support_classes_on_rows_of_equal_norm():
    """L <= L* + sqrt(2 R^2 U^2 + 2 L*^2), L = sqrt(sum l^2), for hard SPA on any data."""
    X, y, U = noisy_multiclass(0.2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    learner = ReferenceLearner("multiclass", D, K, loss="hard", fit_intercept=False)
    L = np.sqrt(np.sum(losses_of(learner, X, y) ** 2))
    for V in (0 * U, U, 3 * U):
        star = np.sqrt(np.sum(hinge(V, X, y) ** 2))
        assert star + np.sqrt(2 * np.sum(V**2) + 2 * star**2) >= L


def test_hard_rule_on_rows_of_norm_one():
    """sqrt(sum l^2) <= |u| + 2 sqrt(sum l*^2)."""
    X, y, u = noisy_binary(0.2)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    progressive_loss = losses_of(
        ReferenceLearner("binary", D, loss="hard", fit_intercept=False), X, y
    )
    for v in (0 * u, u, 3 * u):
        limit = np.linalg.norm(v) + 2 * np.linalg.norm(hinge(v, X, y))
        assert np.linalg.norm(progressive_loss) <= limit


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_progress_towards_any_u(loss):
    """|w-u|^2 - |w'-u|^2 >= tau(2l - tau n - 2l*) for every u."""
    X, y, u = noisy_binary(0.1)
    learner = ReferenceLearner("binary", D, loss=loss, C=0.3, fit_intercept=False)
    for row, label in zip(X, y, strict=True):
        w = learner.W[0]
        learner.learn(row, label)
        n, tau = row @ row, label * ((learner.W[0] - w) @ row) / (row @ row)
        l_t = max(0.0, 1 - label * (w @ row))
        for v in (0 * u, u, 5 * u, rng.normal(size=D)):
            gained = np.sum((w - v) ** 2) - np.sum((learner.W[0] - v) ** 2)
            floor = tau * (2 * l_t - tau * n - 2 * max(0.0, 1 - label * (v @ row)))
            assert gained >= floor - 1e-9 * (1 + np.sum(v**2) + np.sum(w**2))


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_squared_tube_regression(C):
    """sum l^2 <= (R^2 + 1/2C)(|u|^2 + 2C sum l*^2) with the epsilon-insensitive loss."""
    u, X = rng.normal(size=D), rng.normal(size=(N, D))
    y = X @ u + 0.3 * rng.normal(size=N)
    learner = ReferenceLearner(
        "regression", D, loss="squared_epsilon_insensitive", C=C, fit_intercept=False
    )
    squares = np.sum(losses_of(learner, X, y) ** 2)
    for v in (0 * u, u):
        star = np.maximum(0, np.abs(y - X @ v) - 0.1)
        limit = np.max(np.sum(X**2, axis=1)) + 1 / (2 * C)
        assert squares <= limit * (v @ v + 2 * C * np.sum(star**2))


def test_batch_bound_holds():
    """BPA-II: sum over batches of max l_k^2 <= (R^2 + 1/2C)(|u|^2 + 2C sum l*^2)."""
    X, y, u = noisy_binary(0.1)
    C, worst = 0.5, 0.0
    learner = ReferenceLearner("binary", D, loss="squared_hinge", C=C, fit_intercept=False)
    for start in range(0, len(y), 5):
        some = slice(start, start + 5)
        worst += np.max(hinge(learner.W[0], X[some], y[some])) ** 2
        learner.learn_batch(X[some], y[some])
    for v in (0 * u, u, 3 * u):
        limit = np.max(np.sum(X**2, axis=1)) + 1 / (2 * C)
        assert worst <= limit * (v @ v + 2 * C * np.sum(hinge(v, X, y) ** 2))


@pytest.mark.parametrize("trigger", ["loss", "always"])
def test_class_means_bound_the_weights(trigger):
    """PAm-1: |w| <= max |m| + C R / gamma."""
    X, y, _ = noisy_binary(0.3)
    gamma, C, largest = 0.1, 0.2, 0.0
    learner = ReferenceLearner(
        "binary", D, C=C, class_mean=gamma, trigger=trigger, fit_intercept=False
    )
    R = np.max(np.linalg.norm(X, axis=1))
    for row, label in zip(X, y, strict=True):
        learner.learn(row, label)
        means = learner.groups[0].means.classifier(constant=None)
        largest = max(largest, np.linalg.norm(means[1] - means[0]))
        assert np.linalg.norm(learner.W) <= largest + C * R / gamma + 1e-12


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_potential_identity_of_the_full_metric(loss):
    """D' - D = -2 tau (l - l~) + tau^2 v + (l~ - r)^2 with D = (w-u)' Sigma^-1 (w-u)."""
    X, y, u = noisy_binary(0.1)
    learner = ReferenceLearner("binary", D, loss=loss, C=0.4, metric="full", fit_intercept=False)
    for row, label in zip(X, y, strict=True):
        w, P, updates = learner.W[0], learner.groups[0].metric.precision, learner.n_updates
        learner.learn(row, label)
        if learner.n_updates == updates:
            continue
        v = row @ np.linalg.solve(P, row)
        tau = label * ((learner.W[0] - w) @ row) / v
        l_t, tilde = 1 - label * (w @ row), 1 - label * (u @ row)
        after = (learner.W[0] - u) @ learner.groups[0].metric.precision @ (learner.W[0] - u)
        change = -2 * tau * (l_t - tilde) + tau**2 * v + (tilde - (l_t - tau * v)) ** 2
        assert after - (w - u) @ P @ (w - u) == pytest.approx(change, rel=1e-6, abs=1e-8 * after)


@pytest.mark.parametrize("C", [0.5, 3.0])
def test_full_metric_with_squared_slack(C):
    """PAM-II, C >= 1/2: sum l^2 <= (max v + 1/2C)(|u|^2 + 2C sum_U (1 - y<u,x>)^2)."""
    X, y, u = noisy_binary(0.1)
    learner = ReferenceLearner(
        "binary", D, loss="squared_hinge", C=C, metric="full", fit_intercept=False
    )
    squares, v_max, used = 0.0, 0.0, []
    for row, label in zip(X, y, strict=True):
        loss = max(0.0, 1 - label * (learner.W[0] @ row))
        if loss > 0:
            used.append(label * row)
            v_max = max(v_max, row @ np.linalg.solve(learner.groups[0].metric.precision, row))
        squares += loss**2
        learner.learn(row, label)
    for v in (0 * u, u, 3 * u):
        gaps = np.sum((1 - np.array(used) @ v) ** 2)
        assert squares <= (v_max + 1 / (2 * C)) * (v @ v + 2 * C * gaps)


@pytest.mark.parametrize("r", [0.5, 5.0])
def test_arow_bound_holds(r):
    """M <= sqrt(r|u|^2 + u'Xu) sqrt(logdet(I + X/r) + N) + sum g - N, N the margin updates."""
    X, y, u = noisy_binary(0.1)
    learner = ReferenceLearner("binary", D, rule="arow", r=r, metric="full", fit_intercept=False)
    used = []
    for row, label in zip(X, y, strict=True):
        if 1 - label * (learner.W[0] @ row) > 0:
            used.append(label * row)
        learner.learn(row, label)
    Z = np.array(used)
    S = Z.T @ Z
    # a score of exactly 0 predicts -1, so the first mistake depends on its label
    N_margin = len(used) - learner.n_mistakes
    logdet = np.linalg.slogdet(np.eye(D) + S / r)[1]
    for v in (u, 3 * u):
        root = np.sqrt(r * v @ v + v @ S @ v) * np.sqrt(logdet + N_margin)
        assert learner.n_mistakes <= root + np.sum(np.maximum(0, 1 - Z @ v)) - N_margin


def test_perceptron_bound_holds():
    """Mistakes <= R^2 |u|^2 when u separates with margin 1."""
    X, y, u = noisy_binary(0.0)
    u = u / np.min(y * (X @ u))
    learner = ReferenceLearner("binary", D, rule="perceptron", fit_intercept=False)
    for _ in range(5):
        learner.learn_stream(X, y)
    assert learner.n_updates <= np.max(np.sum(X**2, axis=1)) * (u @ u)
