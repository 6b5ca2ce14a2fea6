"""Growth of streams, and limits on it."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_problems import everything, learn_rows, sparse_stream

from aggro.stream.learners import StreamClassifier, StreamRegressor

VARIANTS = [
    {"average": True},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"queue": 3},
    {"class_mean": 0.5},
    {"class_mean": 0.5, "average": True},
    {"average": "reservoir", "reservoir_size": 2},
    {"scale": "online"},
    {"scale": "standard"},
]


def test_features_and_classes_are_added():
    model = StreamClassifier("PAM-I-diag")
    for i in range(1000):
        model.learn_one({f"a{i}": 1.0, "always": 1.0}, i % 7)
    assert model.n_features_in_ == 1001
    assert model.classes_ == list(range(7))
    assert len(model.coef_[3]) == 1001


def test_oldest_feature_is_replaced():
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False, max_features=2)
    model.learn_one({"a": 1.0}, 3.0)
    model.learn_one({"b": 1.0}, 5.0)
    model.learn_one({"a": 1.0}, 3.0)
    model.predict_one({"b": 1.0})  # predicting does not count as use
    model.learn_one({"c": 1.0}, 7.0)
    assert model.coef_ == {"a": 3.0, "c": 7.0}
    assert model.predict_one({"b": 1.0}) == 0.0


@pytest.mark.parametrize("params", VARIANTS, ids=str)
def test_replaced_features_leave_no_state(params):
    """After all features were replaced, the state equals that of a new model."""
    filled, empty = (
        StreamClassifier("SPA-I", max_features=3, fit_intercept=False, C=0.1, **params)
        for _ in range(2)
    )
    for i in range(30):
        filled.learn_one({"a": 1.0 + i, "b": -1.0, "c": 0.5}, i % 2)
        empty.learn_one({}, i % 2)
    for model in (filled, empty):
        model.learn_one({"x": 1.0, "y": -2.0, "z": 0.5}, 0)
    assert filled.coef_[1].keys() == {"x", "y", "z"}
    arrays, others = filled._dump()[2], empty._dump()[2]
    sizes = {"scale_seen", "scale_square", "scale_mean", "scale_spread"}
    assert params.keys() != {"scale"} or sizes & set(arrays)
    kept = {"weights", "ring", "pool", "pool_mean", "class_sum_norm", "class_sum_cross", "full_0"}
    for name in (kept | sizes) & set(arrays):
        np.testing.assert_allclose(arrays[name], others[name], atol=1e-9, err_msg=name)


@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_feature_of_value_zero_is_ignored(overflow):
    """It needs no slot and does not replace other features."""
    zeros, plain = (StreamRegressor("PAR", max_features=4, overflow=overflow) for _ in range(2))
    rng = np.random.default_rng(0)
    for i in range(40):
        row = {f"f{i % 3}": 1.0 + rng.random(), f"g{i % 7}": rng.random()}
        plain.learn_one(row, float(i % 5))
        zeros.learn_one({"a": 0.0, **row, f"h{i}": -0.0, "f0": row.get("f0", 0)}, float(i % 5))
    assert zeros.coef_ == plain.coef_ and zeros.intercept_ == plain.intercept_


@given(st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=4), max_size=40))
@settings(max_examples=60, deadline=None)
def test_most_recent_features_are_kept(stream):
    model = StreamRegressor("PAR", max_features=4)
    recent = []
    for features in stream:
        model.learn_one(dict.fromkeys(sorted(features), 1.0), 1.0)
        known = [f for f in sorted(features) if f in recent]
        new = [f for f in sorted(features) if f not in recent]
        recent = [f for f in recent if f not in features] + known
        for feature in new:
            recent = (recent if len(recent) < 4 else recent[1:]) + [feature]
        assert sorted(model.coef_) == sorted(recent)


def test_example_with_too_many_features_raises():
    model = StreamRegressor(max_features=3)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = everything(model)
    with pytest.raises(ValueError, match="max_features=3"):
        model.learn_one({"a": 1.0, "c": 1.0, "d": 1.0, "e": 1.0}, 1.0)
    assert everything(model) == before


def test_features_of_a_waiting_batch_are_not_replaced():
    model = StreamRegressor(max_features=3, batch_size=3)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    model.learn_one({"c": 1.0}, 1.0)
    with pytest.raises(ValueError, match="max_features=3"):
        model.learn_one({"d": 1.0}, 1.0)
    model.flush()
    model.learn_one({"d": 1.0}, 1.0)
    assert set(model.coef_) == {"b", "c", "d"}


def test_hashed_names_share_buckets():
    model = StreamRegressor(
        "PAR", epsilon=0.0, fit_intercept=False, max_features=1, overflow="hash"
    )
    model.learn_one({"a": 1.0, "b": 2.0}, 6.0)  # one feature of value 3
    assert model.coef_ == {0: 2.0}
    assert (model.n_features_in_, model.predict_one({"anything": 1.0})) == (1, 2.0)


def test_hashing_rarely_changes_predictions():
    X, y, _ = sparse_stream(classes=3)
    plain = StreamClassifier("SPA-I")
    hashed = StreamClassifier("SPA-I", max_features=2**20, overflow="hash")
    for model in (plain, hashed):
        learn_rows(model, X, y.tolist())
    assert plain.score_one({"f3": 1.0}) == pytest.approx(hashed.score_one({"f3": 1.0}))


NAMES = ["a", "naïve", b"a", 0, 17, -3, 2**70, 2.5, ("colour", "red"), ("a", 1, ("b",))]


def test_hashes_are_the_same_in_every_process():
    code = f"""if True:
        import sys; sys.path[:] = {sys.path!r}
        from aggro.stream.learners import StreamRegressor
        model = StreamRegressor(max_features=1000, overflow="hash", fit_intercept=False)
        for i, name in enumerate({NAMES!r}):
            model.learn_one({{name: 1.0}}, i + 1.0)
        print([(k, v) for k, v in model.coef_.items() if v])
    """
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_equal_names_have_equal_hashes():
    model = StreamRegressor(max_features=2**20, overflow="hash", fit_intercept=False)
    for name in (1, 1.0, True, np.int64(1)):
        model.learn_one({name: 1.0}, 1.0)
    assert sum(weight != 0 for weight in model.coef_.values()) == 1
    for name in ("1", b"1"):
        model.learn_one({name: 1.0}, 1.0)
    assert sum(weight != 0 for weight in model.coef_.values()) == 3


def test_names_without_stable_hash_raise():
    model = StreamRegressor(max_features=8, overflow="hash")
    with pytest.raises(TypeError, match="overflow='hash' needs names of str"):
        model.learn_one({frozenset(): 1.0}, 1.0)
