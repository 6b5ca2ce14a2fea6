"""Identities of mini-batches, and infeasible ones."""

import numpy as np
import pytest
from batch_problems import LOSSES, Batch, random_batch
from closeness import assert_close

from aggro.reference import slack, step_size

ONE_CONSTRAINT = ("margin", "tube", "top")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("task", ONE_CONSTRAINT)
def test_batch_of_one_example_takes_the_single_step(task, loss):
    rng = np.random.default_rng(0)
    for _ in range(50):
        batch = random_batch(rng, task, loss, "plain", 1)
        batch.epsilon = 0.0 if loss == "least_squares" else 0.1
        _, linear, width, _, _ = batch.dual()
        D = batch.directions()
        length = batch.gram[0, 0] * np.sum(D**2)
        sign = np.sign(linear[0]) if task == "tube" else 1.0
        raw = abs(linear[0]) - width if task == "tube" else linear[0]
        tau = sign * step_size(raw, length, slack(loss, batch.C * batch.weights[0]))
        np.testing.assert_allclose(batch.solve(), tau * D, rtol=1e-13, atol=0)


@pytest.mark.parametrize("task", ["margin", "tube", "top", "support"])
@pytest.mark.parametrize("copies", [2, 3, 7])
def test_equal_rows_equal_one_weighted_row(task, copies):
    rng = np.random.default_rng(copies)
    for _ in range(20):
        one = random_batch(rng, task, "hinge", "plain", 3)
        again = np.repeat(np.arange(3), copies)
        many = Batch(
            task,
            "hinge",
            one.gram[np.ix_(again, again)].copy(),
            one.scores[again].copy(),
            one.y[again].copy(),
            one.weights[again].copy(),
            one.C,
        )
        one.weights = one.weights * copies
        effect = many.solve().reshape(3, copies, -1).sum(axis=1)
        np.testing.assert_allclose(effect, one.solve(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("task", ["margin", "tube", "top", "support"])
def test_contradictory_hard_batches_are_reported(task):
    outputs = 1 if task in ("margin", "tube") else 3
    y = np.array([1.0, 2.0]) if task == "tube" else np.array([0, 1])
    batch = Batch(task, "hard", np.ones((2, 2)), np.zeros((2, outputs)), y, np.ones(2))
    assert batch.solve() is None
    batch.loss = "hinge"
    assert batch.solve() is not None


def test_opposite_rows_are_feasible_only_with_an_intercept():
    gram = np.array([[1.0, -1.0], [-1.0, 1.0]])
    labels = np.array([1, 1])
    batch = Batch("margin", "hard", gram, np.zeros((2, 1)), labels, np.ones(2))
    assert batch.solve() is None
    batch.gram = gram + 1.0
    assert_close(batch.scores + batch.gram @ batch.solve(), np.ones((2, 1)))


def test_hard_batch_meets_every_margin():
    rng = np.random.default_rng(6)
    for task in ("margin", "support"):
        batch = random_batch(rng, task, "hard", "plain", 20)
        after = batch.scores + batch.gram @ batch.solve()
        if task == "margin":
            assert np.all((2 * batch.y - 1) * after[:, 0] >= 1 - 1e-8)
            continue
        true = after[np.arange(20), batch.y]
        after[np.arange(20), batch.y] = -np.inf
        assert np.all(true - after.max(axis=1) >= 1 - 1e-8)


def test_row_of_zeros_is_skipped():
    gram = np.diag([0.0, 2.0])
    for loss in LOSSES:
        batch = Batch("margin", loss, gram, np.zeros((2, 1)), np.array([1, 1]), np.ones(2))
        tau = batch.solve()
        assert tau[0, 0] == 0 and tau[1, 0] > 0


def test_only_wrong_predictions_take_part():
    scores = np.array([[0.9, 0.5], [0.2, 0.4]])  # the first is correct with too small a margin
    batch = Batch("predicted", "hard", np.eye(2), scores, np.array([0, 0]), np.ones(2))
    tau = batch.solve()
    assert not tau[0].any() and tau[1, 0] == pytest.approx(0.6)


@pytest.mark.parametrize("loss", LOSSES)
def test_least_squares_regression_is_ridge(loss):
    rng = np.random.default_rng(7)
    batch = random_batch(rng, "tube", "least_squares", "flat", 12)
    inverse = np.linalg.inv(batch.gram + np.diag(batch.ridges))
    expected = inverse @ (batch.y - batch.scores[:, 0])
    np.testing.assert_allclose(batch.solve()[:, 0], expected, rtol=1e-8, atol=1e-10)


def feasible(batch):
    """Return whether some step satisfies all constraints, by a linear programme."""
    from scipy.optimize import linprog

    lengths, vectors = np.linalg.eigh(batch.gram)
    real = lengths > 1e-9 * lengths.max()
    rows = vectors[:, real] * np.sqrt(lengths[real])
    outputs = batch.scores.shape[1]
    below, limits = [], []
    for k, x in enumerate(rows):
        if batch.task == "support":
            wrong = [v for v in range(outputs) if v != batch.y[k]]
            directions = [np.eye(outputs)[batch.y[k]] - np.eye(outputs)[v] for v in wrong]
        else:
            directions = [batch.directions()[k]]
        for d in directions:
            below.append(-np.outer(d, x).ravel())
            limits.append(d @ batch.scores[k] - (1 if batch.task != "tube" else 0))
        if batch.task == "tube":
            gap = batch.y[k] - batch.scores[k, 0]
            below[-1:] = [x, -x]
            limits[-1:] = [gap + batch.epsilon, batch.epsilon - gap]
    zero = np.zeros(rows.shape[1] * outputs)
    answer = linprog(zero, np.array(below), np.array(limits), bounds=(None, None), method="highs")
    return answer.status == 0


@pytest.mark.parametrize("task", ["margin", "tube", "top", "support"])
def test_infeasible_exactly_when_no_step_exists(task):
    rng = np.random.default_rng(8)
    answers = []
    for trial in range(60):
        batch = random_batch(rng, task, "hard", "flat", (2, 3, 4, 6, 9)[trial % 5], classes=3)
        answers.append(feasible(batch))
        assert (batch.solve() is not None) == answers[-1]
    assert any(answers) and not all(answers)
