"""Rows kept back end fit before noise is learned, and then they are learned too."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from estimator_support import ROWS, targets_for
from sklearn.exceptions import ConvergenceWarning
from stopping_support import Scripted

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.judges import ByRowsKeptBack

MANY = 3000  # rows from which some are kept back


def noisy_rows(count=MANY, features=1000, seed=3):
    """Texts of frequent and of rare words; their classes are right eight times in ten."""
    random, rare = np.random.default_rng(seed), 8 / np.arange(1, features + 1)
    X = (random.random((count, features)) < np.minimum(rare, 0.3)).astype(float)
    truth = X @ np.random.default_rng(0).standard_normal(features) > 0
    return X, np.where(random.random(count) < 0.8, truth, ~truth).astype(int), truth.astype(int)


def test_the_passes_end_before_noise_is_learned():
    X, y, _ = noisy_rows(6000, 4000)
    new, _, truth = noisy_rows(2000, 4000, seed=4)
    plain = PassiveAggressiveClassifier(early_stopping=False, random_state=0).fit(X, y)
    model = PassiveAggressiveClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ < plain.n_iter_ / 2
    assert model.score(new, truth) > plain.score(new, truth) + 0.01


# Qualities on the rows kept back, and losses; the passes after which they join, and which end it.
FALLING = [9, 8, 7, 6, 5, 4, 3, 2, 1]
KEPT_BACK = {
    "it falls twice": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.4, 0.3], FALLING, 8, 8),
    "it falls, and recovers": ([0.1, 0.2, 0.1, 0.3, 0.2, 0.4, 0.5, 0.4, 0.4], FALLING, 9, 9),
    "it falls early": ([0.5, 0.4, 0.3], FALLING, 3, 6),
    "it rests twice, and is learned": ([0.5, 0.6, 0.6, 0.6], FALLING, 4, 7),
    "the loss ends it first": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [9, 8, 8, 8, 8, 8, 8], 7, 7),
    "the loss ends it when they have joined": ([0.1, 0.2, 0.2, 0.2], [9, 9, 9, 9, 9, 9], 4, 6),
}


@pytest.mark.parametrize("name", KEPT_BACK)
def test_the_rule_of_rows_kept_back(name):
    qualities, losses, joined, last = KEPT_BACK[name]
    qualities = iter([*qualities, *np.arange(0.7, 9, 0.1)])
    judge = ByRowsKeptBack(np.array([1, 3]), lambda _: next(qualities), 0.05, 5)
    taught = []

    class Told(Scripted):
        frozen = False

        def learn(self, rows, order, **_):
            taught.append((sorted(order), self.frozen))
            if len(order) != 2 or sorted(order) != [1, 3]:
                self.progress.loss += self.losses.pop(0) * len(order)

    model = PassiveAggressiveClassifier(tol=0.05, max_iter=50, random_state=0)
    assert model._run_epochs(Told(losses), ROWS[:6], {"weights": None}, judge) == last
    before = [([0, 2, 4, 5], i > 0) for i in range(joined)]
    after = [([0, 1, 2, 3, 4, 5], True)] * (last - joined)
    assert taught == [*before, ([1, 3], False), *after]  # they are new when they come


@pytest.mark.parametrize(
    "axes",
    [
        {"average": False},
        {"average": True},
        {"tol": None, "max_iter": 4},
        {"max_iter": 1, "tol": 1e-3},
        {"early_stopping": False},
    ],
)
def test_otherwise_no_row_is_kept_back(axes):
    """The rows are learned in the order, and as often, as without it."""
    X, y, _ = noisy_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = PassiveAggressiveClassifier(random_state=0, **axes).fit(X, y)
        two = PassiveAggressiveClassifier(random_state=0, **axes | {"early_stopping": False})
        assert np.array_equal(one.coef_, two.fit(X, y).coef_)
    assert one.t_ - 1 == one.n_iter_ * MANY


def test_few_rows_and_models_that_go_on_keep_nothing_back():
    X, y, _ = noisy_rows()
    few = PassiveAggressiveClassifier(random_state=0).fit(X[:-1], y[:-1])
    assert few.t_ - 1 == few.n_iter_ * (MANY - 1)
    warm = PassiveAggressiveClassifier(random_state=0, warm_start=True).fit(X, y)
    before = warm.t_
    warm.fit(X, y)
    assert warm.t_ - before == warm.n_iter_ * MANY


@pytest.mark.parametrize("kind", ["two", "classes", "labels", "auto", "means"])
def test_every_row_is_learned(kind):
    """Rows kept back join later; class means are those of all rows, and few classes lose none."""
    X, y, _ = noisy_rows()
    truth = {"classes": np.where(np.arange(MANY) % 400 == 0, 2, y), "labels": np.c_[y, 1 - y]}
    cls = aggro.AutoClassifier if kind == "auto" else PassiveAggressiveClassifier
    model = cls(random_state=0, **({"class_mean": 0.1} if kind == "means" else {}))
    model.fit(X, truth.get(kind, y))
    kept = MANY // 20
    passes = (model.t_ - 1) / MANY
    assert model.n_iter_ - 1 < passes < model.n_iter_  # some passes were shorter
    assert (model.t_ - 1) % (MANY - kept) % kept == 0
    if kind == "means":
        plain = PassiveAggressiveClassifier(class_mean=0.1, early_stopping=False).fit(X, y)
        seen = [each._learner.state()["class_weight_seen"] for each in (model, plain)]
        assert np.array_equal(*seen)


def test_rows_kept_back_are_weighed_and_named():
    X, y, _ = noisy_rows()
    weights = np.ones(MANY)
    model = PassiveAggressiveClassifier(random_state=0)
    one = model.fit(X, y).coef_.copy()
    assert np.array_equal(model.fit(X, y, sample_weight=weights).coef_, one)
    kept = model._judge(
        SimpleNamespace(examples=0, settings=model._learner.settings), X, y,
        {"labels": y, "weights": None}, None,
    ).held_out  # fmt: skip
    assert len(kept) == MANY // 20
    bad = X.copy()
    bad[kept[-1], 2] = np.nan
    with pytest.raises(ValueError, match=rf"row {kept[-1]}: feature 2 is NaN"):
        model.fit(bad, y)
    assert np.array_equal(model.coef_, one)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_a_word_that_early_stopping_cannot_be(cls):
    with pytest.raises(ValueError, match="early_stopping='yes'"):
        cls(early_stopping="yes").fit(ROWS, targets_for(cls))
    if cls is PassiveAggressiveRegressor:
        with pytest.raises(ValueError, match="early_stopping='auto'"):
            cls(early_stopping="auto").fit(ROWS, targets_for(cls))
