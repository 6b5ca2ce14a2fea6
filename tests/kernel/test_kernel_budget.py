"""Budgets: the size, the removed support vectors, and the score of the new example."""

import pickle

import numpy as np
import pytest
from kernel_helpers import STRATEGIES, data, estimator, scores
from sklearn.base import clone

from aggro.estimators.kernel import KernelPassiveAggressiveClassifier
from aggro.reference import kernel_matrix


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("budget", [1, 2, 7])
def test_size_is_never_exceeded(strategy, budget):
    X, y = data("multiclass", n=50)
    model = KernelPassiveAggressiveClassifier(budget=budget, budget_strategy=strategy, gamma=0.3)
    for row, label in zip(X, y, strict=True):
        model.partial_fit(row[None], [label], classes=np.arange(4))
        assert model.n_support_ == len(model.support_vectors_) == len(model.support_) <= budget
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_new_example_has_the_required_score(strategy, task):
    X, y = data(task, n=60, seed=1)
    model = estimator(task, budget=8, budget_strategy=strategy, gamma=0.3, loss="hard")
    for k in range(60):
        known = k > 0
        before = scores(model, X[k : k + 1])[0] if known else 0.0
        if task == "binary":
            model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[0, 1])
            sign, after = 2 * y[k] - 1, scores(model, X[k : k + 1])[0]
            promised = sign * max(1.0, sign * before)
        else:
            model.partial_fit(X[k : k + 1], y[k : k + 1])
            after = scores(model, X[k : k + 1])[0]
            promised = np.clip(before, y[k] - 0.1, y[k] + 0.1)
        if strategy != "oldest" or model.n_support_ < 8:
            assert after == pytest.approx(promised, abs=1e-8)


def removal_costs(K, beta, new, strategy):
    """Return the cost of removing each old support vector, by definition."""
    costs = {}
    for r in range(len(K)):
        if r == new:
            continue
        others = [j for j in range(len(K)) if j not in (r, new)]
        nearest = sorted(others, key=lambda j: K[j, j] - 2 * K[r, j])[:1]
        V = [new] + {"simple": [], "nearest": nearest, "projection": others}[strategy]
        share = np.linalg.lstsq(K[np.ix_(V, V)], K[V, r], rcond=None)[0]
        costs[r] = np.sum(beta[r] ** 2) * (K[r, r] - K[r, V] @ share) / 2
    return costs


@pytest.mark.parametrize("strategy", ["simple", "nearest", "projection"])
def test_support_vector_of_least_cost_is_removed(strategy):
    X, y = data("multiclass", n=80, seed=2)
    model = KernelPassiveAggressiveClassifier(budget=10, budget_strategy=strategy, gamma=0.2, C=0.5)
    removed = 0
    for k in range(80):
        first = k == 0
        ids = [] if first else list(model.support_)
        beta = None if first else dict(zip(ids, model.dual_coef_.T, strict=True))
        tau = None if first else step_of(model, X[k], y[k])
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes=np.arange(4))
        if first or k not in model.support_ or len(ids) < 10:
            continue
        removed += 1
        rows = [*ids, k]
        K = kernel_matrix(X[rows], X[rows], "rbf", 0.2) + 1
        costs = removal_costs(K, np.array([*beta.values(), tau]), 10, strategy)
        gone = next(iter(set(ids) - set(model.support_)))
        assert costs[ids.index(gone)] <= min(costs.values()) * (1 + 1e-6) + 1e-12
    assert removed > 20


def step_of(model, x, y):
    """Return the coefficients of the new example: those of the support-class solution."""
    from aggro.reference import slack, support_classes

    s = model.decision_function(x[None])[0]
    wrong = np.arange(len(s)) != y
    tau = np.zeros(len(s))
    tau[wrong] = -support_classes(1 - s[y] + s[wrong], 2.0, slack("hinge", model.C))
    tau[y] = -tau.sum()
    return tau


def test_oldest_drops_the_oldest():
    X, y = data("regression", n=30, seed=3)
    model = estimator("regression", budget=5, budget_strategy="oldest", loss="hard", epsilon=0.0)
    model.partial_fit(X, y)
    assert sorted(model.support_) == [25, 26, 27, 28, 29]


