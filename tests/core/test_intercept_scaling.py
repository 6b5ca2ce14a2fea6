"""The value of the constant feature whose weight is the intercept."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_support import make_learner, same_state, stored, train, trained

from aggro import (
    AROWClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    StreamClassifier,
)
from aggro.learner import Learner
from aggro.persistence import load, save
from aggro.selection.learners import restarted
from aggro.settings import Settings

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.7)
X[:2] = 0.0
y = rng.integers(0, 3, 60)
FIRST = float(np.linalg.norm(X[2]))


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
@pytest.mark.parametrize("multiclass", ["support", "ovr"])
def test_intercept_equals_the_weight_of_a_constant_feature(metric, multiclass):
    common = {"metric": metric, "multiclass": multiclass, "random_state": 0}
    model = PassiveAggressiveClassifier(intercept_scaling=0.3, **common).partial_fit(X, y)
    wide = np.column_stack([X, np.full(len(X), 0.3)])
    plain = PassiveAggressiveClassifier(fit_intercept=False, **common).partial_fit(wide, y)
    np.testing.assert_allclose(model.coef_, plain.coef_[:, :-1], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, 0.3 * plain.coef_[:, -1], atol=1e-12)


@pytest.mark.parametrize("length", [0.5, 100.0])
def test_auto_is_a_fifth_of_the_first_norm_and_at_most_one(length):
    rows = X * (length / FIRST)
    scale = min(1.0, 0.2 * length)
    given = PassiveAggressiveClassifier(intercept_scaling=scale).partial_fit(
        rows[2:], y[2:], [0, 1, 2]
    )
    loaded = PassiveAggressiveClassifier().partial_fit(rows[2:], y[2:], [0, 1, 2])
    np.testing.assert_allclose(loaded.intercept_, given.intercept_, atol=1e-12)
    np.testing.assert_allclose(loaded.coef_, given.coef_, atol=1e-12)
    assert loaded._learner.state()["bias_prior"] == pytest.approx(scale**2)


@pytest.mark.parametrize("C", [1.0, "auto"])
def test_chunks_and_storage_give_the_same_intercept(C):
    kinds, y = np.array(["a", "b"]), (X @ [1.0, -1.0, 2.0, 0.5, 0.0] > 0).astype(int)
    whole = PassiveAggressiveClassifier(C=C).partial_fit(X, kinds[y], kinds)
    pieces = PassiveAggressiveClassifier(C=C)
    for start, end in ((0, 1), (1, 4), (4, 5), (5, 60)):
        pieces.partial_fit(sp.csr_array(X[start:end]), kinds[y[start:end]], kinds)
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_, atol=1e-12)
    stream = StreamClassifier("SPA-I", C=C, average="auto")
    for row, label in zip(X.tolist(), y, strict=True):
        stream.learn_one(_named(row), kinds[label])
    scores = [stream.score_one(_named(row)) for row in X.tolist()]
    np.testing.assert_allclose(scores, whole.decision_function(X), atol=1e-9)


def _named(row):
    return {f"f{j}": value for j, value in enumerate(row)}


def test_rows_of_weight_zero_do_not_set_auto():
    weights = np.ones(60)
    weights[2] = 0.0
    model = PassiveAggressiveClassifier().partial_fit(X, y, sample_weight=weights)
    expected = min(1.0, 0.2 * np.linalg.norm(X[3])) ** 2
    assert model._learner.state()["bias_prior"] == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
def test_failed_call_does_not_set_auto(metric):
    settings = Settings("multiclass", metric=metric, intercept_scaling="auto")
    learner, other = make_learner(settings, 5, 3), make_learner(settings, 5, 3)
    bad = X.copy()
    bad[10, 0] = np.nan
    with pytest.raises(ValueError):
        train(learner, bad, y)
    assert same_state(learner, other)
    train(learner, X, y)
    assert same_state(learner, train(other, X, y))


@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "newton", "full"])
def test_late_class_starts_with_the_same_value(metric):
    settings = Settings("multiclass", metric=metric, multiclass="ovr", intercept_scaling="auto")
    old = trained(X, y, 3, **vars(settings))
    new = old.add_classes(settings, np.array([0, 1, 2]), 4).state()
    prior = old.state()["bias_prior"][0]
    assert prior == pytest.approx(min(1.0, 0.2 * FIRST) ** 2)
    assert new["bias_prior"] == pytest.approx(prior)
    assert new["bias_variance"][3] == pytest.approx(prior)
    assert new["bias_variance"][:3] == pytest.approx(old.state()["bias_variance"])
    if metric == "full":
        assert new["full_3"][-1] == pytest.approx(prior)


def test_restarted_candidates_keep_the_value():
    candidates = [Settings("binary", C=C, intercept_scaling="auto") for C in (0.1, 1.0)]
    learner = Learner(candidates, 5, 2)
    train(learner, stored(X), y > 0)
    state = restarted(learner, candidates).state()
    assert state["bias_prior"] == pytest.approx(min(1.0, 0.2 * FIRST) ** 2)
    assert state["bias_variance"] == pytest.approx(min(1.0, 0.2 * FIRST) ** 2)


@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, AROWClassifier])
def test_saved_model_keeps_the_value(kind, tmp_path):
    model = kind().partial_fit(X[:30], y[:30], [0, 1, 2])
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.intercept_scaling == "auto"
    for each in (model, loaded):
        each.partial_fit(X[30:], y[30:])
    assert loaded.intercept_.tobytes() == model.intercept_.tobytes()


def test_changing_the_value_later_is_rejected():
    model = PassiveAggressiveClassifier().partial_fit(X, y)
    model.set_params(intercept_scaling=2.0)
    with pytest.raises(ValueError, match=r"intercept_scaling cannot change from 'auto' to 2\.0"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("wrong", [0, -1.0, np.inf, np.nan, "Auto", None, True])
def test_invalid_values_are_rejected(wrong):
    with pytest.raises(ValueError, match="intercept_scaling="):
        PassiveAggressiveClassifier(intercept_scaling=wrong).fit(X, y)


def test_regressors_default_to_one():
    targets = X @ np.arange(5.0)
    plain = PassiveAggressiveRegressor(random_state=0).partial_fit(X, targets)
    given = PassiveAggressiveRegressor(intercept_scaling=1.0).partial_fit(X, targets)
    sized = PassiveAggressiveRegressor(intercept_scaling="auto").partial_fit(X, targets)
    assert plain.intercept_ == given.intercept_ != sized.intercept_
