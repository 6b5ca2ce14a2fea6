"""Disabled options give the plain rule; equal problems give equal weights."""

import numpy as np
import pytest
from closeness import assert_close

from aggro.reference import ReferenceLearner

LOSSES = ["hard", "hinge", "squared_hinge", "least_squares"]


def stream(seed, n=40, d=4, classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(n, d)), (2.0 * y - 1 if classes == 2 else y)


def trained(X, y, **settings):
    task = settings.pop("task", "binary")
    learner = ReferenceLearner(task, X.shape[1], **settings)
    learner.learn_stream(X, y)
    return learner


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "full"])
def test_no_pull_short_queue_and_any_trigger_are_plain(loss, metric):
    X, y = stream(0)
    plain = trained(X, y, loss=loss, C=0.3, metric=metric)
    same = trained(X, y, loss=loss, C=0.3, metric=metric, class_mean=0.0, queue=1, trigger="always")
    np.testing.assert_array_equal(plain.W, same.W)
    np.testing.assert_array_equal(plain.b, same.b)


def test_queue_of_one_is_the_last_weights():
    X, y = stream(1)
    one = trained(X, y, class_mean=0.2, queue=1)
    long = trained(X, y, class_mean=0.2, queue=5)
    assert not np.allclose(one.W, long.W)
    w, b, gamma = np.zeros(4), 0.0, 0.2
    for t in range(len(y)):  # PAm-1 written out: paper 000, with the clip and the centroid bias
        plus, minus = X[: t + 1][y[: t + 1] > 0], X[: t + 1][y[: t + 1] < 0]
        mean = [part.mean(axis=0) if len(part) else np.zeros(4) for part in (plus, minus)]
        m, mb = mean[0] - mean[1], -(mean[0] @ mean[0] - mean[1] @ mean[1]) / 2
        loss = 1 - y[t] * (w @ X[t] + b)
        if loss > 0:
            N = loss + gamma * (1 - y[t] * (m @ X[t] + mb))
            alpha = min(1.0, max(0.0, N) / (X[t] @ X[t] + 1))
            w = (w + gamma * m + alpha * y[t] * X[t]) / (1 + gamma)
            b = (b + gamma * mb + alpha * y[t]) / (1 + gamma)
    assert_close(one.W[0], w, rtol=1e-9)
    assert_close(one.b[0], b, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_infinite_C_is_hard(loss):
    X, y = stream(2, n=15)
    free = trained(X, y, loss=loss, C=np.inf)
    if loss == "least_squares":
        assert y[-1] * free.scores(X[-1:])[0, 0] == pytest.approx(1.0)
    else:
        np.testing.assert_array_equal(free.W, trained(X, y, loss="hard").W)


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
@pytest.mark.parametrize("multiclass", ["support", "top"])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_two_classes_are_binary_with_twice_the_C(loss, multiclass, batch_size):
    X, y = stream(3, n=30, d=6)
    common = {"loss": loss, "batch_size": batch_size}
    two = trained(
        X, (y + 1) // 2, task="multiclass", n_outputs=2, multiclass=multiclass, C=0.2, **common
    )
    binary = trained(X, y, C=0.4, **common)
    np.testing.assert_allclose(two.W[1] - two.W[0], binary.W[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(two.W.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "full"])
def test_least_squares_regression_is_the_squared_tube_of_width_zero(metric):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    common = {"task": "regression", "C": 0.3, "metric": metric}
    ls = trained(X, y, loss="least_squares", **common)
    tube = trained(X, y, loss="squared_epsilon_insensitive", epsilon=0.0, **common)
    assert_close(ls.W, tube.W, rtol=1e-12)


@pytest.mark.parametrize("task", ["binary", "support", "top", "regression"])
def test_equal_rows_in_a_batch_are_one_row_with_more_weight(task):
    rng = np.random.default_rng(5)
    settings = {"task": task, "n_features": 3, "C": 0.02}
    if task in ("support", "top"):
        settings |= {"task": "multiclass", "n_outputs": 4, "multiclass": task}
    for loss in ("hinge", "squared_hinge"):
        copies, heavy = (
            ReferenceLearner(loss=loss, **settings),
            ReferenceLearner(loss=loss, **settings),
        )
        for _ in range(10):
            x, y = rng.normal(size=3), 1.0
            copies.learn_batch(np.tile(x, (3, 1)), [y] * 3)
            heavy.learn(x, y, weight=3.0)
        np.testing.assert_allclose(copies.W, heavy.W, rtol=1e-9, atol=1e-12)


def test_repeated_presentation_is_weight_for_pa_i():
    X, y = stream(6)
    heavy = ReferenceLearner("binary", 4, C=0.05)
    repeated = ReferenceLearner("binary", 4, C=0.05)
    for row, label in zip(X, y, strict=True):
        heavy.learn(row, label, weight=3.0)
        for _ in range(3):
            repeated.learn(row, label)
    assert_close(heavy.W, repeated.W, rtol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "full"])
def test_independent_outputs_are_separate_learners(metric):
    X, y = stream(7, classes=3)
    common = {"metric": metric, "C": 0.4, "class_mean": 0.1, "batch_size": 2}
    together = trained(X, y, task="multiclass", multiclass="ovr", n_outputs=3, **common)
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    labels = trained(X, signs, task="multilabel", n_outputs=3, **common)
    alone = [trained(X, signs[:, u], **common) for u in range(3)]
    for learner in (together, labels):
        np.testing.assert_array_equal(learner.W, np.vstack([one.W for one in alone]))
        assert learner.n_updates == sum(one.n_updates for one in alone)
        assert learner.n_mistakes == sum(one.n_mistakes for one in alone)


def test_permuting_features_permutes_weights():
    X, y = stream(8, classes=3)
    order = np.array([2, 0, 3, 1])
    settings = {"task": "multiclass", "n_outputs": 3, "metric": "full", "class_mean": 0.1}
    a, b = trained(X, y, **settings), trained(X[:, order], y, **settings)
    assert_close(a.W[:, order], b.W, rtol=1e-7)


def test_intercept_is_a_constant_feature():
    X, y = stream(9, classes=3)
    for metric in ("euclidean", "diagonal", "full"):
        common = {"task": "multiclass", "n_outputs": 3, "metric": metric}
        inside = trained(X, y, **common)
        outside = trained(np.column_stack([X, np.ones(len(X))]), y, fit_intercept=False, **common)
        np.testing.assert_array_equal(np.column_stack([inside.W, inside.b]), outside.W)
