"""Variants that reduce to the same rule give the same model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from linear_strategies import close, variants
from linear_support import make_learner, same_state, train, trained

from aggro.settings import Settings

NO_TIES = ("binary", "support", "ovr", "multilabel")
SOFT = {"hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"}


@pytest.mark.parametrize("multiclass", ["support", "top"])
@given(v=variants(cases=["binary"], losses=range(3)))
def test_two_classes_equal_binary_with_twice_C(multiclass, v):
    """w_1 - w_0 of two classes is the binary w with 2C, for all other axes."""
    s = replace(v.settings, average=v.settings.average is True)
    weights = v.rng.uniform(0.5, 2, len(v.y))
    classes = replace(s, task="multiclass", multiclass=multiclass)
    two = train(make_learner(classes, v.X.shape[1], 2), v.X, v.y, weights)
    one = train(make_learner(replace(s, C=2 * s.C), v.X.shape[1], 1), v.X, v.y, weights)
    scale = 1e-9 * (1 + np.abs(one.coef()).max())
    np.testing.assert_allclose(two.coef()[1] - two.coef()[0], one.coef()[0], rtol=0, atol=scale)
    gap = two.intercept()[1] - two.intercept()[0]
    np.testing.assert_allclose(gap, one.intercept()[0], rtol=0, atol=scale)
    assert two.progress.updates == one.progress.updates


@given(variants(losses=[0, 1]))
def test_infinite_C_is_the_hard_rule(v):
    """The results are bitwise equal."""
    assert v.settings.loss in SOFT
    assume(v.settings.metric != "newton")  # its gain depends on C
    assert same_state(v.trained(C=np.inf), v.trained(loss="hard"))


@given(variants(class_mean=0.0, queue=1))
def test_zero_class_mean_is_the_plain_rule(v):
    """Without a pull, the trigger has no effect."""
    assert same_state(v.trained(trigger="always"), v.trained(trigger="loss"))


@given(variants(cases=NO_TIES, class_mean=0.0, queue=1, average=False))
def test_tiny_class_mean_is_close_to_the_plain_rule(v):
    """Data are chosen so that the pull breaks no ties between classes."""
    close(v.trained(class_mean=1e-14, trigger="loss"), v.trained(), 1e-8)


@given(variants(class_mean=0.0))
def test_first_update_does_not_depend_on_the_queue(v):
    """The queue holds a single classifier before the first update, whatever its length."""
    first = slice(0, v.settings.batch_size)
    a = v.trained(v.X[first], v.y[first], queue=1, trigger="loss")
    close(a, v.trained(v.X[first], v.y[first], queue=5, trigger="loss"))


@given(variants())
def test_batch_of_one_equals_online_learning(v):
    """A batch with one example gives the same step as the example alone."""
    assume(v.settings.average != "reservoir")  # its reservoir counts batches
    one_by_one = v.learner(batch_size=7)
    for x, y in zip(v.X, v.y, strict=True):
        train(one_by_one, x[None], np.array([y]))
    close(one_by_one, v.trained(batch_size=1))


@given(variants(metric="euclidean", batch_size=1))
def test_first_step_is_euclidean_in_every_metric(v):
    """Every metric starts as the identity."""
    row = slice(0, 1)
    plain = v.trained(v.X[row], v.y[row])
    for metric in ("diagonal", "full"):
        close(v.trained(v.X[row], v.y[row], metric=metric), plain)


def test_full_metric_of_one_hot_rows_is_diagonal():
    rng = np.random.default_rng(0)
    X, y = np.eye(5)[rng.integers(0, 5, 60)] * rng.uniform(0.5, 2, (60, 1)), rng.integers(0, 2, 60)
    for loss in ("hinge", "squared_hinge", "hard"):
        axes = {"task": "binary", "loss": loss, "fit_intercept": False}
        close(trained(X, y, metric="diagonal", **axes), trained(X, y, metric="full", **axes))


@pytest.mark.parametrize("metric", ["diagonal", "full"])
def test_squared_hinge_at_one_half_is_arow(metric):
    """PAM-II with C = 1/2 is AROW with r = 1."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 5)), rng.integers(0, 2, 80)
    arow = trained(X, y, task="binary", loss="arow", r=1.0, metric=metric)
    close(trained(X, y, task="binary", loss="squared_hinge", C=0.5, metric=metric), arow)


def test_squared_loss_with_zero_epsilon_is_least_squares():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal((50, 1))
    axes = {"task": "regression", "C": 0.7, "epsilon": 0.0}
    for batch_size in (1, 4):
        squares = trained(X, y, loss="least_squares", batch_size=batch_size, **axes)
        tube = trained(X, y, loss="squared_epsilon_insensitive", batch_size=batch_size, **axes)
        close(tube, squares)


def test_least_squares_ignore_epsilon():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal((50, 1))
    wide, none = (
        trained(X, y, task="regression", loss="least_squares", epsilon=epsilon)
        for epsilon in (0.5, 0.0)
    )
    assert same_state(wide, none)


def test_equal_rows_in_a_batch_equal_one_weighted_row():
    """k equal rows in a batch give the step of one row with k times C."""
    x, y = np.array([[1.0, -2.0, 0.5]]), np.array([1])
    for loss in ("hinge", "squared_hinge"):
        settings = Settings(task="binary", loss=loss, C=0.03, batch_size=3)
        three = train(make_learner(settings, 3, 1), np.repeat(x, 3, axis=0), np.repeat(y, 3))
        close(three, train(make_learner(settings, 3, 1), x, y, [3.0]))
