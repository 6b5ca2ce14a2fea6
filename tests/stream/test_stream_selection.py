"""Streams select the same settings as the estimators of arrays."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits
from stream_problems import everything

import aggro
from aggro import AutoClassifier, AutoRegressor, StreamClassifier, StreamRegressor
from aggro.estimators.counters import ROWS

REGRESSION, BINARY, SEVERAL = "regression", "binary", "several classes"


def linear_arrays(regression=False):
    """Return the array estimator that selects what streams select."""
    return (AutoRegressor if regression else AutoClassifier)(features="linear")


def as_dicts(X):
    return [dict(enumerate(row)) for row in X.tolist()]


def generated(task, seed, rows=400, late=False):
    """Return rows, some of whose columns are zero at first if ``late``, and targets."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 6)) * 10.0 ** random.uniform(-1, 2, 6)
    scores = X @ random.normal(size=(6, 4)) + random.normal(size=(rows, 4))
    if late:
        X[: rows // 3, 3:] = 0.0
    if task == REGRESSION:
        return X, scores[:, 0]
    y = scores[:, : 2 if task == BINARY else 4].argmax(axis=1)
    if late:
        y[: rows // 2] %= 2
    y[:2] = 0, 1
    return X, y


def assert_same_progressively(stream, arrays, rows, X, y):
    """Learn one by one; compare each prediction before it, and what is selected in the end."""
    for i, (x, target) in enumerate(zip(rows, y.tolist(), strict=True)):
        if i:
            expected = arrays.predict(X[i : i + 1])[0]
            assert stream.predict_one(x) == pytest.approx(expected, rel=1e-6, abs=1e-8)
        stream.learn_one(x, target)
        arrays.partial_fit(X[i : i + 1], y[i : i + 1])
    assert stream.best_params_ == pytest.approx(arrays.best_params_)
    assert pytest.approx(arrays.C_) == stream.C_
    assert stream.n_mistakes_ == arrays.n_mistakes_
    assert stream.n_updates_ == arrays.n_updates_
    assert len(stream.candidates_) == len(arrays.candidates_)
    assert str(stream.selection_report()) == str(arrays.selection_report())


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("task", [REGRESSION, BINARY, SEVERAL])
def test_a_stream_predicts_what_arrays_predict(task, late):
    for seed in range(3):
        X, y = generated(task, seed, late=late)
        stream = StreamRegressor() if task == REGRESSION else StreamClassifier()
        arrays = AutoRegressor(features="linear") if task == REGRESSION else linear_arrays()
        assert_same_progressively(stream, arrays, as_dicts(X), X, y)


@given(
    st.sampled_from([REGRESSION, BINARY, SEVERAL]),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([1, 3, 50]),
)
@settings(max_examples=15, deadline=None)
def test_scores_are_those_of_arrays_learned_at_once(task, seed, late, batch):
    X, y = generated(task, seed, rows=150, late=late)
    X[:, 0] = np.random.default_rng(seed).choice([0.0, 1.0, -2.0], len(X))
    stream = StreamRegressor() if task == REGRESSION else StreamClassifier()
    arrays = AutoRegressor(features="linear") if task == REGRESSION else linear_arrays()
    for x, target in zip(as_dicts(X), y.tolist(), strict=True):
        stream.learn_one(x, target)
    appeared = 1 + max(y.tolist().index(label) for label in set(y.tolist()))
    single = 1 if task == REGRESSION else appeared  # a call knows the classes of all its rows
    for rows in np.split(np.arange(len(y)), [*range(1, single), *range(single, len(y), batch)]):
        arrays.partial_fit(X[rows], y[rows])
    scores = arrays.predict(X) if task == REGRESSION else arrays.decision_function(X)
    for x, expected in zip(as_dicts(X), scores, strict=True):
        found = stream.score_one(x)
        found = list(found.values()) if isinstance(found, dict) else found
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_categories_are_columns_of_ones():
    random = np.random.default_rng(0)
    colours, X = random.integers(0, 5, 500), random.normal(size=(500, 2))
    y = ((colours % 2) + X[:, 0] > 0.5).astype(int)
    order = list(dict.fromkeys(colours.tolist()))  # columns as they appear
    table = np.hstack([X, np.array(order) == colours[:, None]])
    rows = [{0: a, "colour": f"c{c}", 1: b} for (a, b), c in zip(X.tolist(), colours, strict=True)]
    stream, arrays = StreamClassifier(), linear_arrays()
    assert_same_progressively(stream, arrays, rows, table, y)


def test_a_sparse_stream_selects_what_a_sparse_matrix_selects():
    """With many features, candidates that make rows dense are removed."""
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(1)
    X = random.normal(size=(600, 300)) * (random.random((600, 300)) < 0.03)
    X[0, :6] = 1.0
    y = (X @ random.normal(size=300) > 0).astype(int)
    order = list(dict.fromkeys(np.nonzero(X)[1].tolist()))
    table, stream, arrays = (
        csr_matrix(X[:, order]),
        StreamClassifier(),
        linear_arrays(),
    )
    for i, row in enumerate(X):
        x = {j: row[j].item() for j in np.flatnonzero(row).tolist()}
        if i > 20:
            assert stream.predict_one(x) == arrays.predict(table[i])[0]
        stream.learn_one(x, y[i].item())
        arrays.partial_fit(table[i], y[i : i + 1])
    assert {each["scale"] for each in stream.candidates_} <= {"none", "online"}
    assert stream.candidates_ == [pytest.approx(each) for each in arrays.candidates_]


@pytest.mark.parametrize("batch", [2, 8])
def test_batches_are_those_of_arrays(batch):
    X, y = generated(SEVERAL, 3, rows=240)
    stream = StreamClassifier("SPA-II", C="auto", metric="auto", batch_size=batch, average="auto")
    arrays = aggro.PassiveAggressiveClassifier(
        C="auto", metric="auto", batch_size=batch, loss="squared_hinge"
    )
    for x, label in zip(as_dicts(X), y.tolist(), strict=True):
        stream.learn_one(x, label)
    for first in range(0, len(y), batch):
        arrays.partial_fit(X[first : first + batch], y[first : first + batch])
    for x, expected in zip(as_dicts(X), arrays.decision_function(X), strict=True):
        assert list(stream.score_one(x).values()) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_stream_selection_equals_arrays_on_real_data(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    first_seen = list(dict.fromkeys(np.nonzero(X)[1].tolist()))
    X = np.ascontiguousarray(X[:, first_seen])
    assert_same_progressively(StreamClassifier(), linear_arrays(), as_dicts(X), X, y)


@pytest.mark.skipif("AGGRO_DATA" not in os.environ, reason="needs the data sets of AGGRO_DATA")
def test_electricity_is_as_accurate_as_arrays():
    data = aggro.datasets.load("electricity")
    rows, y = as_dicts(np.asarray(data.X)[:10_000]), np.asarray(data.y)[:10_000].tolist()
    stream, right = StreamClassifier(), 0
    for x, label in zip(rows, y, strict=True):
        right += stream.predict_one(x) == label
        stream.learn_one(x, label)
    assert right / len(y) > 0.94


def test_counters_count_as_zero():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    counter = 1000.0 + np.arange(300)
    plain, counting = StreamClassifier(), StreamClassifier()
    rows = [{"row": n, **dict(enumerate(x))} for n, x in zip(counter, X.tolist(), strict=True)]
    with pytest.warns(UserWarning, match="only rises or only falls"):
        for x, label in zip(rows[:ROWS], y.tolist(), strict=False):
            counting.learn_one(x, label)
    for x, label in zip(rows[ROWS:], y[ROWS:].tolist(), strict=True):
        counting.learn_one(x, label)
    for x, label in zip(as_dicts(X), y.tolist(), strict=True):
        plain.learn_one(x, label)
    without = {name: value for name, value in rows[-1].items() if name != "row"}
    copies = [counting, counting.clone(include_attributes=True)]
    counting.keep_best()
    for model in copies:
        assert model.score_one(rows[-1]) == model.score_one(without)
        assert model.coef_[1]["row"] == 0.0
        right = [
            model.predict_one({**x, "row": 5.0}) == label for x, label in zip(rows, y, strict=True)
        ]
        assert np.mean(right) > 0.9


def test_features_replace_the_oldest_in_a_selection():
    """A feature that replaces another one starts without a weight."""
    bounded, free = StreamClassifier(max_features=3), StreamClassifier()
    random = np.random.default_rng(0)
    for i in range(200):
        x = {"a": random.normal(), f"b{i // 20}": random.normal()}
        for model in (bounded, free):
            model.learn_one(x, int(x["a"] > 0))
    assert bounded.n_features_in_ == 3
    assert set(bounded.coef_[1]) == {"a", "b8", "b9"}
    assert bounded.n_mistakes_ == pytest.approx(free.n_mistakes_, abs=10)


@pytest.mark.parametrize("params", [{}, {"max_features": 3}, {"batch_size": 2}], ids=str)
def test_rejected_example_leaves_a_selection_unchanged(params):
    model = StreamClassifier(**params)
    for i in range(41):
        model.learn_one({"a": 1.0 + i % 5, "b": -float(i % 3)}, "pqr"[i % 3])
    model.learn_one({"c": 2.0}, "p")
    model.learn_one({"c": 1.0}, "p")  # waits if two are a batch
    before = everything(model)
    for _ in range(2):
        with pytest.raises(ValueError, match="cannot be learned"):
            model.learn_one({"a": 1e300, "new": 1e300}, "a class")
        assert everything(model) == before
    model.learn_one({"a": 1.0, "new": 1.0}, "a class")
    assert model.classes_ == ["a class", "p", "q", "r"] and "new" in model.coef_["p"]


def test_learn_many_is_one_transaction_of_a_selection():
    model = StreamClassifier()
    frame = pd.DataFrame({"a": [1.0, 2.0, -1.0], "b": [0.0, 1.0, np.inf]})
    model.learn_many(frame[:2], ["x", "y"])
    before = everything(model)
    with pytest.raises(ValueError, match="row 2"):
        model.learn_many(frame, ["x", "y", "z"])
    assert everything(model) == before


@pytest.mark.parametrize("given", [{}, {"C": "auto"}, {"metric": "diagonal"}])
def test_settings_not_given_are_selected(given):
    model = StreamClassifier(**given)
    model.learn_one({"a": 1.0}, 0)
    assert model.best_params_.keys() | given.keys() >= {"C", "metric", "scale"}
    assert {"metric"} & given.keys() <= {"metric"} - model.best_params_.keys()


@pytest.mark.parametrize(
    "make", [lambda: StreamClassifier("PA-I"), lambda: StreamClassifier(C=0.1)]
)
def test_a_variant_or_a_number_is_a_single_model(make):
    model = make()
    model.learn_one({"a": 1.0}, 0)
    assert model.best_params_ == {} and model.C_ in (1.0, 0.1)
    with pytest.raises(AttributeError, match="auto"):
        _ = model.candidates_


def test_keep_best_keeps_the_predictions_and_makes_a_single_model():
    X, y = generated(SEVERAL, 5, rows=2000)
    model = StreamClassifier()
    with pytest.raises(ValueError, match="before the first example"):
        model.keep_best()
    for x, label in zip(as_dicts(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    chosen, scores = model.best_params_, [model.score_one(x) for x in as_dicts(X)]
    model.keep_best()
    assert [model.score_one(x) for x in as_dicts(X)] == scores
    assert (model.C_, model.params["metric"]) == (chosen["C"], chosen["metric"])
    assert eval(repr(model), {"StreamClassifier": StreamClassifier})._settings(4) == (
        model._settings(4)
    )
    model.learn_one({"another": 1.0}, "a class")
    model.keep_best()


def test_a_grid_follows_targets_that_grow():
    rng = np.random.default_rng(0)
    model, largest = StreamRegressor("PAR-I", C="auto", fit_intercept=False, epsilon=0.0), 0.0
    for i in range(6000):
        x = rng.normal()
        model.learn_one({"x": x}, x * (1.0 if i < 100 else 1e9))
        if i == 50:
            largest = max(each["C"] for each in model.candidates_)
    assert max(each["C"] for each in model.candidates_) > largest


def test_features_of_a_pending_batch_have_no_weight():
    model = aggro.StreamClassifier(batch_size=4)
    for i in range(4):
        model.learn_one({"a": 1.0 - 2.0 * (i % 2)}, i % 2)
    expected = model.score_one({"a": 1.0})
    model.learn_one({"a": 1.0, "b": 3.0}, 0)  # waits for its batch
    assert model.score_one({"a": 1.0, "b": 3.0}) == expected
