"""Agreement with an independent convex solver on each family of problems."""

import cvxpy as cp
import numpy as np
import pytest

from aggro.reference import ReferenceLearner, batch_dual, slack, step_size, support_classes
from aggro.reference.batch import _ascent

KINDS = ["hard", "hinge", "squared_hinge"]
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def penalty(loss, C, xi):
    if loss == "hinge":
        return C @ xi
    return C @ cp.square(xi) if loss != "hard" else 0.0


def solved(objective, constraints, variable):
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return variable.value


def xi_for(loss, n):
    return np.zeros(n) if loss == "hard" else cp.Variable(n, nonneg=True)


@pytest.mark.parametrize("loss", KINDS)
def test_steps_equal_the_solver(loss):
    rng = np.random.default_rng(1)
    for _ in range(5):
        x, w, C = rng.normal(size=4), rng.normal(size=4), np.array([10 ** rng.uniform(-1, 1)])
        v, xi, y = cp.Variable(4), xi_for(loss, 1), rng.choice([-1, 1])
        near = cp.sum_squares(v - w) / 2 + penalty(loss, C, xi)
        tau = step_size(1 - y * (w @ x), x @ x, slack(loss, C[0]))
        np.testing.assert_allclose(
            w + tau * y * x, solved(near, [y * (v @ x) >= 1 - xi[0]], v), **CLOSE
        )
        gap = rng.normal() - w @ x
        tau = step_size(abs(gap) - 0.1, x @ x, slack(loss, C[0]))
        tube = [cp.abs(v @ x - w @ x - gap) <= 0.1 + xi[0]]
        np.testing.assert_allclose(w + np.sign(gap) * tau * x, solved(near, tube, v), **CLOSE)


@pytest.mark.parametrize("loss", KINDS)
def test_support_classes_equal_the_solver(loss):
    rng = np.random.default_rng(2)
    for _ in range(8):
        x, W = rng.normal(size=3), rng.normal(size=(6, 3))
        C = np.array([10 ** rng.uniform(-2, 1)])
        V, xi = cp.Variable((6, 3)), xi_for(loss, 1)
        s = V @ x
        best = solved(
            cp.sum_squares(V - W) / 2 + penalty(loss, C, xi),
            [s[0] - s[v] >= 1 - xi[0] for v in range(1, 6)],
            V,
        )
        tau = support_classes(1 - (W[0] - W[1:]) @ x, x @ x, slack(loss, C[0]))
        np.testing.assert_allclose(W + np.outer(np.append(tau.sum(), -tau), x), best, **CLOSE)


@pytest.mark.parametrize("loss", KINDS)
def test_class_means_equal_the_printed_problem(loss):
    """Paper 000, eq. 2, with the means of all examples, including the current one."""
    rng = np.random.default_rng(3)
    gamma, C = 0.4, 0.5
    learner = ReferenceLearner(
        "binary", 4, loss=loss, C=C, class_mean=gamma, trigger="always", fit_intercept=False
    )
    X, y = rng.normal(size=(6, 4)), np.array([1.0, -1, 1, 1, -1, -1])
    for t in range(6):
        w, seen = learner.W[0], np.arange(6) <= t
        learner.learn(X[t], y[t])
        plus, minus = X[seen & (y > 0)], X[seen & (y < 0)]
        m = plus.mean(axis=0) - (minus.mean(axis=0) if len(minus) else 0)
        v, xi = cp.Variable(4), xi_for(loss, 1)
        near = cp.sum_squares(v - w) / 2 + gamma / 2 * cp.sum_squares(v - m)
        best = solved(near + penalty(loss, np.array([C]), xi), [y[t] * (v @ X[t]) >= 1 - xi[0]], v)
        np.testing.assert_allclose(learner.W[0], best, **CLOSE)


@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("multiclass", ["support", "top"])
def test_multiclass_batches_equal_the_solver(loss, multiclass):
    rng = np.random.default_rng(4)
    for _ in range(3):
        C = 10 ** rng.uniform(-1, 1)
        learner = ReferenceLearner(
            "multiclass", 4, 4, loss=loss, C=C, multiclass=multiclass, fit_intercept=False
        )
        learner.learn_batch(rng.normal(size=(3, 4)), rng.integers(0, 4, 3))
        X, y, W = rng.normal(size=(3, 4)), rng.integers(0, 4, 3), learner.W
        learner.learn_batch(X, y)
        V, xi, s = cp.Variable((4, 4)), xi_for(loss, 3), X @ W.T
        margins = []
        for k in range(3):
            wrong = [v for v in range(4) if v != y[k]]
            if multiclass == "top":
                wrong = [max(wrong, key=lambda v: s[k, v])]
            margins += [(V[y[k]] - V[v]) @ X[k] >= 1 - xi[k] for v in wrong]
        best = solved(cp.sum_squares(V - W) / 2 + penalty(loss, np.full(3, C), xi), margins, V)
        np.testing.assert_allclose(learner.W, best, **CLOSE)


