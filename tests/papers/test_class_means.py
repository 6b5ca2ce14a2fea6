"""The rule of the paper on class means and of the blog, compared with aggro's exact rule."""

import numpy as np
import pytest

from aggro import PassiveAggressiveClassifier
from studies.papers.blog import learning as blog
from studies.papers.class_means.undivided import Setting, Undivided

LOSSES = ("hard", "hinge", "squared_hinge")


@pytest.fixture
def rows():
    random = np.random.default_rng(5)
    y = np.where(random.random(300) < 0.5, 1, -1)
    return random.random((300, 6)) + 0.2 * y[:, None], y


def test_without_a_pull_it_is_passive_aggressive(rows):
    X, y = rows
    learners = Undivided([Setting(loss, 0.3, 0.0) for loss in LOSSES], 6).learn(X, y)
    for i, loss in enumerate(LOSSES):
        model = PassiveAggressiveClassifier(loss=loss, C=0.3, fit_intercept=False, average=False)
        model.partial_fit(X, y, classes=[-1, 1])
        assert learners.weights[i] == pytest.approx(model.coef_[0], abs=1e-9)
        assert learners.updates[i] == model.n_updates_
        first = y[0] == -1  # a score of zero is a mistake here, and the negative class for aggro
        assert learners.mistakes[i] == model.n_mistakes_ + first


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_the_exact_one_times_one_plus_gamma(rows, loss):
    X, y = rows
    gamma = 0.4
    learners = Undivided([Setting(loss, 0.3, gamma)], 6).learn(X[:1], y[:1])
    model = PassiveAggressiveClassifier(loss=loss, C=0.3, fit_intercept=False, class_mean=gamma)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    assert learners.weights[0] == pytest.approx((1 + gamma) * model.coef_[0], abs=1e-12)


def test_a_hard_step_ends_at_the_margin_one_plus_gamma(rows):
    X, y = rows
    learners = Undivided([Setting("hard", 1.0, 0.25)], 6)
    for x, label in zip(X, y, strict=True):
        before = learners.updates[0]
        learners.learn(x[None], np.array([label]))
        if learners.updates[0] > before:
            assert label * (learners.weights[0] @ x) >= 1.25 - 1e-9


def test_frozen_means_stay(rows):
    X, y = rows
    learners = Undivided([Setting("hinge", 0.1, 0.5)], 6).learn(X, y)
    kept = {side: total.copy() for side, total in learners.sums.items()}
    learners.learn(X[::-1], y[::-1], frozen=True)
    assert all(np.array_equal(kept[side], learners.sums[side]) for side in (1, -1))


def test_programs_of_the_blog_equal_the_rules():
    classes = blog.run({"example": "classification", "seed": 1000})
    assert classes["weights_apart"] < 1e-12
    assert classes["accuracy"] == classes["accuracy_by_hand"]
    assert blog.run({"example": "regression", "seed": 1000})["apart"] < 1e-9
