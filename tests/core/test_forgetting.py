"""Changing streams: forgetting of class means and metrics, and relative epsilon."""

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_learner, reference_of, train, train_reference
from numpy.testing import assert_array_equal

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import rows_of
from aggro.settings import Settings

# a pull so strong that the model is a nearest-mean classifier
MEANS = {"class_mean": 1e13, "trigger": "always", "C": 1e-9}


def drifting(n=400, seed=0):
    """Return two classes whose means drift."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    way = np.linspace(0, 5, n)[:, None] * [1.0, -2.0, 0.5]
    return rng.normal(size=(n, 3)) + way + 2.0 * y[:, None], y


@pytest.mark.parametrize("forgetting", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("pieces", [1, 7])
def test_class_means_are_exponentially_weighted(forgetting, pieces):
    X, y = drifting()
    model = PassiveAggressiveClassifier(forgetting=forgetting, average=False, **MEANS)
    for part in np.array_split(np.arange(len(y)), pieces):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    decay = (1 - forgetting) ** np.arange(len(y))[::-1]  # weight of each example
    low, high = (np.average(X[y == c], axis=0, weights=decay[y == c]) for c in (0, 1))
    assert_close(model.coef_[0], high - low, rtol=1e-8)
    assert_close(model.intercept_[0], (low @ low - high @ high) / 2, rtol=1e-8)


ABSENT = {
    "binary": {"task": "binary"},
    "support": {"task": "multiclass"},
    "ovr": {"task": "multiclass", "multiclass": "ovr"},
    "labels": {"task": "multilabel", "average": True},
    "batches": {"task": "multiclass", "batch_size": 4},
    "queue": {"task": "binary", "queue": 3},
}


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-6), (np.float32, 5e-3)])
@pytest.mark.parametrize("kind", ABSENT)
def test_class_may_be_absent_for_long(kind, dtype, tolerance):
    """Its sums decay to almost zero; their remainder is not used as a mean."""
    rng = np.random.default_rng(3)
    settings = Settings(class_mean=0.3, forgetting=0.05, C=0.1, trigger="always", **ABSENT[kind])
    classes = 2 if settings.task == "binary" else 3
    y = rng.integers(0, classes, 1300)
    y[100:1200] = np.minimum(y[100:1200], classes - 2)  # the last class is absent
    X = (rng.normal(size=(1300, 4)) + 2.0 * y[:, None]).astype(dtype)
    targets = np.eye(classes)[y] if settings.task == "multilabel" else y
    learner = make_learner(settings, 4, classes, dtype)
    reference = reference_of(settings, 4, 1 if settings.task == "binary" else classes)
    weights = np.where(np.arange(1300) % 400 == 399, 100.0, 1.0)
    for part in np.array_split(np.arange(1300), 13):
        train(learner, X[part], targets[part], weights[part])
        train_reference(reference, X[part], targets[part], weights[part])
        scores = reference.scores(X).reshape(1300, -1)
        assert_close(learner.scores(rows_of(X)), scores, rtol=tolerance)


def test_forgetting_improves_class_means_of_a_changing_stream():
    X, y = drifting(3000)
    X[1500:] = -X[1500:]
    mistakes = [
        PassiveAggressiveClassifier(forgetting=f, **MEANS).partial_fit(X, y).n_mistakes_
        for f in (0.0, 0.02)
    ]
    assert mistakes[1] < 0.7 * mistakes[0]


def test_forgetting_keeps_the_steps_of_a_diagonal_metric_large():
    X, y = drifting(4000)
    variances = {}
    for f in (0.0, 0.01):
        model = PassiveAggressiveClassifier(metric="diagonal", forgetting=f).partial_fit(X, y)
        learner = model._learner
        table = learner.state()["weights"].reshape(learner.features, -1)
        variances[f] = table[:, learner.model.columns :][:, 0]
    assert np.all(variances[0.01] > 2 * variances[0.0])


def test_forgetting_has_no_effect_without_class_means_or_metric():
    X, y = drifting()
    plain, forgetful = (
        PassiveAggressiveClassifier(forgetting=f, average=False).partial_fit(X, y)
        for f in (0.0, 0.1)
    )
    assert_array_equal(plain.coef_, forgetful.coef_)


@pytest.mark.parametrize("wrong", [-0.1, 1.0, 2, np.nan, "auto", None, True])
def test_invalid_forgetting_is_rejected(wrong):
    X, y = drifting(20)
    with pytest.raises(ValueError, match="forgetting="):
        PassiveAggressiveClassifier(forgetting=wrong).partial_fit(X, y)
    with pytest.raises(ValueError, match="forgetting="):
        PassiveAggressiveRegressor(forgetting=wrong).fit(X, y)


def test_full_metric_rejects_forgetting():
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
def test_relative_epsilon_is_invariant_to_the_unit_of_the_targets(loss, params, unit):
    X, y = numbers()
    params = {**params, "loss": loss, "epsilon": 0.2, "relative_epsilon": True}
    factor = unit if loss == "epsilon_insensitive" else 1.0  # C bounds the step, in units of y
    small = PassiveAggressiveRegressor(C=0.1, **params).partial_fit(X, y)
    large = PassiveAggressiveRegressor(C=0.1 * factor, **params).partial_fit(X, unit * y)
    assert small.n_updates_ == large.n_updates_ < len(y)
    assert_close(large.predict(X), unit * small.predict(X), rtol=1e-9)


def test_relative_epsilon_uses_the_spread_of_the_targets_so_far():
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
    assert_close(model.coef_, w, rtol=1e-9)


def test_each_target_has_a_separate_spread():
    X, y = numbers()
    params = {"C": np.inf, "epsilon": 0.3, "relative_epsilon": True}
    Y = np.column_stack([y, 50 * y])
    model = PassiveAggressiveRegressor(**params).partial_fit(X, Y)
    assert_close(model.coef_[1], 50 * model.coef_[0], rtol=1e-9)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("wrong", [-0.1, np.nan, "wide", None, True])
def test_invalid_epsilon_is_rejected(wrong, relative):
    X, y = numbers(20)
    with pytest.raises(ValueError, match=r"epsilon=.* is not valid; give a number of at least 0"):
        PassiveAggressiveRegressor(epsilon=wrong, relative_epsilon=relative).partial_fit(X, y)
