"""Streams that change: class means and metric that forget; tubes in units of the targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

# so strong a pull at every example that the model is the classifier of the nearest mean
MEANS = {"class_mean": 1e13, "trigger": "always", "C": 1e-9}


def drifting(n=400, seed=0):
    """Two classes whose means wander."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    way = np.linspace(0, 5, n)[:, None] * [1.0, -2.0, 0.5]
    return rng.normal(size=(n, 3)) + way + 2.0 * y[:, None], y


@pytest.mark.parametrize("forgetting", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("pieces", [1, 7])
def test_class_means_follow(forgetting, pieces):
    X, y = drifting()
    model = PassiveAggressiveClassifier(forgetting=forgetting, average=False, **MEANS)
    for part in np.array_split(np.arange(len(y)), pieces):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    decay = (1 - forgetting) ** np.arange(len(y))[::-1]  # what is left of each example
    low, high = (np.average(X[y == c], axis=0, weights=decay[y == c]) for c in (0, 1))
    assert_allclose(model.coef_[0], high - low, rtol=1e-8)
    assert_allclose(model.intercept_[0], (low @ low - high @ high) / 2, rtol=1e-8)


def test_forgetting_helps_the_means_of_a_stream_that_changes():
    X, y = drifting(3000)
    X[1500:] = -X[1500:]
    mistakes = [
        PassiveAggressiveClassifier(forgetting=f, **MEANS).partial_fit(X, y).n_mistakes_
        for f in (0.0, 0.02)
    ]
    assert mistakes[1] < 0.7 * mistakes[0]


def test_a_diagonal_metric_stays_ready_to_move():
    X, y = drifting(4000)
    variances = {}
    for f in (0.0, 0.01):
        model = PassiveAggressiveClassifier(metric="diagonal", forgetting=f).partial_fit(X, y)
        learner = model._learner
        table = learner.state()["weights"].reshape(learner.features, -1)
        variances[f] = table[:, learner.model.lanes :][:, 0]
    assert np.all(variances[0.01] > 2 * variances[0.0])


def test_nothing_is_forgotten_where_there_is_nothing_to_forget():
    X, y = drifting()
    plain, forgetful = (
        PassiveAggressiveClassifier(forgetting=f, average=False).partial_fit(X, y)
        for f in (0.0, 0.1)
    )
    assert_array_equal(plain.coef_, forgetful.coef_)


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 2, np.nan, "auto", None, True])
def test_bounds(wrong):
    X, y = drifting(20)
    with pytest.raises(ValueError, match="forgetting="):
        PassiveAggressiveClassifier(forgetting=wrong).partial_fit(X, y)
    with pytest.raises(ValueError, match="forgetting="):
        PassiveAggressiveRegressor(forgetting=wrong).fit(X, y)


def test_a_full_matrix_cannot_forget():
    X, y = drifting(20)
    with pytest.raises(ValueError, match="full matrix cannot forget"):
        PassiveAggressiveClassifier(metric="full", forgetting=0.01).partial_fit(X, y)
    with pytest.raises(ValueError, match="forgetting cannot change"):
        model = PassiveAggressiveClassifier(forgetting=0.1).partial_fit(X, y)
        model.set_params(forgetting=0.2).partial_fit(X, y)


# -- tubes -----------------------------------------------------------------------------------------


def numbers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0] + 3 + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "hard"])
@pytest.mark.parametrize("params", [{}, {"metric": "diagonal"}, {"average": True}], ids=str)
@pytest.mark.parametrize("unit", [1024.0, 1000.0, 1e-3])
def test_the_unit_of_the_targets_does_not_matter(loss, params, unit):
    X, y = numbers()
    params = {**params, "loss": loss, "epsilon": 0.2, "relative_epsilon": True}
    price = unit if loss == "epsilon_insensitive" else 1.0  # there, C is a step in units of y
    small = PassiveAggressiveRegressor(C=0.1, **params).partial_fit(X, y)
    large = PassiveAggressiveRegressor(C=0.1 * price, **params).partial_fit(X, unit * y)
    assert small.n_updates_ == large.n_updates_ < len(y)
    assert_allclose(large.predict(X), unit * small.predict(X), rtol=1e-9)


def test_the_tube_is_the_spread_of_the_targets_so_far():
    X, y = numbers()
    model = PassiveAggressiveRegressor(
        C=1.0, loss="hard", epsilon=0.5, relative_epsilon=True, fit_intercept=False, average=False
    )
    w = np.zeros(4)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        error = target - w @ x
        loss = max(abs(error) - 0.5 * np.std(y[: t + 1]), 0.0)
        w += np.sign(error) * loss / (x @ x) * x
        model.partial_fit(x[None], [target])
    assert_allclose(model.coef_, w, rtol=1e-9)


def test_each_target_has_its_own_spread():
    X, y = numbers()
    params = {"C": np.inf, "epsilon": 0.3, "relative_epsilon": True}
    Y = np.column_stack([y, 50 * y])
    model = PassiveAggressiveRegressor(**params).partial_fit(X, Y)
    assert_allclose(model.coef_[1], 50 * model.coef_[0], rtol=1e-9)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("wrong", [-0.1, np.nan, "wide", None, True])
def test_wrong_tubes(wrong, relative):
    X, y = numbers(20)
    with pytest.raises(ValueError, match=r"epsilon=.* is not valid; give a number of at least 0"):
        PassiveAggressiveRegressor(epsilon=wrong, relative_epsilon=relative).partial_fit(X, y)
