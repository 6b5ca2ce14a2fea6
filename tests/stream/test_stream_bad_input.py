"""Invalid input raises an error that names it, and leaves the model unchanged."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stream_problems import everything, learn_rows, sparse_stream

from aggro.stream.learners import StreamClassifier, StreamRegressor

BAD_VALUES = [
    (None, TypeError),
    (float("nan"), ValueError),
    (float("inf"), ValueError),
    (-np.inf, ValueError),
    (np.float32("nan"), ValueError),
    (10**400, ValueError),
    ([1.0], TypeError),
    ((1.0,), TypeError),
    ({"b": 1.0}, TypeError),
    (np.array([1.0]), TypeError),
    (np.array(1.0), TypeError),
    (1j, TypeError),
    (b"1", TypeError),
    (pd.NA, TypeError),
    (object(), TypeError),
]


def learned_model(**params):
    X, y, _ = sparse_stream(rows=30)
    return learn_rows(StreamClassifier(**params), X, y.tolist())


@pytest.mark.parametrize(("value", "error"), BAD_VALUES, ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize(
    "bounds", [{}, {"max_features": 50}, {"max_features": 50, "overflow": "hash"}]
)
def test_invalid_values_raise(value, error, bounds):
    model = learned_model(**bounds)
    before = everything(model)
    for learn in (True, False):
        x = {"f1": 1.0, "new": 2.0, "bad one": value, "other": 1.0}
        with pytest.raises(error, match="feature 'bad one' is"):
            model.learn_one(x, 1) if learn else model.predict_one(x)
    assert everything(model) == before


@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize(
    "params",
    [{"scale": "online"}, {"scale": "online", "C": "auto"}, {"class_mean": 0.5}],
    ids=str,
)
def test_overflow_does_not_add_a_class(params, classes):
    """The overflow is detected after the class was added."""
    model = StreamClassifier(**params)
    for k in range(30):
        model.learn_one({"a": 1.0 + k, "b": k % 3}, "pqr"[k % classes])
    before = everything(model)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"overflows|too large"):
            model.learn_one({"a": 1e300, "new": 1e300}, "a class")
        assert everything(model) == before
    model.learn_one({"a": 1.0, "new": 1.0}, "a class")
    assert "a class" in model.classes_ and model.examples == 31


@pytest.mark.parametrize("x", [None, 3, [1.0], "a", {"a"}, np.ones(3)])
def test_examples_that_are_no_dict_raise(x):
    model = learned_model()
    with pytest.raises(TypeError, match="give a dict of feature names to numbers"):
        model.learn_one(x, 1)
    with pytest.raises(TypeError, match="give a dict"):
        model.predict_proba_one(x)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (None, ValueError, "y is None"),
        (float("nan"), ValueError, "y is nan"),
        ([1], TypeError, "unhashable"),
    ],
)
def test_invalid_labels_raise(y, error, message):
    model = learned_model()
    before = everything(model)
    with pytest.raises(error, match=message):
        model.learn_one({"new": 1.0}, y)
    assert everything(model) == before


@pytest.mark.parametrize("y", [None, "1", float("nan"), float("inf"), [1.0]])
def test_invalid_targets_raise(y):
    model = StreamRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    before = everything(model)
    with pytest.raises((TypeError, ValueError), match="y is"):
        model.learn_one({"new": 1.0}, y)
    assert everything(model) == before


@pytest.mark.parametrize("w", [-1.0, float("nan"), float("inf")])
def test_invalid_weights_raise(w):
    model = learned_model()
    before = everything(model)
    with pytest.raises(ValueError, match="w must be zero or more"):
        model.learn_one({"new": 1.0}, 1, w)
    assert everything(model) == before


def test_class_that_the_settings_do_not_allow_raises():
    model = StreamClassifier("CW", multiclass="top")
    model.learn_one({"a": 1.0}, 1)
    model.learn_one({"b": 1.0}, 2)
    before = everything(model)
    with pytest.raises(ValueError, match="use multiclass='ovr'"):
        model.learn_one({"new": 1.0}, 3)
    assert everything(model) == before
    assert model.classes_ == [1, 2]


@pytest.mark.parametrize(
    "params",
    [{}, {"average": True}, {"queue": 2}, {"metric": "full"}, {"metric": "diagonal"}],
    ids=str,
)
def test_overflowing_step_raises(params):
    """A tiny row needs a step beyond the largest float."""
    model = StreamRegressor("PAR", fit_intercept=False, **params)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = everything(model)
    with pytest.raises(ValueError, match="cannot be learned"):
        model.learn_one({"a": 1e-150, "new": 1e-153}, 1e300)
    assert everything(model) == before
    model.learn_one({"a": 1.0, "new": 1.0}, 2.0)
    assert model.n_features_in_ == 3


def test_overflowing_batch_raises():
    model = StreamRegressor("PAR", fit_intercept=False, batch_size=2)
    model.learn_one({"a": 1.0}, 1.0)
    before = everything(model)
    with pytest.raises(ValueError, match="cannot be learned"):
        model.learn_one({"new": 1e200}, 1.0)
    assert everything(model) == before


def test_large_rows_are_learned():
    model = StreamRegressor("PAR", epsilon=0.0, fit_intercept=False)
    model.learn_one({"a": 1e200, "b": 1e200}, 1.0)
    assert model.predict_one({"a": 1e200, "b": 1e200}) == pytest.approx(1.0)


class Rude:
    """A name that uses the model while the model reads it."""

    def __init__(self, use):
        self.use = use

    def __hash__(self):
        return 7

    def __eq__(self, other):
        self.use()
        return False


def test_name_that_uses_the_model_while_it_is_read_raises():
    model = StreamRegressor()
    model.learn_one({7: 1.0}, 1.0)
    with pytest.raises(RuntimeError, match="must not call the model"):
        model.learn_one({Rude(lambda: model.learn_one({"a": 1.0}, 1.0)): 1.0}, 1.0)
    model.learn_one({"a": 1.0}, 1.0)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("change", ["keep_best", "learn_many"])
@pytest.mark.parametrize("several", [False, True])
def test_name_or_label_that_changes_the_model_while_it_is_read_raises(change, several):
    """The tables that are searched at that moment must not be replaced."""
    model = StreamClassifier()
    for i in range(20):
        model.learn_one({7: 1.0, i: 2.0}, {7, i % 3} if several else 7 + i % 3)
    before = everything(model)

    def use():
        if change == "keep_best":
            model.keep_best()
        else:
            model.learn_many(pd.DataFrame({"a": [1.0]}), [7])

    example = ({Rude(use): 1.0}, {1} if several else 7)
    labelled = ({7: 1.0}, {Rude(use)} if several else Rude(use))
    for x, y in (example, labelled):
        with pytest.raises(RuntimeError, match="must not call the model"):
            model.learn_one(x, y)
    with pytest.raises(RuntimeError, match="must not call the model"):
        model.predict_one(example[0])
    assert everything(model) == before


def test_model_without_init_raises():
    class Late(StreamClassifier):
        def __init__(self):
            pass

    for model in (StreamClassifier.__new__(StreamClassifier), Late()):
        for call in (
            lambda model=model: model.learn_one({"a": 1.0}, 1),
            lambda model=model: model.learn_one(x={"a": 1.0}, y=1, w=1.0),
            lambda model=model: model.predict_one({"a": 1.0}),
            lambda model=model: model.score_one({"a": 1.0}),
            lambda model=model: model.flush(),
        ):
            with pytest.raises(RuntimeError, match="call super"):
                call()


def test_model_whose_init_failed_raises():
    model = StreamRegressor.__new__(StreamRegressor)
    with pytest.raises(MemoryError, match="metric"):
        model.__init__(max_features=2**31 - 1, overflow="hash", C=1.0, metric="full")
    with pytest.raises(RuntimeError, match="call super"):
        model.predict_one({"a": 1.0})


def test_errors_of_names_propagate():
    def fail():
        raise ZeroDivisionError

    model = StreamRegressor()
    model.learn_one({7: 1.0}, 1.0)
    with pytest.raises(ZeroDivisionError):
        model.predict_one({Rude(fail): 1.0})
    assert model.predict_one({}) > 0


def test_dict_that_changes_while_it_is_read_does_no_harm():
    x = {}
    x[Rude(x.clear)] = 1.0
    x.update({str(i): 1.0 for i in range(100)})
    model = StreamRegressor()
    model.learn_one({7: 1.0}, 1.0)
    model.learn_one(x, 1.0)  # its remaining items are learned
    assert model.n_features_in_ >= 2


VALUES = st.one_of(
    st.floats(),
    st.integers(),
    st.booleans(),
    st.text(max_size=3),
    st.none(),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.one_of(st.text(max_size=2), st.integers(-3, 3), st.tuples(st.text(max_size=1)))


@given(
    st.lists(st.tuples(st.dictionaries(NAMES, VALUES, max_size=5), st.integers(0, 3)), max_size=25),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_any_dict_is_learned_or_rejected_completely(stream, data):
    """A model that rejected examples equals one that never received them."""
    params = data.draw(
        st.sampled_from(
            [
                {},
                {"metric": "diagonal"},
                {"max_features": 6},
                {"max_features": 5, "overflow": "hash"},
                {"class_mean": 0.1, "average": True},
                {"queue": 2},
                {"batch_size": 3},
            ]
        )
    )
    model, witness = StreamClassifier(**params), StreamClassifier(**params)
    for x, y in stream:
        before = everything(model)
        try:
            model.learn_one(x, y)
        except (TypeError, ValueError):
            assert everything(model) == before
        else:
            witness.learn_one(x, y)
        for array in model._dump()[2].values():
            assert np.isfinite(array).all()
    assert everything(model) == everything(witness)


@pytest.mark.parametrize("params", [{"algorithm": "PA-I"}, {}])
def test_row_with_an_infinite_norm_does_not_block_its_batch(params):
    """It is rejected at once, not when the batch is full."""
    stream, control = (StreamClassifier(batch_size=4, **params) for _ in "ab")
    for i in range(12):
        x = {"a": float(i), "b": 1.0}
        if i == 5:
            with pytest.raises(ValueError, match="norm overflows"):
                stream.learn_one({"a": 1e200, "new": 1.0}, True)
        stream.learn_one(x, i % 2 == 0)
        control.learn_one(x, i % 2 == 0)
    assert stream.examples == control.examples == 12
    assert stream.score_one({"a": 1.0}) == control.score_one({"a": 1.0})
    assert stream.n_features_in_ == 2
