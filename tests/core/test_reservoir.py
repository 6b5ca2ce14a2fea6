"""``average="reservoir"`` predicts with a sample of classifiers that survived some examples."""

import numpy as np
import pytest
from linear_support import make_learner, make_problem, train

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.settings import Settings

rng = np.random.default_rng(47)
X, y = make_problem("binary", 1, rng, 150, 5)
X = X[np.any(X != 0, axis=1)]
y = y[: len(X)]


def survivors(**axes):
    """Return the classifiers that survived at least one example, in order of replacement."""
    learner = make_learner(Settings(task="binary", intercept_scaling="auto", **axes), 5, 1)
    pool, age = [], 0
    for k in range(len(y)):
        before = np.append(learner.coef()[0], learner.intercept())
        updates = learner.progress.updates
        train(learner, X[k : k + 1], y[k : k + 1])
        if learner.progress.updates == updates:
            age += 1
            continue
        if age > 0:
            pool.append(before)
        age = 0
    return np.array(pool)


def reservoir(size, seed=0, **axes):
    model = PassiveAggressiveClassifier(
        average="reservoir", reservoir_size=size, random_state=seed, **axes
    ).partial_fit(X, y)
    return np.append(model.coef_[0], model.intercept_)


@pytest.mark.parametrize(
    "axes", [{}, {"C": 0.1}, {"metric": "diagonal"}, {"metric": "full"}, {"loss": "hard"}], ids=str
)
def test_large_reservoir_predicts_with_the_mean_of_all_survivors(axes):
    pool = survivors(**axes)
    assert len(pool) >= 5
    np.testing.assert_allclose(reservoir(len(y), **axes), pool.mean(axis=0), atol=1e-9)


def test_reservoir_of_one_holds_one_survivor():
    pool = survivors()
    picked = [reservoir(1, seed) for seed in range(12)]
    distance = [np.abs(pool - one).max(axis=1).min() for one in picked]
    assert max(distance) < 1e-12
    assert len({one.tobytes() for one in picked}) > 1  # the choice depends on the seed


def test_same_seed_gives_the_same_reservoir():
    assert np.array_equal(reservoir(4, seed=3), reservoir(4, seed=3))
    assert not np.array_equal(reservoir(4, seed=3), reservoir(4, seed=4))


@pytest.mark.parametrize(("first", "second"), [(30, 10), (10, 30), (200, 2), (1, 1)])
def test_survivors_are_sampled_in_proportion_to_their_age(first, second):
    """Each of two classifiers is kept with a probability proportional to its age."""
    axis, other = np.eye(2)
    rows = np.array([axis] * (1 + first) + [other] * (1 + second) + [axis])
    labels = np.array(
        [1] * (len(rows) - 1) + [0]
    )  # the last example replaces the second classifier
    kept = np.array([
        PassiveAggressiveClassifier(
            average="reservoir", reservoir_size=1, random_state=seed, loss="hard",
            fit_intercept=False,
        ).partial_fit(rows, labels, classes=[0, 1]).coef_[0]
        for seed in range(400)
    ])  # fmt: skip
    assert set(map(tuple, kept)) == {(1.0, 0.0), (1.0, 1.0)}
    share = first / (first + second)
    assert abs(np.mean(kept[:, 1] == 0) - share) < 3.5 * (share * (1 - share) / 400) ** 0.5


def test_last_weights_predict_while_the_reservoir_is_empty():
    model = PassiveAggressiveClassifier(average="reservoir").partial_fit(
        X[:1], y[:1], classes=[0, 1]
    )
    last = PassiveAggressiveClassifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    assert np.array_equal(model.coef_, last.coef_)


def test_random_state_seeds_the_reservoir_of_regressors():
    X = np.random.default_rng(0).standard_normal((200, 4))
    params = {"average": "reservoir", "reservoir_size": 2, "epsilon": 0.5}
    models = [PassiveAggressiveRegressor(**params, random_state=seed) for seed in (0, 0, 1)]
    one, same, other = (model.partial_fit(X, X[:, 0] + X[:, 1] ** 2).coef_ for model in models)
    assert (one == same).all()
    assert (one != other).any()