@pytest.mark.parametrize("loss", KINDS)
def test_batches_with_epsilon_equal_the_solver(loss):
    rng = np.random.default_rng(5)
    for _ in range(4):
        X, y, w = rng.normal(size=(5, 6)), rng.choice([-1.0, 1.0], 5), rng.normal(size=6)
        C = 10 ** rng.uniform(-1, 1, 5)
        slacks = np.array([slack(loss, c) for c in C])
        v, xi = cp.Variable(6), xi_for(loss, 5)
        near = cp.sum_squares(v - w) / 2 + penalty(loss, C, xi)
        Z = y[:, None] * X
        t = batch_dual(Z @ Z.T, 1 - Z @ w, slacks[:, 1], slacks[:, 2])
        np.testing.assert_allclose(w + Z.T @ t, solved(near, [Z @ v >= 1 - xi], v), **CLOSE)
        t = batch_dual(X @ X.T, y - X @ w, slacks[:, 1], slacks[:, 2], 0.2, -slacks[:, 1])
        tube = [cp.abs(X @ v - y) <= 0.2 + xi]
        np.testing.assert_allclose(w + X.T @ t, solved(near, tube, v), **CLOSE)


def test_least_squares_batch_is_a_ridge_regression():
    rng = np.random.default_rng(6)
    X, y, w, C = rng.normal(size=(7, 4)), rng.choice([-1.0, 1.0], 7), rng.normal(size=4), 0.7
    Z = y[:, None] * X
    free = np.full(7, np.inf)
    t = batch_dual(Z @ Z.T, 1 - Z @ w, free, np.full(7, 1 / (2 * C)), lower=-free)
    ridge = np.linalg.solve(np.eye(4) + 2 * C * X.T @ X, 2 * C * X.T @ (y - X @ w))
    np.testing.assert_allclose(Z.T @ t, ridge, atol=1e-12)


def test_batch_dual_satisfies_its_optimality_conditions_on_degenerate_batches():
    rng = np.random.default_rng(7)
    for _ in range(300):
        B, d = rng.integers(2, 20), rng.integers(1, 8)
        X = (rng.normal(size=(B, d)) * 10 ** rng.uniform(-2, 2, (B, 1)))[rng.integers(0, B, B)]
        l, C = rng.normal(size=B) * 3, 10 ** rng.uniform(-3, 3)  # noqa: E741
        A, epsilon = X @ X.T, float(rng.choice([0.0, 0.5]))
        t = batch_dual(A, l, np.full(B, C), np.zeros(B), epsilon, -C)
        gradient = l - A @ t
        size = 1e-9 * (np.abs(l) + np.abs(A) @ np.abs(t) + epsilon)
        assert np.all(np.abs(t) <= C)
        assert np.all(gradient[t < C] <= np.where(t[t < C] >= 0, epsilon, -epsilon) + size[t < C])
        assert np.all(
            gradient[t > -C] >= np.where(t[t > -C] <= 0, -epsilon, epsilon) - size[t > -C]
        )


@pytest.mark.parametrize("seed", range(5))
def test_long_curved_ascent_terminates(seed):
    """After a long step, the remaining slope is rounding error, even if the slope was small."""
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(3, 3)))[0]
    Q = np.eye(5)
    Q[:3, :3] = basis @ np.diag([1e-6, 0.5, 1.0]) @ basis.T
    Q[3, :3] = Q[:3, 3] = 1e-8  # its slope has the rounding error of the others
    slope = np.array([*random.normal(size=3), 1e-6, 1e-6])
    direction, longest = _ascent(Q, slope, np.ones(5, bool), 1e-12 * np.abs(slope))
    assert longest == 1.0
    np.testing.assert_allclose(Q @ direction, slope, atol=1e-8)
    opposed = np.array([[1.0, -1.0], [-1.0, 1.0]])  # along both: no curvature, unbounded
    assert _ascent(opposed, np.ones(2), np.ones(2, bool), np.zeros(2))[1] == np.inf
