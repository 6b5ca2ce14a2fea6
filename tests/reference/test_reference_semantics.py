"""Edge cases: zero rows, weights, averages, counts, contradictions and invalid settings."""

from itertools import product

import numpy as np
import pytest
from closeness import assert_close

from aggro.reference import ReferenceLearner, batch_dual, slack, step_size, support_classes


def test_slack_is_three_numbers():
    assert slack("hard", 0.1) == (0, np.inf, 0)
    assert slack("hinge", 0.1) == slack("epsilon_insensitive", 0.1) == (0, 0.1, 0)
    assert (
        slack("squared_hinge", 0.1) == slack("squared_epsilon_insensitive", 0.1) == (0, np.inf, 5)
    )
    assert slack("least_squares", 0.1) == (-np.inf, np.inf, 5)
    with pytest.raises(ValueError, match="unknown loss"):
        slack("log", 1.0)


@pytest.mark.parametrize("loss", ["hard", "hinge", "squared_hinge"])
def test_state_after_a_step_follows_the_formulas(loss):
    """Margin 1 (hard), loss l - C q (hinge at its cap), loss tau/2C (squared)."""
    learner = ReferenceLearner("binary", 2, loss=loss, C=0.05)
    x = np.array([1.0, 2.0])
    learner.learn(x, -1.0)
    margin = -learner.scores(x[None])[0, 0]
    tau = step_size(1.0, 6.0, slack(loss, 0.05))
    assert 1 - margin == pytest.approx({"hard": 0, "hinge": 1 - 0.05 * 6}.get(loss, tau / 0.1))


def test_support_classes_conserve_and_cap():
    rng = np.random.default_rng(0)
    for _ in range(200):
        losses, n = rng.normal(size=6) * 3, 10 ** rng.uniform(-2, 2)
        C = 10 ** rng.uniform(-4, 2)
        assert support_classes(losses, n, slack("hinge", C)).sum() <= C * (1 + 1e-12)
        tau = support_classes(losses, n, slack("hard", C))
        left = losses - n * (tau + tau.sum())  # the losses after the step
        assert np.all(left <= 1e-9)
        np.testing.assert_allclose(left[tau > 0], 0, atol=1e-9)
    tiny = support_classes(np.array([1.0, 1.0, 0.5]), 1.0, slack("hinge", 1e-20))
    assert_close(tiny, [5e-21, 5e-21, 0], rtol=1e-12)
    assert not np.any(support_classes(np.array([2.0, 1.0]), 0.0, slack("hinge", 1.0)))


def test_weight_zero_equals_an_absent_row():
    rng = np.random.default_rng(1)
    X, y, omega = rng.normal(size=(40, 3)), rng.integers(0, 3, 40), rng.choice([0.0, 1.0, 2.0], 40)
    for batch_size in (1, 4):
        settings = {
            "batch_size": batch_size,
            "class_mean": 0.2,
            "average": True,
            "metric": "diagonal",
        }
        a, b = (ReferenceLearner("multiclass", 3, 3, **settings) for _ in range(2))
        a.learn_stream(X, y, omega)
        b.learn_stream(X[omega > 0], y[omega > 0], omega[omega > 0])
        np.testing.assert_array_equal(a.W, b.W)
        assert (a.n_mistakes, a.n_updates) == (b.n_mistakes, b.n_updates)


@pytest.mark.parametrize("rule", ["perceptron", "cw", "cw-stdev"])
def test_rules_without_C_ignore_it(rule):
    learner = ReferenceLearner(
        "binary", 1, rule=rule, metric="euclidean" if rule == "perceptron" else "full"
    )
    other = ReferenceLearner("binary", 1, rule=rule, metric=learner.metric)
    learner.learn([2.0], 1.0, weight=3.0)
    other.learn([2.0], 1.0)
    factor = 3.0 if rule == "perceptron" else 1.0
    assert_close(learner.W, factor * other.W)


def test_average_is_the_mean_over_rounds():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], 12)
    for batch_size in (1, 3):
        last = ReferenceLearner("binary", 3, C=0.1, batch_size=batch_size)
        mean = ReferenceLearner("binary", 3, C=0.1, batch_size=batch_size, average=True)
        np.testing.assert_array_equal(mean.W, 0)
        after = []
        for start in range(0, 12, batch_size):
            last.learn_batch(X[start : start + batch_size], y[start : start + batch_size])
            after += [last.W] * batch_size
        mean.learn_stream(X, y)
        assert_close(mean.W, np.mean(after, axis=0), rtol=1e-12)
        np.testing.assert_array_equal(mean.groups[0].W[:, :3], last.W)


def test_an_absent_row_moves_only_what_can_move():
    zero = np.zeros(2)
    for loss, metric in product(["hard", "hinge", "squared_hinge"], ["euclidean", "full"]):
        plain = ReferenceLearner("binary", 2, loss=loss, metric=metric, fit_intercept=False)
        plain.learn(zero, 1.0)
        assert plain.n_updates == 0
        bias = ReferenceLearner("binary", 2, loss=loss, C=9.0, metric=metric)
        bias.learn(zero, 1.0)
        assert bias.b[0] > 0.9
        assert not np.any(bias.W)
        pulled = ReferenceLearner(
            "binary", 2, loss=loss, metric=metric, fit_intercept=False, class_mean=1.0
        )
        pulled.learn([1.0, 0.0], 1.0)
        before = pulled.W
        pulled.learn(zero, 1.0)
        assert np.array_equal(pulled.W, before) == (loss == "hard")


