"""Streams of dicts learn the same model as estimators of arrays."""

import numpy as np
import pytest
from stream_problems import AXES, CLASSIFIERS, REGRESSORS, as_dict, learn_rows, sparse_stream

import aggro
from aggro.stream.learners import StreamClassifier, StreamRegressor
from aggro.variants import from_name


def by_rows(estimator, X, y, weights):
    """Learn single rows or whole batches, as a stream does."""
    step = getattr(estimator, "batch_size", 1)
    kept = np.flatnonzero(weights > 0)
    for first in range(0, len(kept), step):
        rows = kept[first : first + step]
        estimator.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    return estimator


def assert_same(stream, estimator, X):
    """Compare weights, intercepts, scores and the record."""
    coef = np.atleast_2d(estimator.coef_)
    _, columns, intercepts = stream._columns()
    ours = [[column.get(f"f{j}", 0.0) for j in range(X.shape[1])] for column in columns]
    np.testing.assert_allclose(ours, coef, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(intercepts, np.ravel(estimator.intercept_), rtol=1e-9, atol=1e-11)
    assert [stream.predict_one(as_dict(row)) for row in X] == pytest.approx(
        estimator.predict(X).tolist(), rel=1e-9, abs=1e-11
    )
    assert stream.n_updates_ == estimator.n_updates_
    assert stream.n_mistakes_ == estimator.n_mistakes_
    assert stream.cumulative_loss_ == pytest.approx(estimator.cumulative_loss_)
    assert stream.examples == estimator.t_ - 1


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_stream_equals_each_linear_classifier(name, classes):
    X, y, weights = sparse_stream(classes=classes)
    stream = learn_rows(StreamClassifier(name, C=0.7, random_state=0), X, y.tolist(), weights)
    stream.flush()
    estimator = from_name(name, random_state=0)
    if "C" in estimator.get_params():
        estimator.set_params(C=0.7)
    assert_same(stream, by_rows(estimator, X, y, weights), X)
    assert stream.classes_ == estimator.classes_.tolist()


@pytest.mark.parametrize("name", REGRESSORS)
def test_stream_equals_each_linear_regressor(name):
    X, y, weights = sparse_stream()
    target = X[:, 0] - 2 * X[:, 1] + 0.1 * y
    stream = learn_rows(StreamRegressor(name), X, target, weights)
    assert_same(stream, by_rows(from_name(name), X, target, weights), X)


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_stream_equals_classifier_with_each_setting(axes, classes):
    X, y, weights = sparse_stream(classes=classes, seed=1)
    params = {"loss": "hinge", "C": 0.5, **axes}
    stream = learn_rows(StreamClassifier("SPA-I", random_state=0, **params), X, y.tolist(), weights)
    stream.flush()
    estimator = aggro.PassiveAggressiveClassifier(random_state=0, **{"average": False, **params})
    assert_same(stream, by_rows(estimator, X, y, weights), X)


@pytest.mark.parametrize(
    "params", [{"batch_size": 4}, {"average": True}, {"queue": 2}, {"metric": "full"}]
)
def test_stream_equals_regressor_with_each_setting(params):
    X, y, weights = sparse_stream(seed=2)
    target = X.sum(axis=1) + y
    stream = learn_rows(StreamRegressor("PAR-I", **params), X, target, weights)
    stream.flush()
    estimator = aggro.PassiveAggressiveRegressor(**{"average": False, **params})
    assert_same(stream, by_rows(estimator, X, target, weights), X)


@pytest.mark.parametrize("algorithm", ["PA-I", "PAM-I-diag"])
def test_added_features_keep_learned_weights(algorithm):
    """Each feature keeps its weight while others are added."""
    one_by_one, known = StreamClassifier(algorithm), StreamClassifier(algorithm)
    for model, names in ((one_by_one, []), (known, "abcde")):
        model.learn_one(dict.fromkeys(names, 0.0), "y")
        for k, name in enumerate("abcde"):
            model.learn_one({name: 1.0 + k}, "xy"[k % 2])
    for name in "abcde":
        assert one_by_one.score_one({name: 1.0}) == known.score_one({name: 1.0})


def test_feature_named_twice_counts_twice():
    twice, once = StreamClassifier("PA-I"), StreamClassifier("PA-I")
    for k, label in enumerate("xyxy"):
        rest = {"p": 1.0, "q": 0.5 - k, "r": 2.0 * k}
        twice.learn_one({"c": "red", ("c", "red"): 1.0 + k, **rest}, label)
        once.learn_one({("c", "red"): 2.0 + k, **rest}, label)
    for name in (("c", "red"), "p", "q", "r"):
        assert twice.score_one({name: 1.0}) == once.score_one({name: 1.0})
