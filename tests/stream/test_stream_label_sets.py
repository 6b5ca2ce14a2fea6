"""Streams of examples with sets of labels."""

import copy
import pickle

import numpy as np
import pytest
from stream_problems import as_dict, everything

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier, StreamClassifier

NAMES = ["art", "law", "sport", "tech", "war"]
PARAMETERS = [
    {"features": "linear"},
    {"C": 1.0},
    {"C": 0.1, "average": True},
    {"C": 1.0, "metric": "diagonal"},
    {"C": 1.0, "metric": "full", "loss": "squared_hinge"},
    {"C": 1.0, "metric": "adagrad", "average": "auto"},
    {"C": 1.0, "class_mean": 0.2, "forgetting": 0.01},
    {"C": 1.0, "queue": 3},
    {"C": 1.0, "scale": "standard"},
]


def problem(rows=150, features=8, seed=0):
    """Return rows, an indicator matrix whose labels appear one after another, and the sets."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.6)
    Y = (X @ random.normal(size=(features, 5)) + random.normal(size=(rows, 5)) > 0.3).astype(int)
    Y[0] = 0
    for k, late in enumerate([20, 1, 70, 1, 50]):
        Y[:late, k] = 0
    return X, Y, [{NAMES[k] for k in np.flatnonzero(row)} for row in Y]


def learned(model, X, sets, weights=None):
    for i, row in enumerate(X):
        model.learn_one(as_dict(row), sets[i], 1.0 if weights is None else weights[i])
    return model


def with_others(Y):
    """Return the matrix with a column for labels that never appear."""
    return np.hstack([Y, np.zeros((len(Y), 1), int)])


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_label_sets_are_indicator_matrices_with_a_label_that_never_appears(parameters):
    X, Y, sets = problem()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(X))
    weights[0] = 1.0
    stream = learned(StreamClassifier(**parameters), X, sets, weights)
    if "C" in parameters:
        arrays = PassiveAggressiveClassifier(**{"average": False, **parameters})
    else:
        arrays = AutoClassifier(**parameters)
    for i in range(len(X)):
        row = slice(i, i + 1)
        arrays.partial_fit(X[row], with_others(Y)[row], sample_weight=weights[row])
    assert stream.classes_ == NAMES
    coef = [[stream.coef_[label].get(f"f{j}", 0.0) for j in range(X.shape[1])] for label in NAMES]
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(coef, arrays.coef_[:5], **close)
    np.testing.assert_allclose(list(stream.intercept_.values()), arrays.intercept_[:5], **close)
    expected = arrays.predict(X)[:, :5]
    found = [stream.predict_one(as_dict(row)) for row in X]
    assert found == [{NAMES[k] for k in np.flatnonzero(row)} for row in expected]
    assert stream.n_mistakes_ == arrays.n_mistakes_
    assert stream.n_updates_ == arrays.n_updates_
    assert stream.best_params_ == getattr(arrays, "best_params_", {})


@pytest.mark.parametrize("parameters", [{"C": 1.0}, {}], ids=str)
def test_mini_batches_of_label_sets(parameters):
    X, Y, sets = problem()
    parameters = {**parameters, "batch_size": 4, "average": False}
    stream = learned(StreamClassifier(**parameters), X, sets)
    kept = pickle.loads(pickle.dumps(stream))  # two examples wait
    for model in (stream, kept):
        model.flush()
    assert everything(stream) == everything(kept)
    if "C" not in parameters:
        assert stream.examples == len(X)
        return
    arrays = PassiveAggressiveClassifier(**parameters)
    arrays.partial_fit(X, with_others(Y))
    coef = [[stream.coef_[label].get(f"f{j}", 0.0) for j in range(X.shape[1])] for label in NAMES]
    np.testing.assert_allclose(coef, arrays.coef_[:5], rtol=1e-9, atol=1e-11)


def test_probabilities_of_labels_are_independent_and_those_of_arrays():
    X, Y, sets = problem()
    stream = learned(StreamClassifier(C=1.0, probability=True), X, sets)
    arrays = PassiveAggressiveClassifier(C=1.0, probability=True, average=False)
    arrays.partial_fit(X, with_others(Y))
    found = [list(stream.predict_proba_one(as_dict(row)).values()) for row in X[:20]]
    np.testing.assert_allclose(found, arrays.predict_proba(X[:20])[:, :5], atol=0.02)
    assert learned(StreamClassifier(C=1.0), X, sets).predict_proba_one({}).keys() == set(NAMES)


def test_the_empty_set_is_an_answer():
    model = StreamClassifier()
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, set())
    assert model.predict_one({"a": 1.0}) == set()
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, frozenset({"x"}))
    model.learn_one({"a": 1.0}, {"x", "y"})
    assert model.classes_ == ["x", "y"]
    assert "x" in model.predict_one({"a": 1.0})
    assert model.score_one({"a": 1.0}).keys() == {"x", "y"}


@pytest.mark.parametrize(
    "parameters", [{}, {"C": 1.0}, {"C": 1.0, "probability": True}, {"probability": True}], ids=str
)
def test_copies_and_files_of_label_sets(parameters, tmp_path):
    X, _, sets = problem()
    model = learned(StreamClassifier(**parameters), X[:60], sets)
    aggro.save(model, tmp_path / "m")
    others = [aggro.load(tmp_path / "m"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    learned(model, X[60:], sets[60:])
    for other in others:
        learned(other, X[60:], sets[60:])
        assert everything(other) == everything(model)
    before = [model.predict_one(as_dict(row)) for row in X]
    model.keep_best()
    assert [model.predict_one(as_dict(row)) for row in X] == before
    aggro.save(model, tmp_path / "m")
    assert aggro.load(tmp_path / "m").coef_ == model.coef_
    assert model.clone().learn_one({}, "x") is None  # a fresh model may begin with classes


@pytest.mark.parametrize("parameters", [{}, {"C": 1.0}, {"C": 1.0, "batch_size": 3}], ids=str)
def test_failed_calls_change_nothing(parameters):
    X, _, sets = problem(40)
    model = learned(StreamClassifier(**parameters), X, sets)
    single, blank = StreamClassifier(**parameters), StreamClassifier(**parameters)
    single.learn_one({"a": 1.0}, "x")
    for stream, x, y, message in [
        (model, {"a": 1.0}, "art", "give a set"),
        (single, {"a": 1.0}, {"x"}, "one class each"),
        (model, {"a": 1.0}, {"art", None}, "give a class"),
        (model, {"a": 1.0}, {"new", float("nan")}, "give a class"),
        (model, {"b": float("inf")}, {"new"}, ""),
        (blank, {"a": float("inf")}, {"x"}, ""),
        (model, {"a": 1e308, "b": 1e308}, {"new", "newer"}, ""),
        (blank, {"a": 1e308, "b": 1e308}, {"x"}, ""),
    ]:
        before = everything(stream)
        try:
            stream.learn_one(x, y)
        except ValueError as error:
            assert message in str(error)
            assert everything(stream) == before
    if not blank._taken:
        blank.learn_one({"a": 1.0}, "x")  # an example that failed has decided nothing
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="row 1"):
        model.learn_many(pandas.DataFrame({"a": [1.0, 2.0]}), [{"z"}, "z"])
    assert "z" not in model.classes_


def test_tables_of_label_sets():
    pandas = pytest.importorskip("pandas")
    X, _, sets = problem()
    table = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    model = StreamClassifier(C=1.0)
    model.learn_many(table, sets)
    assert model.coef_.keys() == learned(StreamClassifier(C=1.0), X, sets).coef_.keys()
    assert model.predict_many(table).tolist() == [
        model.predict_one(row) for row in table.to_dict("records")
    ]


@pytest.mark.parametrize(
    "parameters", [{"C": 0.3, "mergeable": True}, {"probability": True, "mergeable": True}], ids=str
)
def test_streams_of_label_sets_merge(parameters):
    X, _, sets = problem(400)
    parts = [
        learned(StreamClassifier(**parameters), X[part], sets[part])
        for part in (slice(0, 60), slice(60, 400))
    ]
    merged = aggro.merge(parts)
    assert merged.classes_ == NAMES
    assert merged.examples == 400
    right = [merged.predict_one(as_dict(x)) == y for x, y in zip(X, sets, strict=True)]
    assert np.mean(right) > 0.2
    learned(merged, X[:10], sets)
    single = StreamClassifier(**parameters)
    single.learn_one({"a": 1.0}, "x")
    with pytest.raises(ValueError, match="one class for each"):
        aggro.merge([parts[0], single])