@pytest.mark.parametrize(
    ("task", "outputs", "multiclass"),
    [("binary", 1, "top"), ("multiclass", 3, "top"), ("multiclass", 3, "support")],
)
def test_contradictory_hard_batch_is_learned_one_by_one(task, outputs, multiclass):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5, 2))
    X[4] = X[0]
    y = np.array([0, 1, 0, 1, 1]) if outputs > 1 else np.array([1.0, -1, 1, -1, -1])
    settings = {"loss": "hard", "multiclass": multiclass, "fit_intercept": False}
    batch = ReferenceLearner(task, 2, outputs, **settings)
    batch.learn_batch(X, y)
    direct = ReferenceLearner(task, 2, outputs, **settings)
    if multiclass == "support" or task == "binary":
        direct.learn_stream(X, y)
        assert_close(batch.W, direct.W, rtol=1e-12)
    assert np.linalg.norm(batch.W) < 10  # the dual of a contradiction is unbounded


def test_contradictory_hard_tubes_are_learned_one_by_one():
    rng = np.random.default_rng(5)
    for _ in range(40):
        X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
        X[5], y[5] = X[0], y[0] + 1
        batch = ReferenceLearner("regression", 3, loss="hard", epsilon=0.1)
        single = ReferenceLearner("regression", 3, loss="hard", epsilon=0.1)
        batch.learn_batch(X, y)
        single.learn_stream(X, y)
        assert_close(batch.W, single.W, rtol=1e-9)


def test_first_sweep_rule_does_not_hide_a_feasible_batch():
    rng = np.random.default_rng(3)
    for _ in range(50):
        X, y = rng.normal(size=(6, 8)), rng.choice([-1.0, 1.0], 6)
        Z, w = y[:, None] * X, rng.normal(size=8)
        t = batch_dual(Z @ Z.T, 1 - Z @ w, np.full(6, np.inf), np.zeros(6))
        assert np.all(Z @ (w + Z.T @ t) >= 1 - 1e-9)


def test_counts_are_correct():
    learner = ReferenceLearner("multiclass", 2, 3, loss="hard", multiclass="predicted")
    learner.learn([1.0, 0.0], 0)  # all scores are equal: the first class is predicted, correctly
    assert (learner.n_mistakes, learner.n_updates, learner.cumulative_loss) == (0, 0, 1.0)
    learner.learn([1.0, 0.0], 1)
    assert (learner.n_mistakes, learner.n_updates, learner.cumulative_loss) == (1, 1, 2.0)
    ovr = ReferenceLearner("multiclass", 2, 3, multiclass="ovr")
    ovr.learn([1.0, 0.0], 1)  # a score of 0 is a negative prediction
    assert (ovr.n_mistakes, ovr.n_updates, ovr.cumulative_loss) == (1, 3, 3.0)
    tube = ReferenceLearner("regression", 2, 2, loss="epsilon_insensitive", epsilon=0.5)
    tube.learn([1.0, 0.0], [2.0, 0.1])
    assert (tube.n_mistakes, tube.n_updates, tube.cumulative_loss) == (0, 1, 1.5)


def test_a_centre_move_alone_is_an_update():
    learner = ReferenceLearner("binary", 1, C=5.0, class_mean=1.0, fit_intercept=False)
    learner.learn([10.0], 1.0)
    learner.learn([0.01], 1.0)  # a loss at w, none at the centre
    assert learner.n_updates == 2


def test_frozen_means_stay():
    learner = ReferenceLearner("binary", 2, class_mean=0.5)
    learner.learn([1.0, 0.0], 1.0)
    before = learner.groups[0].means.classifier(1.0)
    learner.freeze_means()
    learner.learn([0.0, 3.0], -1.0)
    np.testing.assert_array_equal(learner.groups[0].means.classifier(1.0), before)


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "regression", "class_mean": 0.1},
        {"task": "regression", "rule": "arow", "metric": "full"},
        {"task": "multiclass", "n_outputs": 3, "rule": "cw", "metric": "full"},
        {"task": "multiclass", "n_outputs": 1},
        {"task": "multiclass", "n_outputs": 3, "loss": "least_squares"},
        {"task": "binary", "rule": "arow"},
        {"task": "binary", "rule": "cw", "metric": "full", "queue": 2},
        {"task": "binary", "rule": "perceptron", "metric": "full"},
        {"task": "binary", "metric": "cubic"},
        {"task": "binary", "loss": "log"},
        {"task": "binary", "C": 0.0},
    ],
)
def test_meaningless_settings_are_rejected(settings):
    with pytest.raises(ValueError, match=r"need|not one of|unknown"):
        ReferenceLearner(n_features=2, **settings)


def test_confidence_rules_take_one_example_at_a_time():
    learner = ReferenceLearner("binary", 2, rule="cw", metric="full")
    with pytest.raises(ValueError, match="one example"):
        learner.learn_batch(np.eye(2), [1.0, -1.0])
