"""Probabilities of streams."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from stream_problems import AXES, as_dict, everything, learn_rows, sparse_stream

import aggro
from aggro import AutoClassifier, PassiveAggressiveClassifier, StreamClassifier
from aggro.persistence import ModelFileError, store

LETTERS = np.array(list("abcdef"))


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def logistic(rows, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 6))
    chance = 1 / (1 + np.exp(-X @ np.array([2.0, -1.0, 1.0, 0.5, 0.0, 0.0])))
    return X, (random.random(rows) < chance).astype(int), chance


def test_probabilities_are_closer_to_the_truth_than_softmax():
    X, y, chance = logistic(4000)
    common = {"C": 1.0, "intercept_scaling": 1.0}  # a large intercept shifts the margins
    plain = learn_rows(StreamClassifier(**common), X[:3000], y[:3000].tolist())
    asked = learn_rows(StreamClassifier(**common, probability=True), X[:3000], y[:3000].tolist())
    losses = []
    for model in (asked, plain):
        P = np.array([model.predict_proba_one(as_dict(x))[1] for x in X[3000:]])
        losses.append(-np.log(np.where(y[3000:] == 1, P, 1 - P)).mean())
    best = -np.log(np.where(y[3000:] == 1, chance[3000:], 1 - chance[3000:])).mean()
    assert losses[0] < losses[1]
    assert losses[0] < best * 1.5  # PA-I with C=1 is far from the best linear model here


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_probability_does_not_change_the_model(axes):
    X, y, weights = sparse_stream(rows=400)
    models = [StreamClassifier("SPA-I", probability=p, **axes) for p in (False, True)]
    for model in models:
        learn_rows(model, X, LETTERS[y].tolist(), weights)
    assert models[0].coef_ == models[1].coef_
    assert models[0].n_mistakes_ == models[1].n_mistakes_


def test_margins_are_those_of_the_estimator():
    X, y, _ = sparse_stream(rows=300, classes=3)
    stream = StreamClassifier("SPA-I", C=0.1, probability=True)
    arrays = PassiveAggressiveClassifier(C=0.1, average=False, probability=True)
    learn_rows(stream, X, y.tolist())
    for i in range(len(y)):
        arrays.partial_fit(X[i : i + 1], y[i : i + 1])
    stream._record.flush()
    ours, theirs = stream._record.calibrator, arrays._fitted.record.calibrator
    assert len(ours.scores) == 299
    np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-6)
    np.testing.assert_allclose(ours.centres, theirs.centres, atol=1e-6)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    found = arrays.predict_proba(X)
    for row, p in zip(X, found, strict=True):
        assert list(stream.predict_proba_one(as_dict(row)).values()) == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_margins_of_a_selection_are_those_of_arrays(classes):
    random = np.random.default_rng(classes)
    X = random.normal(size=(1500, 4))
    y = (X @ random.normal(size=(4, classes)) + random.normal(size=(1500, classes))).argmax(axis=1)
    stream, arrays = (
        StreamClassifier(probability=True),
        AutoClassifier(features="linear", probability=True),
    )
    for i in range(len(y)):
        stream.learn_one(dict(enumerate(X[i].tolist())), int(y[i]))
        arrays.partial_fit(X[i : i + 1], y[i : i + 1])
    ours, theirs = stream._record.flush(), arrays._fitted.record.calibrator
    close = np.isclose(ours.scores, theirs.scores, rtol=1e-5, atol=1e-6).all(axis=1)
    assert np.flatnonzero(~close).max(initial=0) < 10  # a new class may break a tie of candidates
    for model in (stream, arrays):
        model.keep_best()
    for row, expected in zip(X[:50], arrays.predict_proba(X[:50]), strict=True):
        found = stream.predict_proba_one(dict(enumerate(row.tolist())))
        assert list(found.values()) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("duplicate", [by_pickle, copy.copy, copy.deepcopy])
def test_copies_with_probabilities_are_independent(duplicate):
    X, y, weights = sparse_stream(rows=700, classes=3)
    model = StreamClassifier("SPA-I", probability=True)
    learn_rows(model, X[:300], LETTERS[y].tolist(), weights)
    question = as_dict(X[0])
    found = model.predict_proba_one(question)
    learn_rows(model, X[300:310], LETTERS[y[300:]].tolist())  # too few to refit the map
    copied = duplicate(model)
    assert copied.predict_proba_one(question) == model.predict_proba_one(question)
    learn_rows(copied, X[310:], LETTERS[y[310:]].tolist())
    assert model._record.met < copied._record.met
    learn_rows(model, X[310:], LETTERS[y[310:]].tolist())
    assert copied.predict_proba_one(question) == model.predict_proba_one(question) != found
    assert repr(copied) == repr(model)
    assert "probability=True" in repr(model)


def test_saved_stream_keeps_its_probabilities(tmp_path):
    model = StreamClassifier(probability=True)
    for i in range(200):
        model.learn_one({"a": i % 7, ("b", 1): 1.0, "word": "xyz"[i % 3]}, "np"[i % 7 > 3])
    aggro.save(model, tmp_path / "m")
    loaded = aggro.load(tmp_path / "m")
    question = {"a": 3, "word": "y"}
    assert loaded.predict_proba_one(question) == model.predict_proba_one(question)
    record = store.record_of(model)
    record.attributes["_calibrator"].labels[:] = 9
    store.write_record(record, tmp_path / "m")
    with pytest.raises(ModelFileError):
        aggro.load(tmp_path / "m")


def test_probabilities_with_later_classes():
    X, y, _ = sparse_stream(rows=600)
    model = StreamClassifier("SPA-I", probability=True)
    assert model.predict_proba_one({}) == {}
    for classes in ([2], [2, 0], [2, 0, 3], [2, 0, 3, 1]):
        known = np.isin(y, classes)
        learn_rows(model, X[known], y[known].tolist())
        found = model.predict_proba_one(as_dict(X[0]))
        assert list(found) == sorted(classes)
        assert sum(found.values()) == pytest.approx(1.0)


def test_rejected_example_changes_nothing():
    X, y, _ = logistic(300)
    model = learn_rows(StreamClassifier(probability=True), X, y.tolist())
    question = as_dict(X[0])
    before = model.predict_proba_one(question), everything(model)
    with pytest.raises(ValueError, match="f0"):
        model.learn_one({"f0": float("nan")}, 1)
    with pytest.raises(ValueError, match="w must be"):
        model.learn_one({"f0": 1.0}, 1, -1.0)
    frame = pd.DataFrame({"f0": [1.0, 2.0, np.inf]})
    with pytest.raises(ValueError, match="row 2"):
        model.learn_many(frame, [0, 1, 2])
    assert (model.predict_proba_one(question), everything(model)) == before
    with pytest.raises(ValueError, match="probability='no'"):
        StreamClassifier(probability="no")


def test_frames_and_clones():
    X, y, _ = logistic(300)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
    model = StreamClassifier(probability=True)
    model.learn_many(frame, y)
    table = model.predict_proba_many(frame)
    assert list(table.columns) == [0, 1]
    assert table.iloc[7].to_dict() == model.predict_proba_one(frame.iloc[7].to_dict())
    fresh = model.clone()
    assert fresh.probability
    assert fresh._record.met == 0
    assert model.clone(include_attributes=True).predict_proba_many(frame).equals(table)
