"""keep_best() and changes of parameters during model selection."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import aggro
from aggro import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    StreamClassifier,
    StreamRegressor,
)
from aggro.selection import ensemble as ensemble

AXES = [
    {},
    {"metric": "diagonal"},
    {"metric": "auto", "scale": "auto", "average": "auto"},
    {"average": True},
    {"average": "reservoir"},
    {"class_mean": 0.1},
    {"batch_size": 7},
]


def data(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_keep_best_does_not_change_predictions(load, axes, tmp_path):
    X, y = data(load)
    model = PassiveAggressiveClassifier(C="auto", random_state=0, **axes)
    model.partial_fit(X[:400], y[:400])
    chosen = next(candidate for candidate in model.candidates_ if candidate["chosen"])
    ensemble.weight(model._learner.learners, predict=False)  # as it is after more examples
    coef, intercept, predicted = model.coef_.copy(), model.intercept_, model.decision_function(X)
    updates, loss = model.n_updates_, model.cumulative_loss_
    assert model.keep_best() is model
    assert np.array_equal(model.coef_, coef) and np.array_equal(model.intercept_, intercept)
    # The core sums a single output in another order than several ones.
    exact = 0 if predicted.ndim > 1 or axes.get("class_mean") else 1e-13
    np.testing.assert_allclose(
        model.decision_function(X), predicted, rtol=0, atol=exact * abs(predicted).max()
    )
    assert (model.n_updates_, model.cumulative_loss_) == (updates, loss)
    assert model.n_mistakes_ == chosen["mistakes"] and model.t_ == 401
    for name in ("C", "metric", "scale"):
        assert getattr(model, name) == chosen[name]
    assert model.average == axes.get("average", "auto")  # averaging is not a candidate's setting
    assert chosen["C"] == model.C_
    with pytest.raises(AttributeError, match="auto"):
        _ = model.candidates_
    assert model.keep_best() is model  # a second time nothing is left to do
    aggro.save(model, tmp_path / "model.aggro")
    copies = [aggro.load(tmp_path / "model.aggro"), pickle.loads(pickle.dumps(model))]
    for copy in copies:
        assert np.array_equal(copy.decision_function(X), model.decision_function(X))
        copy.partial_fit(X[400:], y[400:])
    model.partial_fit(X[400:], y[400:])
    for copy in copies:
        assert np.array_equal(copy.coef_, model.coef_)


@pytest.mark.parametrize("make", [sp.csr_matrix, np.asarray])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
def test_learning_after_keep_best_equals_the_candidate_alone(metric, make):
    X, y = data(load_breast_cancer)
    selecting = PassiveAggressiveClassifier(C="auto", metric=metric)
    selecting.partial_fit(make(X[:300]), y[:300]).keep_best()
    alone = PassiveAggressiveClassifier(C=selecting.C_, metric=metric).partial_fit(
        make(X[:300]), y[:300]
    )
    for model in (selecting, alone):
        model.partial_fit(make(X[300:]), y[300:])
    assert_close(selecting.coef_, alone.coef_, rtol=1e-8)
    assert selecting.n_mistakes_ == alone.n_mistakes_


def test_keep_best_makes_model_files_small(tmp_path):
    X = sp.random(50, 5000, 0.01, format="csr", random_state=0)
    y = np.arange(50) % 2
    model = PassiveAggressiveClassifier(C="auto", metric="auto", average="auto").partial_fit(X, y)
    aggro.save(model, tmp_path / "race.aggro")
    selecting = len(pickle.dumps(model)), (tmp_path / "race.aggro").stat().st_size
    model.keep_best()
    aggro.save(model, tmp_path / "model.aggro")
    alone = len(pickle.dumps(model)), (tmp_path / "model.aggro").stat().st_size
    assert alone[0] * 20 < selecting[0] and alone[1] * 20 < selecting[1]


def test_regressors_keep_the_best_candidate():
    X, y = data(load_diabetes)
    model = PassiveAggressiveRegressor(C="auto", scale="auto").partial_fit(X, y)
    predicted = model.predict(X)
    assert_close(model.keep_best().predict(X), predicted, rtol=1e-12)
    assert model.scale != "auto"
    fixed = PassiveAggressiveRegressor(C=0.1).partial_fit(X, y)
    assert fixed.keep_best() is fixed and fixed.C == 0.1


def test_keep_best_before_the_first_example_raises():
    X, y = data(load_breast_cancer)
    model = PassiveAggressiveClassifier(C="auto")
    with pytest.raises(ValueError, match="not fitted"):
        model.keep_best()
    model.partial_fit(X, y, classes=[0, 1], sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="before the first example"):
        model.keep_best()
    assert model.C == "auto"
    with pytest.raises(ValueError, match="before the first example"):
        StreamClassifier("SPA-I", C="auto").keep_best()


@pytest.mark.parametrize("params", [{}, {"batch_size": 4}, {"probability": True}], ids=str)
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_streams_keep_the_best_candidate(load, params, tmp_path):
    X, y = data(load)
    rows = [{f"f{j}": v for j, v in enumerate(row)} for row in X[:301].tolist()]
    model, other = (StreamClassifier("SPA-I", C="auto", **params) for _ in "ab")
    for x, label in zip(rows[:201], y.tolist(), strict=False):
        model.learn_one(x, label)
        other.learn_one(x, label)
    before = model.coef_, model.intercept_, [model.predict_one(x) for x in rows]
    chosen, size = model.C_, model._raw_memory_usage
    model.keep_best()
    assert (model.coef_, model.intercept_, [model.predict_one(x) for x in rows]) == before
    assert model.C == model.C_ == chosen
    assert model._raw_memory_usage < size / 2
    with pytest.raises(AttributeError, match="auto"):
        _ = model.candidates_
    model.keep_best()
    aggro.save(model, tmp_path / "stream.aggro")
    copies = [aggro.load(tmp_path / "stream.aggro"), pickle.loads(pickle.dumps(model))]
    for x, label in zip(rows[201:], y[201:].tolist(), strict=False):
        for one in (model, other, *copies):
            one.learn_one(x, label)
    for copy in copies:
        assert copy.coef_ == model.coef_
    candidate = next(i for i, candidate in enumerate(other.candidates_) if candidate["C"] == chosen)
    weights = other._selection.learner.learners[0].coef(candidate)
    mine = np.array([list(column.values()) for column in model.coef_.values()])
    assert_close(mine, weights, rtol=1e-9)


def test_regression_streams_keep_the_best_candidate():
    model = StreamRegressor("PAR-I", C="auto", epsilon=0.0)
    for i in range(100):
        model.learn_one({"x": float(i % 7)}, 3.0 * (i % 7))
    predicted = model.predict_one({"x": 2.5})
    model.keep_best()
    assert model.predict_one({"x": 2.5}) == pytest.approx(predicted, rel=1e-12)


# -- parameters during selection ---------------------------------------------------------------

GIVEN = {"C": 0.5, "metric": "diagonal", "scale": "online"}


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_parameters_that_would_end_selection_raise(kind, name):
    X, y = data(load_breast_cancer)
    model = kind(**{name: "auto"}).partial_fit(X[:100], y[:100])
    before = pickle.dumps(model._learner)
    with pytest.raises(ValueError, match=rf"{name} cannot change from 'auto' to .*keep_best\(\)"):
        model.set_params(**{name: GIVEN[name]}).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"keep_best\(\)"):
        model.set_params(warm_start=True).fit(X, y)
    assert pickle.dumps(model._learner) == before
    model.set_params(**{name: "auto"}).partial_fit(X[100:], y[100:])  # selection continues
    model.keep_best()
    if name == "C":
        model.set_params(C=0.5).partial_fit(X[:50], y[:50])
        assert model.C_ == 0.5 and model._learner.settings.C == 0.5


def test_parameters_set_before_keep_best_take_effect():
    X, y = data(load_breast_cancer)
    model = PassiveAggressiveClassifier(C="auto", metric="auto").partial_fit(X, y)
    model.set_params(C=0.5).keep_best()
    assert model.C == 0.5 and model.metric != "auto"
    model.partial_fit(X, y)
    assert model._learner.settings.C == 0.5


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("kind", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_auto_after_the_first_example_raises(kind, name, tmp_path):
    X, y = data(load_breast_cancer)
    model = kind().partial_fit(X[:100], y[:100])
    was = getattr(model, name)
    with pytest.raises(ValueError, match=f"{name} cannot change from {was!r} to 'auto'.*fit"):
        model.set_params(**{name: "auto"}).partial_fit(X, y)
    model.set_params(**{name: was}).partial_fit(X, y)
    aggro.save(model, tmp_path / "model.aggro")
    aggro.load(tmp_path / "model.aggro")


@pytest.mark.parametrize("change", [{"class_mean": 0.5}, {"queue": 4}, {"fit_intercept": False}])
def test_rejected_parameters_leave_the_selection_unchanged(change, tmp_path):
    X, y = data(load_breast_cancer)
    model = PassiveAggressiveClassifier(C="auto", average="auto").partial_fit(X[:100], y[:100])
    was = {name: getattr(model, name) for name in change}
    with pytest.raises(ValueError, match="cannot change"):
        model.set_params(**change).partial_fit(X, y)
    model.set_params(**was)
    aggro.save(model, tmp_path / "model.aggro")
    other = aggro.load(tmp_path / "model.aggro")
    for one in (model, other):
        one.partial_fit(X[100:], y[100:])
    assert model.candidates_ == other.candidates_


def test_other_parameters_reach_every_candidate():
    X, y = (part[:100] for part in data(load_diabetes))
    model = PassiveAggressiveRegressor(C="auto", metric="auto", epsilon=0.1).partial_fit(X, y)
    model.set_params(epsilon=5.0).partial_fit(X, y)
    candidates = [
        candidate for learner in model._learner.learners for candidate in learner.all_settings
    ]
    assert {candidate.epsilon for candidate in candidates} == {5.0}
    assert len({(candidate.metric, candidate.C) for candidate in candidates}) == 39
