"""Streams select the same settings as the estimators of arrays."""

import copy
import os
import pickle

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
from aggro.selection.feature_maps import MOST_COLUMNS

REGRESSION, BINARY, SEVERAL = "regression", "binary", "several classes"


def both(task=BINARY, **options):
    """Return a stream learner, and the array estimator that selects the same."""
    if task == REGRESSION:
        return StreamRegressor(**options), AutoRegressor(random_state=0, **options)
    return StreamClassifier(**options), AutoClassifier(random_state=0, **options)


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


@pytest.mark.parametrize("options", [{}, {"features": "linear"}, {"features": "bins"}], ids=str)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("task", [REGRESSION, BINARY, SEVERAL])
def test_a_stream_predicts_what_arrays_predict(task, late, options):
    for seed in range(2):
        X, y = generated(task, seed, late=late)
        assert_same_progressively(*both(task, **options), as_dicts(X), X, y)


@given(
    st.sampled_from([REGRESSION, BINARY, SEVERAL]),
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([1, 3, 50]),
    st.sampled_from(["auto", "linear", "fourier", "bins", "both"]),
)
@settings(max_examples=25, deadline=None)
def test_scores_are_those_of_arrays_learned_at_once(task, seed, late, batch, features):
    X, y = generated(task, seed, rows=150, late=late)
    X[:, 0] = np.random.default_rng(seed).choice([0.0, 1.0, -2.0], len(X))
    stream, arrays = both(task, features=features)
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
    assert_same_progressively(*both(features="linear"), rows, table, y)


def test_a_sparse_stream_selects_what_a_sparse_matrix_selects():
    """With many features, candidates that make rows dense are removed."""
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(1)
    X = random.normal(size=(600, 300)) * (random.random((600, 300)) < 0.03)
    X[0, :6] = 1.0
    y = (X @ random.normal(size=300) > 0).astype(int)
    order = list(dict.fromkeys(np.nonzero(X)[1].tolist()))
    table, (stream, arrays) = csr_matrix(X[:, order]), both(features="linear")
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
    assert_same_progressively(*both(), as_dicts(X), X, y)


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
    assert model.classes_ == ["a class", "p", "q", "r"] and "new" in model._names()


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


# -- non-linear features ---------------------------------------------------------------------------

KINDS = [{}, {"features": "both"}, {"algorithm": "PA-I", "features": "bins"}]


