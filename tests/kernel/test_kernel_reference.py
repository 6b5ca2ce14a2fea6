"""The compiled learner equals the NumPy reference; the linear kernel equals the linear learner."""

import numpy as np
import pytest
from kernel_helpers import STRATEGIES, assert_same, both, data, estimator, scores

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.kernel import KernelPassiveAggressiveClassifier
from aggro.reference import ReferenceKernelLearner, ReferenceLearner

TASKS = ("binary", "multiclass", "regression")
LOSSES = ("hinge", "squared_hinge", "hard")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_equals_the_reference(task, loss, batch, intercept):
    X, y = data(task, seed=batch)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y))
    params = {"gamma": 0.2, "C": 0.4, "loss": loss, "batch_size": batch, "fit_intercept": intercept}
    model, expected = both(task, X, y, weights, **params)
    assert_same(model, expected, X)
    assert model.n_updates_ == expected.n_updates == model.n_support_
    assert model.t_ == 1 + np.count_nonzero(weights)
    np.testing.assert_allclose(model.intercept_, expected.b, atol=1e-10)


@pytest.mark.parametrize("multiclass", ["top", "support"])
@pytest.mark.parametrize("loss", LOSSES)
def test_multiclass_equals_the_reference(multiclass, loss):
    X, y = data("multiclass", n=90, seed=3, classes=5)
    model, expected = both("multiclass", X, y, gamma=0.1, loss=loss, multiclass=multiclass)
    assert_same(model, expected, X)
    assert model.dual_coef_.shape == (5, model.n_support_)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_least_squares_equals_the_reference(task):
    X, y = data(task, seed=4)
    params = {"gamma": 0.1, "loss": "least_squares", "C": 0.5, "multiclass": "top"}
    model, expected = both(task, X, y, **params)
    assert_same(model, expected, X)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "rbf"])
def test_all_kernels_equal_the_reference(kernel):
    X, y = data("binary", n=40, d=3, seed=5)
    params = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 0.5, "C": 0.1}
    model, expected = both("binary", X, y, **params)
    assert_same(model, expected, X)


@pytest.mark.parametrize("degree", [0, 1, 3, 6, 7])
def test_polynomials_of_every_degree(degree):
    """With degree 0 all rows are equal: only class frequencies are learned."""
    X, y = data("binary", n=40, d=3, seed=5)
    params = {"kernel": "poly", "gamma": 0.3, "degree": degree, "coef0": 0.5, "C": 10.0}
    assert_same(*both("binary", X, y, **params), X)


def test_loss_comparable_to_its_scores_is_kept_despite_cancellation():
    """A tiny row has a coefficient of 1e30; rows with disjoint features are still learned."""
    X, y = data("binary", n=40, d=3, seed=5)
    X[0], X[1:, 0] = (1e-5, 0.0, 0.0), 0.0
    params = {"kernel": "poly", "gamma": 0.5, "degree": 3, "coef0": 0.0, "fit_intercept": False}
    model, expected = both("binary", X, y, loss="hard", **params)
    assert np.abs(model.dual_coef_).max() > 1e30
    assert model.n_updates_ == expected.n_updates


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("batch", [1, 3])
def test_budget_equals_the_reference(strategy, task, batch):
    X, y = data(task, n=80, seed=6)
    params = {"gamma": 0.1, "budget": 9, "budget_strategy": strategy, "batch_size": batch}
    model, expected = both(task, X, y, loss="hinge", C=0.7, **params)
    assert model.n_support_ == 9
    assert_same(model, expected, X, tolerance=1e-8)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_the_linear_learner(task, loss, intercept):
    X, y = data(task, seed=7)
    common = {"loss": loss, "C": 0.3, "fit_intercept": intercept}
    model, _ = both(task, X, y, kernel="linear", gamma=1.0, **common)
    outputs = 4 if task == "multiclass" else 1
    linear = ReferenceLearner(task, X.shape[1], n_outputs=outputs, epsilon=0.1, **common)
    for row, target in zip(X, 2.0 * y - 1 if task == "binary" else y, strict=True):
        linear.learn_batch(row[None], np.array([target]))
    expected = linear.scores(X)
    got = scores(model, X).reshape(expected.shape)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10 * max(1, np.abs(expected).max()))
    weights = linear.scores(np.eye(X.shape[1])) - linear.scores(np.zeros((1, X.shape[1])))
    np.testing.assert_allclose(model.coef_, weights.T, atol=1e-9 * max(1, np.abs(weights).max()))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("batch", [1, 4])
def test_mistakes_are_those_of_the_first_pass(task, batch):
    """Mistakes count the first pass only, losses and updates all passes."""
    X, y = data(task, seed=12)
    common = {"C": 0.1, "batch_size": batch, "max_iter": 5, "tol": None, "shuffle": False}
    model = estimator(task, kernel="linear", **common).fit(X, y)
    line = PassiveAggressiveRegressor if task == "regression" else PassiveAggressiveClassifier
    options = {"intercept_scaling": 1.0, "average": False, "early_stopping": False}
    linear = line(**common, **options).fit(X, y)
    assert model.n_mistakes_ == linear.n_mistakes_
    assert model.n_updates_ == linear.n_updates_
    assert model.cumulative_loss_ == pytest.approx(linear.cumulative_loss_, rel=1e-9)
    once = estimator(task, kernel="linear", **common | {"max_iter": 1}).fit(X, y)
    assert model.n_mistakes_ == once.n_mistakes_
    model.partial_fit(X, y)  # new rows
    linear.partial_fit(X, y)
    assert model.n_mistakes_ == linear.n_mistakes_
    assert model.n_mistakes_ >= once.n_mistakes_


def test_the_reference_counts_mistakes_of_new_rows():
    X, y = data("binary", seed=12)
    expected = ReferenceKernelLearner("binary", X.shape[1], C=0.1)
    expected.learn_stream(X, 2.0 * y - 1)
    mistakes, loss = expected.n_mistakes, expected.cumulative_loss
    expected.frozen = True
    expected.learn_stream(X, 2.0 * y - 1)
    assert expected.n_mistakes == mistakes > 0
    assert expected.cumulative_loss > loss


def test_one_vs_rest_is_one_binary_model_per_class():
    X, y = data("multiclass", seed=8)
    model = KernelPassiveAggressiveClassifier(multiclass="ovr", gamma=0.2, C=0.5)
    model.partial_fit(X, y, classes=np.arange(4))
    for k in range(4):
        binary = KernelPassiveAggressiveClassifier(gamma=0.2, C=0.5)
        binary.partial_fit(X, (y == k).astype(int), classes=[0, 1])
        np.testing.assert_allclose(
            model.decision_function(X)[:, k], binary.decision_function(X), atol=1e-10
        )


def test_rbf_is_accurate_far_from_the_origin():
    X, y = data("binary", seed=9)
    near, expected = both("binary", X + 1e5, y, gamma=0.2)
    assert_same(near, expected, X + 1e5, tolerance=1e-7)


def test_many_features_and_odd_sizes_equal_the_reference():
    for d in (1, 7, 257, 600):
        X, y = data("binary", n=37, d=d, seed=d)
        model, expected = both("binary", X, y, gamma=0.5 / d)
        assert_same(model, expected, X)
