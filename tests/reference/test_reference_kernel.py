"""Kernel learners: equality with the linear learner, and budgets of least cost."""

import numpy as np
import pytest

from aggro.reference import ReferenceKernelLearner, ReferenceLearner, kernel_matrix, remove_one

LOSSES = ["hard", "hinge", "squared_hinge", "least_squares"]


def data(task, seed=0, n=30, d=6):
    rng = np.random.default_rng(seed)
    y = {"binary": rng.choice([-1.0, 1.0], n), "multiclass": rng.integers(0, 4, n)}
    return rng.normal(size=(n, d)), y.get(task, rng.normal(size=n))


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_linear(task, loss, batch, intercept):
    X, y = data(task)
    outputs = 4 if task == "multiclass" else 1
    common = {"n_outputs": outputs, "loss": loss, "C": 0.3, "fit_intercept": intercept}
    common["multiclass"] = "top" if loss == "least_squares" else "support"
    linear = ReferenceLearner(task, 6, **common)
    kernel = ReferenceKernelLearner(task, 6, kernel="linear", **common)
    for start in range(0, len(y), batch):
        some = slice(start, start + batch)
        omega = np.where(np.arange(len(y[some])) % 3, 1.0, 2.0)
        linear.learn_batch(X[some], y[some], omega)
        kernel.learn_batch(X[some], y[some], omega)
    np.testing.assert_allclose(kernel.scores(X), linear.scores(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(kernel.b, linear.b, rtol=1e-7, atol=1e-8)
    assert kernel.n_updates == linear.n_updates == len(kernel.beta)
    assert kernel.n_mistakes == linear.n_mistakes
    assert kernel.cumulative_loss == pytest.approx(linear.cumulative_loss)


def test_kernels_by_definition():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=3), rng.normal(size=3)

    def value(kernel):
        return kernel_matrix(x[None], z[None], kernel, gamma=0.7, degree=2, coef0=0.5)[0, 0]

    assert value("linear") == pytest.approx(x @ z)
    assert value("poly") == pytest.approx((0.7 * (x @ z) + 0.5) ** 2)
    assert value("sigmoid") == pytest.approx(np.tanh(0.7 * (x @ z) + 0.5))
    assert value("rbf") == pytest.approx(np.exp(-0.7 * np.sum((x - z) ** 2)))
    with pytest.raises(ValueError, match="unknown kernel"):
        value("cubic")


def test_hard_kernel_step_reaches_the_margin():
    X, y = data("binary", seed=2)
    learner = ReferenceKernelLearner("binary", 6, kernel="rbf", gamma=0.2, loss="hard")
    for row, label in zip(X, y, strict=True):
        learner.learn(row, label)
        assert label * learner.scores(row[None])[0, 0] >= 1 - 1e-9


@pytest.mark.parametrize("maintenance", ["simple", "nearest", "projection"])
def test_removal_is_the_projection_of_least_cost(maintenance):
    rng = np.random.default_rng(3)
    for _ in range(10):
        P = rng.normal(size=(7, 3))
        K, beta = kernel_matrix(P, P, "rbf", 0.3), rng.normal(size=(7, 2))
        r, kept = remove_one(K, beta, 1, maintenance)
        left = np.delete(np.arange(7), r)

        def error(coefficients, left=left, beta=beta, K=K):
            change = beta.copy()
            change[left] -= coefficients
            change[np.delete(np.arange(7), left)] = beta[np.delete(np.arange(7), left)]
            return np.sum((K @ change) * change)

        best = error(kept)
        touched = np.any(kept != beta[left], axis=1)
        assert touched.sum() <= {"simple": 1, "nearest": 2, "projection": 6}[maintenance]
        for _ in range(20):  # no other coefficients on V are closer to the old function
            other = kept + 0.1 * rng.normal(size=kept.shape) * touched[:, None]
            assert error(other) >= best - 1e-12
        if maintenance == "nearest":
            distances = [np.sum((P[j] - P[r]) ** 2) if j != r else np.inf for j in range(6)]
            assert list(left[touched]) == [np.argmin(distances), 6]
        if maintenance == "simple":  # and no other removal
            costs = [beta[j] @ beta[j] * (K[j, j] - K[j, 6] ** 2 / K[6, 6]) for j in range(6)]
            assert r == np.argmin(costs)
            assert best == pytest.approx(min(costs))


def test_removal_keeps_the_new_example_and_larger_spans_cost_less():
    rng = np.random.default_rng(4)
    P = rng.normal(size=(6, 3))
    K, beta = kernel_matrix(P, P, "rbf", 0.3) + 1.0, rng.normal(size=(6, 1))
    costs = []
    for maintenance in ("simple", "nearest", "projection"):
        r, kept = remove_one(K, beta, 1, maintenance)
        left = np.delete(np.arange(6), r)
        assert K[5, left] @ kept[:, 0] == pytest.approx(K[5] @ beta[:, 0])
        change = beta[:, 0].copy()
        change[left] -= kept[:, 0]
        costs.append(change @ K @ change)
    assert costs[0] >= costs[1] - 1e-12
    assert costs[1] >= costs[2] - 1e-12


@pytest.mark.parametrize("maintenance", ["simple", "nearest", "projection"])
def test_budget_step_minimises_the_pa_objective(maintenance):
    """The step and the removal minimise 1/2|f - f_t|^2 + C l over f = f_t - a_r phi_r + span(V)."""
    rng = np.random.default_rng(5)
    X, y = data("binary", seed=5, d=3)
    learner = ReferenceKernelLearner(
        "binary", 3, gamma=0.3, C=0.5, fit_intercept=False, budget=5, maintenance=maintenance
    )
    for row, label in zip(X, y, strict=True):
        support, beta = learner.support, learner.beta[:, 0]
        learner.learn(row, label)
        gone = [
            j for j, s in enumerate(support) if not np.any(np.all(learner.support == s, axis=1))
        ]
        if not gone:
            continue
        both = np.vstack([support, row])
        K, old = kernel_matrix(both, both, "rbf", 0.3), np.append(beta, 0.0)
        new = np.insert(learner.beta[:, 0], gone[0], 0.0)

        def objective(f, K=K, old=old, label=label):
            return (f - old) @ K @ (f - old) / 2 + 0.5 * max(0.0, 1 - label * (K[-1] @ f))

        touched = (new != old) & (np.arange(len(new)) != gone[0])
        for _ in range(15):
            D = touched * rng.normal(size=len(new)) * 10 ** rng.uniform(-3, 0)
            assert objective(new + D) >= objective(new) + D @ K @ D / 2 - 1e-10
    assert len(learner.beta) == 5


@pytest.mark.parametrize("maintenance", ["simple", "nearest", "projection", "oldest"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_budget_holds_in_batches(maintenance, task):
    X, y = data(task, seed=6)
    learner = ReferenceKernelLearner(
        task,
        6,
        4 if task == "multiclass" else 1,
        gamma=0.1,
        batch_size=3,
        budget=7,
        maintenance=maintenance,
    )
    learner.learn_stream(X, y)
    assert len(learner.beta) == len(learner.support) == 7
    assert learner.n_updates > 7
    if maintenance == "oldest":
        newest = [np.flatnonzero(np.all(s == X, axis=1))[0] for s in learner.support]
        assert newest == sorted(newest)


def test_budget_smaller_than_a_batch_is_rejected():
    with pytest.raises(ValueError, match="budget"):
        ReferenceKernelLearner("binary", 2, budget=1).learn_batch(np.eye(2), [1.0, -1.0])
