"""Held-out rows select the pass that fit keeps, and are learned afterwards."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from estimator_support import ROWS, targets_for
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from stopping_support import Scripted

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators import passes as passes_module
from aggro.estimators.held_out import classifier_rule, scaled_log_loss
from aggro.estimators.passes import KeepBestPass, Passes
from aggro.training_batch import TrainingBatch

MANY = 3000  # rows, some of which are held out


def noisy_rows(count=MANY, features=1000, seed=3):
    """Return texts of frequent and rare words, with labels that are correct in 80 %."""
    random, rare = np.random.default_rng(seed), 8 / np.arange(1, features + 1)
    X = (random.random((count, features)) < np.minimum(rare, 0.3)).astype(float)
    truth = X @ np.random.default_rng(0).standard_normal(features) > 0
    return X, np.where(random.random(count) < 0.8, truth, ~truth).astype(int), truth.astype(int)


def test_passes_end_before_noise_is_fitted():
    X, y, _ = noisy_rows(6000, 4000)
    new, _, truth = noisy_rows(2000, 4000, seed=4)
    plain = PassiveAggressiveClassifier(early_stopping=False, random_state=0).fit(X, y)
    model = PassiveAggressiveClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ < plain.n_iter_ / 2
    assert model.score(new, truth) > plain.score(new, truth) + 0.01


def test_passes_end_when_quality_declines():
    rule = KeepBestPass(
        np.array([0]), lambda _: {None: next(qualities)}, lambda _: list, 0.001, 5, decline=2
    )
    qualities, learner = iter([0.5, 0.6, 0.59, 0.6, 0.599, 0.598]), object()
    ended = []
    while not ended or not ended[-1]:
        rule.before_pass(learner)
        ended.append(rule.ends(learner, 0.0))
    assert len(ended) == 6 and rule.best_pass == 2


# Qualities of two candidates on held-out rows, losses of the passes, passes made, and the pass and
# candidate that are kept.
FALLING = [9, 8, 7, 6, 5, 4, 3, 2, 1]
WORSE = [0] * 9
HELD_OUT = {
    "the first pass is the best": ([0.5, 0.4, 0.3, 0.2, 0.1, 0.1], WORSE, FALLING, 6, 1, 0),
    "a later pass is the best": ([0.1, 0.3, 0.2, 0.2, 0.2, 0.2, 0.2], WORSE, FALLING, 7, 2, 0),
    "less than tol is still better": ([0.5, 0.5, 0.5, 0.5, 0.52, 0.5], WORSE, FALLING, 6, 5, 0),
    "the last pass is the best": ([0.1, 0.2, 0.3], WORSE, [9, 9, 9, 9, 9, 9], 6, 6, 0),
    "the other candidate": ([0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1], [0.6, *WORSE], FALLING, 6, 1, 1),
}


@pytest.mark.parametrize("name", HELD_OUT)
def test_held_out_rows_choose_the_pass_and_the_candidate(name, monkeypatch):
    first, second, losses, made, kept, candidate = HELD_OUT[name]
    first = iter([*first, *np.arange(0.7, 9, 0.1)])
    second, chosen, learned = iter(second), [], []
    monkeypatch.setattr(passes_module, "choose", lambda _, which: chosen.append(which))

    class Recorded(Scripted):
        frozen = False

        def learn(self, rows, order, **_):
            learned.append((sorted(order), self.frozen, self.passes))
            if sorted(order) != [1, 3]:
                super().learn()
                self.progress.loss += 3 * self.losses_made[self.passes - 1]

    learner = Recorded(losses)
    learner.losses_made = list(losses)
    rule = KeepBestPass(
        np.array([1, 3]), lambda _: {0: next(first), 1: next(second)}, learner.checkpoint, 0.05, 5
    )
    model = PassiveAggressiveClassifier(tol=0.05, max_iter=50, random_state=0)
    batch = TrainingBatch(ROWS[:6], {"weights": None})
    assert Passes.of(model).run(learner, batch, rule) == made
    assert chosen == [candidate]
    passes = [([0, 2, 4, 5], i > 0, i) for i in range(made)]
    assert learned == [*passes, ([1, 3], False, kept)]  # they are new rows then


def test_fit_is_not_worse_than_one_pass_on_noisy_rows():
    """Each further pass with the C of the first one fits more of the noise."""
    X, y, _ = noisy_rows(6000, 4000)
    new, _, truth = noisy_rows(2000, 4000, seed=4)
    once = aggro.AutoClassifier(random_state=0).partial_fit(X, y).score(new, truth)
    assert aggro.AutoClassifier(random_state=0).fit(X, y).score(new, truth) > once - 0.005


def test_candidate_of_fit_predicts_until_new_rows_are_learned(tmp_path):
    X, y, _ = noisy_rows(4000)
    model = aggro.AutoClassifier(random_state=0).fit(X[:3500], y[:3500])
    selection = model._learner
    assert selection.fixed is not None
    C, scores = model.C_, model.decision_function(X)
    aggro.save(model, tmp_path / "model.aggro")
    assert np.array_equal(aggro.load(tmp_path / "model.aggro").decision_function(X), scores)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((1, X.shape[1]), np.nan), y[:1])
    assert np.array_equal(model.decision_function(X), scores)
    best = copy.deepcopy(model).keep_best()
    assert best.C_ == C
    np.testing.assert_allclose(best.decision_function(X), scores, rtol=1e-9, atol=1e-12)
    model.partial_fit(X[3500:], y[3500:])
    assert selection.fixed is None


@pytest.mark.parametrize("classes", [2, 3, "labels"])
def test_the_log_loss_does_not_depend_on_the_size_of_scores(classes):
    random = np.random.default_rng(0)
    scores = random.normal(size=(50, 1 if classes == 2 else 3))
    targets = (
        random.integers(0, 2, (50, 3)) if classes == "labels" else random.integers(0, classes, 50)
    )
    scores += (
        (targets > 0) if classes == "labels" else np.eye(classes)[targets][:, -scores.shape[1] :]
    )
    loss = scaled_log_loss(scores, targets)
    assert loss == pytest.approx(scaled_log_loss(1e-3 * scores, targets), rel=1e-6)
    assert loss == pytest.approx(scaled_log_loss(1e5 * scores, targets), rel=1e-6)
    assert scaled_log_loss(0 * scores, targets) >= loss  # never worse than constant scores
    bad = scores.copy()
    bad[0] = np.inf
    assert scaled_log_loss(bad, targets) == np.inf


def log_loss_times(factor, scores, targets):
    """Return the log loss of each row, by NumPy."""
    if targets.ndim == 2 or scores.shape[1] == 1:
        margins = np.where(targets.reshape(scores.shape) > 0, scores, -scores)
        return np.logaddexp(0.0, -factor * margins).mean(axis=1)
    behind = scores - scores[np.arange(len(scores)), targets][:, None]
    return np.logaddexp.reduce(factor * behind, axis=1)


@pytest.mark.parametrize("outputs", [1, 2, 7, "labels"])
@pytest.mark.parametrize("noise", [0.0, 0.01, 1.0, 1e9])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_log_loss_is_the_smallest_of_all_factors(outputs, noise, sign):
    random = np.random.default_rng(0)
    scores = sign * random.standard_normal((201, 3 if outputs == "labels" else outputs)) ** 3
    noisy = sign * scores + noise * random.standard_normal(scores.shape)
    several = outputs == "labels" or outputs == 1
    targets = (noisy > 0).astype(int) if several else noisy.argmax(axis=1)
    targets = targets.ravel() if outputs == 1 else targets
    size = np.abs(scores).mean()
    for weights in (None, random.random(201) * (random.random(201) < 0.7)):

        def loss(power, weights=weights):
            return np.average(log_loss_times(2**power / size, scores, targets), weights=weights)

        inside = minimize_scalar(loss, bounds=(-8, 8), method="bounded", options={"xatol": 1e-6})
        expected = min(inside.fun, loss(-8), loss(8))
        assert scaled_log_loss(scores, targets, weights) == pytest.approx(expected, abs=1e-9)


def test_the_log_loss_rejects_targets_of_another_number_of_rows():
    scores = np.ones((3, 2))
    for targets in (np.zeros(2, int), np.zeros((3, 3)), np.array([0, 1, 2])):
        with pytest.raises(ValueError, match="expected"):
            scaled_log_loss(scores, targets)
    with pytest.raises(ValueError, match="expected"):
        scaled_log_loss(scores, np.zeros(3, int), np.ones(2))


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
def test_no_row_is_held_out_without_auto(axes):
    """Rows are learned in the same order, and as often, as without it."""
    X, y, _ = noisy_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = PassiveAggressiveClassifier(random_state=0, **axes).fit(X, y)
        two = PassiveAggressiveClassifier(random_state=0, **axes | {"early_stopping": False})
        assert np.array_equal(one.coef_, two.fit(X, y).coef_)
    assert one.t_ - 1 == one.n_iter_ * MANY


def test_no_row_is_held_out_of_few_rows_or_a_warm_start():
    X, y, _ = noisy_rows()
    few = PassiveAggressiveClassifier(random_state=0).fit(X[:-1], y[:-1])
    assert few.t_ - 1 == few.n_iter_ * (MANY - 1)
    warm = PassiveAggressiveClassifier(random_state=0, warm_start=True).fit(X, y)
    before = warm.t_
    warm.fit(X, y)
    assert warm.t_ - before == warm.n_iter_ * MANY


@pytest.mark.parametrize("kind", ["two", "classes", "labels", "auto", "means"])
def test_every_row_is_learned(kind):
    """Held-out rows are learned later; class means include all rows, and rare classes lose none."""
    X, y, _ = noisy_rows()
    truth = {"classes": np.where(np.arange(MANY) % 400 == 0, 2, y), "labels": np.c_[y, 1 - y]}
    cls = aggro.AutoClassifier if kind == "auto" else PassiveAggressiveClassifier
    model = cls(random_state=0, **({"class_mean": 0.1} if kind == "means" else {}))
    model.fit(X, truth.get(kind, y))
    kept = MANY // 20
    passes, rest = divmod(model.t_ - 1 - kept, MANY - kept)
    assert 1 <= passes <= model.n_iter_ and rest == 0
    if kind == "means":
        plain = PassiveAggressiveClassifier(class_mean=0.1, early_stopping=False).fit(X, y)
        seen = [each._learner.state()["class_weight_seen"] for each in (model, plain)]
        assert np.array_equal(*seen)


def test_held_out_rows_are_weighted_and_named_in_errors():
    X, y, _ = noisy_rows()
    weights = np.ones(MANY)
    model = PassiveAggressiveClassifier(random_state=0)
    one = model.fit(X, y).coef_.copy()
    assert np.array_equal(model.fit(X, y, sample_weight=weights).coef_, one)
    new = SimpleNamespace(examples=0, settings=model._learner.settings)
    batch = TrainingBatch(X, {"labels": y, "weights": None})
    rule = classifier_rule(model, Passes.of(model), new, batch, y, model.classes_, None)
    kept = rule.held_out
    assert len(kept) == MANY // 20
    bad = X.copy()
    bad[kept[-1], 2] = np.nan
    with pytest.raises(ValueError, match=rf"row {kept[-1]}: feature 2 is NaN"):
        model.fit(bad, y)
    assert np.array_equal(model.coef_, one)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_invalid_early_stopping_is_rejected(cls):
    with pytest.raises(ValueError, match="early_stopping='yes'"):
        cls(early_stopping="yes").fit(ROWS, targets_for(cls))
