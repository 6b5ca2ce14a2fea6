"""Solutions satisfy the optimality conditions and agree with other solvers."""

import numpy as np
import pytest
from batch_problems import LOSSES, SHAPES, Batch, kkt_violation, random_batch
from closeness import assert_close

from aggro.reference import batch_dual, batch_support_classes, slack

TASKS = ("margin", "tube", "top", "predicted", "support")
SIZES = (2, 3, 5, 8, 16, 40)


CASES = [(t, loss) for t in TASKS for loss in LOSSES if (t, loss) != ("support", "least_squares")]


@pytest.mark.parametrize(("task", "loss"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_optimality_conditions(task, loss, shape):
    rng = np.random.default_rng(1)
    solved = 0
    for trial in range(60):
        batch = random_batch(rng, task, loss, shape, SIZES[trial % len(SIZES)])
        tau = batch.solve()
        if tau is None:
            assert loss == "hard"
            continue
        solved += 1
        assert kkt_violation(batch, tau) < 1e-8
    assert solved > (0 if loss == "hard" and shape == "flat" else 20)


@pytest.mark.parametrize(("task", "loss"), CASES)
@pytest.mark.parametrize("shape", ["plain", "flat", "copies"])
def test_large_batches(task, loss, shape):
    rng = np.random.default_rng(2)
    for count in (100, 256):
        batch = random_batch(rng, task, loss, shape, count if task != "support" else count // 4)
        tau = batch.solve()
        assert tau is not None or (loss == "hard" and shape == "flat")
        assert tau is None or kkt_violation(batch, tau) < 1e-8


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("task", ["margin", "tube", "top"])
def test_against_the_reference(task, loss):
    rng = np.random.default_rng(3)
    for _ in range(20):
        batch = random_batch(rng, task, loss, "plain", 6)
        Q, linear, width, lower, upper = batch.dual()
        t = batch_dual(Q, linear, upper, np.zeros(6), width, lower)
        tau = batch.solve()
        np.testing.assert_allclose(tau, t[:, None] * batch.directions(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "hard"])
def test_support_classes_against_the_reference(loss):
    rng = np.random.default_rng(4)
    for _ in range(20):
        batch = random_batch(rng, "support", loss, "plain", 5)
        penalties = [slack(loss, batch.C * w) for w in batch.weights]
        T = batch_support_classes(batch.scores, batch.y, batch.gram, penalties)
        np.testing.assert_allclose(batch.solve(), T, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_hard_support_classes_of_the_reference_are_optimal(shape):
    """Almost parallel rows would need thousands of rounds of coordinate steps."""
    rng = np.random.default_rng(6)
    for _ in range(8):
        batch = random_batch(rng, "support", "hard", shape, 8)
        batch.gram = batch.gram + 30 * np.sqrt(np.outer(*2 * [batch.gram.diagonal()]))
        found = batch.solve()
        T = batch_support_classes(batch.scores, batch.y, batch.gram, [slack("hard", 1.0)] * 8)
        assert (kkt_violation(batch, T) < 1e-8) == (found is not None)
        if found is not None:
            np.testing.assert_allclose(batch.gram @ found, batch.gram @ T, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "hard"])
@pytest.mark.parametrize("task", ["margin", "tube", "support"])
def test_against_a_convex_solver(task, loss):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(5)
    for shape in ("plain", "copies"):
        batch = random_batch(rng, task, loss, shape, 6, classes=3)
        batch.C, outputs = 1.0, batch.scores.shape[1]
        root = np.linalg.cholesky(batch.gram + 1e-13 * np.eye(6))  # rows with this Gram matrix
        step, xi = cp.Variable((6, outputs)), cp.Variable(6, nonneg=True)
        f = batch.scores + root @ step
        limits = [] if loss != "hard" else [xi == 0]
        for k in range(6):
            if task == "tube":
                limits.append(cp.abs(batch.y[k] - f[k, 0]) <= batch.epsilon + xi[k])
            elif task == "margin":
                limits.append((2 * batch.y[k] - 1) * f[k, 0] >= 1 - xi[k])
            else:
                wrong = [v for v in range(3) if v != batch.y[k]]
                limits += [f[k, batch.y[k]] - f[k, v] >= 1 - xi[k] for v in wrong]
        penalty = batch.weights @ (cp.square(xi) if loss == "squared_hinge" else xi)
        problem = cp.Problem(cp.Minimize(cp.sum_squares(step) / 2 + penalty), limits)
        problem.solve(solver=cp.CLARABEL)
        tau = batch.solve()
        np.testing.assert_allclose(batch.scores + batch.gram @ tau, f.value, atol=2e-5)


def test_passive_batch_changes_nothing():
    scores = np.array([[2.0], [-1.5], [1.0]])
    batch = Batch("margin", "hinge", np.eye(3) * 2, scores, np.array([1, 0, 1]), np.ones(3))
    assert not batch.solve().any()


def test_losses_are_not_clipped():
    """The negative loss of a satisfied example counts in the joint solution."""
    gram = np.array([[1.0, -0.9], [-0.9, 1.0]])
    batch = Batch("margin", "hard", gram, np.array([[0.0], [1.2]]), np.array([1, 1]), np.ones(2))
    after = batch.scores + gram @ batch.solve()
    assert_close(after, [[1.0], [1.0]])