def curved(rows=1500, seed=0, columns=3):
    """Return dicts, and classes with a curved boundary."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (rows, columns)) * 10.0 ** np.arange(columns)
    names = [f"c{j}" for j in range(columns)]
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return rows, ["pn"[a * b > 0] for a, b in X[:, :2].tolist()]


def learned(rows, labels, model=None):
    model = model or StreamClassifier()
    for x, label in zip(rows, labels, strict=True):
        model.learn_one(x, label)
    return model


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_curved_boundaries_are_learned(options):
    rows, labels = curved()
    linear = learned(rows, labels, StreamClassifier(features="linear")).n_mistakes_
    assert learned(rows, labels, StreamClassifier(**options)).n_mistakes_ < 0.4 * linear


@pytest.mark.parametrize(
    "stream",
    [StreamClassifier(C=0.1, features="both"), StreamClassifier("AROW", features="fourier")],
    ids=repr,
)
def test_a_single_model_of_feature_maps_is_that_of_arrays(stream):
    rows, labels = curved(300)
    params = stream._get_params()
    arrays = (
        aggro.AROWClassifier(random_state=0)
        if params["algorithm"]
        else aggro.PassiveAggressiveClassifier(C=0.1, average=False, random_state=0)
    )
    X = np.array([list(x.values()) for x in rows])
    maps = aggro.FeatureMap(
        bins=128 if params["features"] == "both" else 0, random_state=0
    ).partial_fit_transform(X)
    for i, (x, label) in enumerate(zip(rows, labels, strict=True)):
        stream.learn_one(x, label)
        arrays.partial_fit(maps[i : i + 1], labels[i : i + 1], classes=["n", "p"])
    assert stream.best_params_ == {} and stream.n_mistakes_ == arrays.n_mistakes_


def test_label_sets_of_dicts_are_those_of_arrays():
    X, y = generated(SEVERAL, 0, rows=300)
    Y = np.column_stack([y == 1, y > 1, np.zeros(len(y), bool)]).astype(int)
    stream, arrays = both()
    for i, (x, row) in enumerate(zip(as_dicts(X), Y, strict=True)):
        labels = {k for k in range(2) if row[k]}
        stream.learn_one(x, labels)
        arrays.partial_fit(X[i : i + 1], Y[i : i + 1])
        assert stream.predict_one(x) <= {0, 1}
    if stream.classes_ == [0, 1]:
        found = [list(stream.score_one(x).values()) for x in as_dicts(X)]
        np.testing.assert_allclose(found, arrays.decision_function(X)[:, :2], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [*KINDS, {"batch_size": 4}, {"probability": True}], ids=str)
def test_rejected_names_leave_the_feature_map_unchanged(options):
    """Columns of a rejected example are not those of the next example."""
    rows, labels = curved(40)
    stream, other = (learned(rows, labels, StreamClassifier(**options)) for _ in range(2))
    before = everything(stream)
    with pytest.raises(ValueError, match="cannot be learned"):
        stream.learn_one({**rows[0], **{f"new{j}": 1e300 for j in range(5)}}, "p")
    assert everything(stream) == before
    for each in (stream, other):
        each.learn_one({**rows[0], "one": 2.0}, "p")
        learned(rows, labels, each)
    assert everything(stream) == everything(other)


def test_names_given_with_zeros_are_columns_of_the_first_example():
    rows, labels = curved(300)
    zero = {**dict.fromkeys(rows[0], 0.0)}
    named, early = learned([zero, *rows], ["n", *labels]), learned(rows[:1], labels[:1])
    assert named._selection.learner.representations.core.state()["grown"].tolist() == [3]
    assert named.n_features_in_ == early.n_features_in_ == 3


def test_linear_candidates_go_on_alone_beyond_the_limit_of_columns():
    rows, labels = curved(100)
    stream = learned(rows, labels)
    linear = learned(rows, labels, StreamClassifier(features="linear"))
    wide = {f"w{j}": 1.0 for j in range(MOST_COLUMNS)}
    before = everything(stream)
    with pytest.raises(ValueError, match="cannot be learned"):
        stream.learn_one({**wide, "w0": 1e300}, "p")
    assert everything(stream) == before
    for each in (stream, linear):
        each.learn_one(wide, "p")
        learned(rows[:20], labels[:20], each)
    assert {row.get("features", "linear") for row in stream.candidates_} == {"linear"}
    assert stream.score_one(rows[50]) == pytest.approx(linear.score_one(rows[50]))
    assert stream.coef_["p"].keys() == linear.coef_["p"].keys()


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_names_beyond_the_limit_are_ignored_without_linear_candidates(options, tmp_path):
    rows, labels = curved(2500)
    stream = learned(rows, labels, StreamClassifier(**options))
    stream.keep_best()
    names = {f"w{j}": 1.0 for j in range(MOST_COLUMNS)}
    stream.learn_one(names, "p")
    stream.learn_one({"beyond": 5.0}, "n")
    assert stream.n_features_in_ == MOST_COLUMNS + 4
    assert stream.score_one({**rows[0], "beyond": 7.0}) == stream.score_one(rows[0])
    aggro.save(stream, tmp_path / "m")
    for each in (stream, aggro.load(tmp_path / "m")):
        learned(rows[:50], labels[:50], each)
        each.learn_one({"beyond": 1.0, "another": 1.0}, "p")
    assert everything(aggro.load(tmp_path / "m")) != everything(stream)


@pytest.mark.parametrize("options", [*KINDS, {"probability": True}], ids=str)
def test_keep_best_keeps_the_feature_map(options, tmp_path):
    rows, labels = curved()
    stream = learned(rows[:1200], labels[:1200], StreamClassifier(**options))
    kind = stream.best_params_.get("features", options.get("features"))
    scores = [stream.score_one(x) for x in rows[1200:]]
    shares = [stream.predict_proba_one(x)["p"] for x in rows[1200:1210]]
    stream.keep_best()
    assert [stream.score_one(x) for x in rows[1200:]] == pytest.approx(scores, rel=1e-12)
    assert [stream.predict_proba_one(x)["p"] for x in rows[1200:1210]] == pytest.approx(shares)
    assert stream.params["features"] == kind and stream.best_params_ == {}
    with pytest.raises(AttributeError, match="auto"):
        _ = stream.candidates_
    aggro.save(stream, tmp_path / "m")
    copies = [aggro.load(tmp_path / "m"), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    for each in (stream, *copies):
        learned(rows[1200:], labels[1200:], each)
        each.learn_one(rows[0], "a third class")
        each.keep_best()
        for ask in (each.score_one, each.predict_proba_one):
            expected = getattr(stream, ask.__name__)
            assert [ask(x) for x in rows[:50]] == [expected(x) for x in rows[:50]]
    assert type(stream)(**stream._get_params())._settings(3) == stream._settings(3)
    assert [stream.score_one(x) for x in rows[1200:]] != pytest.approx(scores)


def test_weights_of_feature_maps_are_not_those_of_features():
    stream = learned(*curved())
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match="features='linear'"):
            getattr(stream, name)


@pytest.mark.parametrize("features", ["linear", "both"])
@pytest.mark.parametrize("kept", [False, True])
def test_explanations_are_those_of_arrays(features, kept):
    X, y = generated(SEVERAL, 0)
    stream, arrays = both(features=features)
    for i, (x, label) in enumerate(zip(as_dicts(X), y.tolist(), strict=True)):
        stream.learn_one(x, label)
        arrays.partial_fit(X[i : i + 1], y[i : i + 1])
    if kept:
        stream.keep_best()
    found, expected = stream.explain(as_dicts(X)[7]), arrays.explain(X[7])
    assert found.keys() == expected.keys()
    for label, why in found.items():
        assert why.total == pytest.approx(expected[label].total)
        words = {f"x{name}": value for name, value in why.words}
        assert words == pytest.approx(dict(expected[label].words), abs=1e-8)


def test_explanations_name_categories():
    rows, labels = curved(1000)
    random = np.random.default_rng(0)
    for i, x in enumerate(rows):
        x["city"] = ["Oslo", "Rome"][random.integers(2)]
        labels[i] = "pn"[(x["c0"] > 0) ^ (x["city"] == "Rome")]
    stream = learned(rows, labels)
    assert stream.best_params_["features"] == "both"
    words = [name for name, _ in stream.explain({"c0": 0.9, "city": "Rome"})["p"].words]
    assert set(words[:2]) == {"c0", "city=Rome"}
    with pytest.raises(ValueError, match="learned nothing"):
        StreamClassifier().explain(rows[0])


@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_bounded_streams_are_linear(overflow):
    rows, labels = curved(50)
    stream = learned(rows, labels, StreamClassifier(max_features=9, overflow=overflow))
    assert {row.get("features", "linear") for row in stream.candidates_} == {"linear"}
    with pytest.raises(ValueError, match="leave max_features out"):
        StreamClassifier(max_features=9, overflow=overflow, features="both")


def test_invalid_features_raise():
    with pytest.raises(ValueError, match="features='curved' is not valid"):
        StreamClassifier(features="curved")


def test_streams_of_feature_maps_are_not_merged():
    rows, labels = curved(100)
    one, two = (learned(rows[k::2], labels[k::2]) for k in range(2))
    with pytest.raises(ValueError, match="features='linear'"):
        aggro.merge([one, two])
    alone = aggro.merge([one, StreamClassifier()])
    assert alone.score_one(rows[0]) == one.score_one(rows[0])
    streams = [
        learned(rows[k::2], labels[k::2], StreamClassifier(mergeable=True)) for k in range(2)
    ]
    assert aggro.merge(streams).examples == 100