@pytest.mark.parametrize("budget", [12, 25, 1000])
@pytest.mark.parametrize(
    ("kernel", "d"), [({"kernel": "linear"}, 4), ({"kernel": "poly", "degree": 2, "coef0": 0}, 3)]
)
def test_projection_of_dependent_support_vectors_loses_nothing(kernel, d, budget):
    """At most 7 support vectors span the space, with very different lengths."""
    for seed in range(10):
        X, y = data("binary", n=80, d=d, seed=seed)
        X = (X * np.random.default_rng(seed).choice([0.1, 1, 5], (80, d))).round(1)
        plain = KernelPassiveAggressiveClassifier(**kernel, C=0.2, gamma=0.5)
        small = clone(plain).set_params(budget=budget, budget_strategy="projection")
        expected = plain.partial_fit(X, y, classes=[0, 1]).decision_function(X)
        found = small.partial_fit(X, y, classes=[0, 1]).decision_function(X)
        assert small.n_support_ <= budget
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_projection_within_the_budget_changes_nothing(kernel):
    """This includes nearly dependent rows: no example within the budget is projected."""
    for seed in range(10):
        X, y = data("multiclass", n=70, d=1 + seed % 5, seed=seed)
        plain = KernelPassiveAggressiveClassifier(kernel=kernel, gamma=0.1, coef0=0.0)
        small = clone(plain).set_params(budget=100, budget_strategy="projection")
        for model in (plain, small):
            model.partial_fit(X, y, classes=np.arange(4))
        np.testing.assert_array_equal(small.decision_function(X), plain.decision_function(X))


def test_inverse_stays_accurate_over_many_projections():
    X, y = data("binary", n=1500, d=2, seed=5)
    model = KernelPassiveAggressiveClassifier(
        budget=40, budget_strategy="projection", gamma=1.0, loss="hard"
    )
    model.partial_fit(X, y, classes=[0, 1])
    margins = []
    for k in range(40):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        margins.append((2 * y[k] - 1) * model.decision_function(X[k : k + 1])[0])
    assert min(margins) > 1 - 1e-5


@pytest.mark.parametrize("strategy", ["nearest", "projection"])
def test_the_mean_is_projected_like_the_model(strategy):
    X, y = data("binary", n=200, seed=6)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    params = {"budget": 40, "budget_strategy": strategy, "average": True, "gamma": 0.5}
    model = KernelPassiveAggressiveClassifier(max_iter=10, tol=None, random_state=0, **params)
    assert model.fit(X, y).score(X, y) > 0.8


def test_average_is_the_mean_of_all_rounds():
    X, y = data("multiclass", n=40, seed=7)
    last = KernelPassiveAggressiveClassifier(gamma=0.2)
    mean = KernelPassiveAggressiveClassifier(gamma=0.2, average=True)
    total = 0.0
    for k in range(40):
        for model in (last, mean):
            model.partial_fit(X[k : k + 1], y[k : k + 1], classes=np.arange(4))
        total = total + last.decision_function(X)
        np.testing.assert_allclose(mean.decision_function(X), total / (k + 1), atol=1e-10)


@pytest.mark.parametrize(
    "kernel", [{"kernel": "sigmoid"}, {"kernel": "poly", "coef0": -1.0}], ids=str
)
def test_indefinite_kernel_is_learned_or_rejected_completely(kernel):
    """If the shares of a removed support vector are not finite, the call changes nothing."""
    rejected = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(65, 10))[rng.integers(0, 50, 65)]  # some rows are repeated
        y = rng.integers(0, 3, 65)
        model = KernelPassiveAggressiveClassifier(
            gamma=0.1, budget=100, budget_strategy="projection", **kernel
        )
        for _ in range(5):
            before = pickle.dumps(model)
            try:
                model.partial_fit(X, y, classes=[0, 1, 2])
            except ValueError as error:
                assert "budget_strategy='oldest'" in str(error) or "overflow" in str(error)
                assert pickle.dumps(model) == before
                rejected += 1
                break
            assert np.isfinite(model.decision_function(X)).all()
    assert rejected > 0
