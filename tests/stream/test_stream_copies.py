"""Copies of streams continue like the original."""

import copy
import pickle
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from stream_problems import AXES, CLASSIFIERS, everything, learn_rows, sparse_stream

import aggro
from aggro.persistence import ModelFileError, store
from aggro.stream.learners import StreamClassifier, StreamRegressor


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_file(model):
    with tempfile.TemporaryDirectory() as folder:
        aggro.save(model, Path(folder, "m"))
        return aggro.load(Path(folder, "m"))


COPIES = [by_pickle, by_file, copy.copy, copy.deepcopy]


def assert_goes_on(model, duplicate):
    X, y, weights = sparse_stream(rows=59, classes=3)
    learn_rows(model, X, y.tolist(), weights)
    copied = duplicate(model)
    assert everything(copied) == everything(model)
    more, labels, weights = sparse_stream(rows=40, features=15, classes=5, seed=1)
    for each in (model, copied):
        learn_rows(each, more, labels.tolist(), weights)
    assert everything(copied) == everything(model)
    assert repr(copied) == repr(model)


@pytest.mark.parametrize("duplicate", COPIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "axes",
    [
        *AXES,
        {"max_features": 13},
        {"max_features": 9, "overflow": "hash"},
        {"features": "both"},
        {"features": "fourier", "C": "auto", "batch_size": 4},
    ],
    ids=str,
)
def test_copies_with_each_setting_continue_equally(axes, duplicate):
    assert_goes_on(StreamClassifier("SPA-I", **axes), duplicate)


@pytest.mark.parametrize("duplicate", COPIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "axes",
    [
        {},
        {"features": "linear"},
        {"batch_size": 4},
        {"max_features": 13},
        {"max_features": 9, "overflow": "hash"},
    ],
    ids=str,
)
def test_copies_of_a_selection_continue_equally(axes, duplicate):
    assert_goes_on(StreamClassifier(probability=not axes, **axes), duplicate)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_copies_of_each_variant_continue_equally(name):
    assert_goes_on(StreamClassifier(name), by_pickle)


def test_a_new_model_can_be_copied():
    for model in (StreamClassifier(), StreamRegressor(max_features=4, overflow="hash")):
        for duplicate in COPIES:
            assert everything(duplicate(model)) == everything(model)


def test_copies_are_independent():
    model = StreamRegressor()
    model.learn_one({"a": 1.0}, 1.0)
    before = everything(model)
    copy.copy(model).learn_one({"a": 1.0, "b": 1.0}, 9.0)
    assert everything(model) == before


def test_names_survive_json():
    names = ["a", 1, 2.5, True, None, b"x", ("colour", "red"), (1, (b"y", None))]
    model = StreamRegressor()
    for i, name in enumerate(names):
        model.learn_one({name: 1.0}, float(i))
    assert by_file(model).coef_ == model.coef_


def test_names_that_cannot_be_saved_raise():
    model = StreamRegressor()
    model.learn_one({frozenset(): 1.0}, 1.0)
    with pytest.raises(ModelFileError, match=r"names\.0=frozenset\(\) cannot be saved"):
        by_file(model)
    assert by_pickle(model).coef_ == model.coef_


def test_attributes_of_the_user_are_kept():
    model = StreamRegressor()
    model.note = "mine"
    assert by_pickle(model).note == "mine"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("recency", np.array([0, 2], dtype=np.int32)),
        ("recency", np.array([0, 0], dtype=np.int32)),
        ("recency", np.array([0], dtype=np.int32)),
        ("waiting_slots", np.array([99], dtype=np.int32)),
        ("waiting_slots", np.array([-1], dtype=np.int32)),
        ("waiting_ends", np.array([5])),
        ("waiting_ends", np.array([-1])),
        ("waiting_labels", np.array([2])),
        ("waiting_labels", np.array([-1])),
        ("waiting_weights", np.ones(2)),
        ("waiting_targets", np.ones(0)),
    ],
)
def test_inconsistent_state_raises(name, values):
    model = StreamClassifier("BPAI", batch_size=4, max_features=3)
    for i in range(5):
        model.learn_one({"b": 1.0} if i else {"a": 1.0}, i % 2)
    assert everything(store.model_of(store.record_of(model))) == everything(model)
    record = store.record_of(model)
    record.attributes["waiting"][name] = values
    with pytest.raises((ValueError, ModelFileError), match=r"is inconsistent|out of range"):
        store.model_of(record)
    record = store.record_of(model)
    record.attributes["names"] = ["a", "a"]
    with pytest.raises(ValueError, match="twice"):
        store.model_of(record)


def test_model_of_another_width_raises():
    model, other = StreamRegressor("PAR-I"), StreamRegressor("PAR-I")
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    other.learn_one({"a": 1.0}, 1.0)
    record = store.record_of(model)
    record.attributes["_learner"] = store.record_of(other).attributes["_learner"]
    with pytest.raises(ModelFileError):
        store.model_of(record)


@pytest.mark.parametrize(
    "params",
    [{"C": 0.1}, {"C": 0.1, "max_features": 40}, {"C": 0.1, "batch_size": 4}, {}],
    ids=str,
)
def test_threads_share_a_model(params):
    """Each example is learned once, and readers see consistent models."""
    model = StreamClassifier(**params)
    errors = []

    def work(seed):
        try:
            X, y, _ = sparse_stream(rows=300, features=30, seed=seed)
            for i, row in enumerate(X):
                model.learn_one({f"f{j}": v for j, v in enumerate(row.tolist())}, int(y[i]))
                assert sum(model.predict_proba_one({"f1": 1.0}).values()) == pytest.approx(1.0)
                if i % 50 == 0:
                    assert by_pickle(model).score_one({}) is not None
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    model.flush()
    assert model.examples == 4 * 300
    assert model.n_features_in_ == 30
    assert np.isfinite(list(model.score_one({"f1": 1.0}).values())).all()


def test_threads_wait_for_slow_names():
    """Other threads wait even if the code of a name releases the GIL."""
    model = StreamRegressor()
    inside, waiting = threading.Event(), threading.Event()

    class Slow(str):
        def __hash__(self):
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                waiting.wait(5)
            return str.__hash__(self)

    x = {Slow("a"): 1.0}
    thread = threading.Thread(target=model.learn_one, args=(x, 1.0))
    thread.start()
    assert inside.wait(5)
    other = threading.Thread(target=model.learn_one, args=({"b": 1.0}, 1.0))
    other.start()
    waiting.set()
    thread.join()
    other.join()
    assert set(model.coef_) == {"a", "b"}
