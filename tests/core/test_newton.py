"""Newton's metric: precisions gain 2 C loss² x² before the step, which uses them.

In the precision, losses are clipped at two.
"""

import numpy as np
import pytest

from aggro import (
    AROWClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    SoftConfidenceWeightedClassifier,
)

X = np.array([[1.0, 0.0], [2.0, 1.0], [0.5, -1.0]])
Y = np.array([1, 0, 1])


def model(**axes):
    given = {"metric": "newton", "loss": "squared_hinge", "C": 0.5, "average": False} | axes
    return PassiveAggressiveClassifier(fit_intercept=False, **given)


def by_hand(X, y, C):
    w, precision = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for x, sign in zip(X, 2 * y - 1, strict=True):
        loss = max(0.0, 1 - sign * (w @ x))
        precision = precision + 2 * C * min(loss, 2.0) ** 2 * x**2
        w = w + sign * loss / (x @ (x / precision) + 1 / (2 * C)) * x / precision
    return w


@pytest.mark.parametrize("C", [0.01, 0.5, 30.0])
def test_step_equals_the_formula(C):
    learned = model(C=C).partial_fit(X, Y, classes=[0, 1])
    np.testing.assert_allclose(learned.coef_[0], by_hand(X, Y, C), rtol=1e-12)


def test_step_uses_the_updated_metric():
    """The first step is shorter than in the diagonal metric, which is updated afterwards."""
    newton, diagonal = (
        model(metric=metric).partial_fit(X[:1], Y[:1], classes=[0, 1]).coef_[0, 0]
        for metric in ("newton", "diagonal")
    )
    assert diagonal == 0.5 and newton == pytest.approx(1 / 3)


def test_loss_in_the_metric_is_clipped_at_two():
    two, hundred = (
        PassiveAggressiveRegressor(
            metric="newton", loss="squared_epsilon_insensitive", epsilon=0.0, fit_intercept=False
        )
        .partial_fit([[1.0]], [target])
        .coef_[0]
        for target in (2.0, 100.0)
    )
    assert two == pytest.approx(2 * (1 / 9) / (1 / 9 + 1 / 2))
    assert hundred == pytest.approx(50 * two)


def test_weight_multiplies_C():
    """The weight of an example multiplies C both in the gain and in the step."""
    heavy = model(C=0.25).partial_fit(X, Y, classes=[0, 1], sample_weight=np.full(3, 2.0))
    np.testing.assert_allclose(heavy.coef_, model().partial_fit(X, Y, classes=[0, 1]).coef_)


def test_example_without_loss_changes_nothing():
    learned = model(C=1e6).partial_fit(X[:1], Y[:1], classes=[0, 1])
    state = learned._learner.state()["weights"].copy()
    learned.partial_fit(10 * X[:1], Y[:1])
    np.testing.assert_array_equal(learned._learner.state()["weights"], state)


@pytest.mark.parametrize("rule", [AROWClassifier, SoftConfidenceWeightedClassifier])
def test_second_order_rules_reject_newton(rule):
    with pytest.raises(ValueError, match="defines how its metric grows"):
        rule(metric="newton").partial_fit(X, Y, classes=[0, 1])


def test_model_selection_of_second_order_rules_skips_newton():
    selecting = AROWClassifier(metric="auto").partial_fit(X, Y, classes=[0, 1])
    assert {candidate["metric"] for candidate in selecting.candidates_} == {
        "euclidean",
        "diagonal",
        "adagrad",
    }
