"""Saved and loaded stream learners continue identically."""

import numpy as np
import pytest
from model_helpers import ROWS

import aggro
from aggro.persistence import ModelFileError, load, save, store
from aggro.persistence.record import bytes_of

if not hasattr(aggro, "StreamClassifier"):
    pytest.skip("aggro.StreamClassifier is not public yet", allow_module_level=True)

StreamClassifier, StreamRegressor = aggro.StreamClassifier, aggro.StreamRegressor
LINEAR = [name for name, row in ROWS.items() if not row.estimator.startswith("Kernel")]


def examples(n=60, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        values = rng.standard_normal(4)
        x = dict(zip(["a", ("b", 1), "ü", 7], values.tolist(), strict=True))
        if values[0] > 0:
            x["word"] = "yes" if values[1] > 0 else "no"
        yield x, ["ant", "bee", "wasp"][int(values[:3].argmax())], float(values[0] - values[2])


@pytest.mark.parametrize("name", LINEAR)
def test_loaded_stream_continues_exactly(name, tmp_path):
    regression = ROWS[name].estimator.endswith("Regressor")
    model = (StreamRegressor if regression else StreamClassifier)(name, random_state=3)
    for i, (x, label, value) in enumerate(examples()):
        if i == 25:
            save(model, tmp_path / "m")
            loaded = load(tmp_path / "m")
        if i >= 25:
            loaded.learn_one(x, value if regression else label)
        model.learn_one(x, value if regression else label)
    assert repr(loaded) == repr(model)
    assert bytes_of(store.record_of(model)) == bytes_of(store.record_of(loaded))


@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_bounded_streams_continue_exactly(overflow, tmp_path):
    model = StreamClassifier(max_features=6, overflow=overflow)
    for x, label, _ in examples():
        model.learn_one(x, label)
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    for x, label, _ in examples(seed=1):
        assert loaded.predict_one(x) == model.predict_one(x)
        loaded.learn_one(x, label)
        model.learn_one(x, label)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.params.update(max_features=2**45, overflow="hash"),
        lambda r: r.params.update(queue=2**45),
        lambda r: r.params.update(algorithm="PA-I"),
        lambda r: r.params.update(average="reservoir", reservoir_size=2**45),
        lambda r: r.attributes.update(names=["a"]),
        lambda r: r.attributes.update(classes=["ant"]),
        lambda r: r.attributes.update(extra=1),
        lambda r: r.attributes["waiting"].pop("recency"),
        lambda r: r.attributes["_learner"].model.grow(9),
    ],
)
def test_forged_stream_files_are_rejected(change, tmp_path):
    model = StreamClassifier("SPA-I", max_features=6, overflow="hash")
    for x, label, _ in examples():
        model.learn_one(x, label)
    record = store.record_of(model)
    change(record)
    store.write_record(record, tmp_path / "m")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.attributes.update(names=["a"] * 50),
        lambda r: r.attributes.update(classes=["ant"]),
        lambda r: r.attributes["columns"].update(entries=-1),
        lambda r: r.attributes["columns"].update(counters={}),
        lambda r: r.attributes.pop("columns"),
        lambda r: r.params.update(C=1.0),
        lambda r: r.params.update(metric="diagonal"),
        lambda r: r.params.update(features="linear"),
        lambda r: r.params.update(features="bins"),
        lambda r: r.params.update(max_features=9),
    ],
)
def test_forged_stream_selections_are_rejected(change, tmp_path):
    model = StreamClassifier()
    for x, label, _ in examples():
        model.learn_one(x, label)
    record = store.record_of(model)
    change(record)
    store.write_record(record, tmp_path / "m")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")
