"""Stream learners in files go on exactly where they stopped."""

import numpy as np
import pytest
from model_helpers import ROWS

import aggro
from aggro.persistence import ModelFileError, load, save, store
from aggro.persistence.streams import _with_tallies

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
def test_every_row_goes_on_where_it_stopped(name, tmp_path):
    regression = ROWS[name].estimator.endswith("Regressor")
    model = (StreamRegressor if regression else StreamClassifier)(name, seed=3)
    for i, (x, label, value) in enumerate(examples()):
        if i == 25:
            save(model, tmp_path / "m")
            loaded = load(tmp_path / "m")
        if i >= 25:
            loaded.learn_one(x, value if regression else label)
        model.learn_one(x, value if regression else label)
    assert repr(loaded) == repr(model)
    before, after = model.state(), loaded.state()
    assert before[0] == after[0]
    assert {k: v.tobytes() for k, v in before[1].items()} == {
        k: v.tobytes() for k, v in after[1].items()
    }


@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_bounded_models(overflow, tmp_path):
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
        lambda r: r.params.update(average="reservoir", reservoir_size=2**45),
        lambda r: r.attributes.update(names=[]),
        lambda r: r.attributes.update(classes=["ant"]),
        lambda r: r.attributes.update(extra=1),
        lambda r: r.attributes["state"].pop("weights"),
    ],
)
def test_hostile_files(change, tmp_path):
    model = StreamClassifier()
    for x, label, _ in examples():
        model.learn_one(x, label)
    record = store.record_of(model)
    change(record)
    store.write_record(record, tmp_path / "m")
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")


def test_the_record_of_an_early_version_goes_on():
    """It had no tallies and no word of the next mean, which comes when it would have come."""
    rng = np.random.default_rng(0)

    def teach(model, count):
        for x in rng.normal(size=(count, 2)).tolist():
            model.learn_one({"a": x[0], "b": x[1]}, int(x[0] > 0))
        return model

    model = teach(aggro.StreamClassifier(probability=True), 300)
    told, state = model.state()
    early = {name: value for name, value in told["record"].items() if name != "next_mean"}
    early["recent"] = early["recent"][:-1]
    known = {f"record_{name}" for name in ("labels", "weights", "scores", "centres")}
    arrays = {n: a for n, a in state.items() if not n.startswith("record_") or n in known}
    facts, arrays = _with_tallies({"record": early, "classes": told["classes"]}, arrays)
    assert facts["next_mean"] == told["record"]["next_mean"] == 512
    again = teach(aggro.StreamClassifier.from_state({**told, "record": facts}, arrays), 300)
    assert again.state()[0]["record"]["next_mean"] == 1024
    assert again.predict_proba_one({"a": 5.0, "b": 0.0})[1] > 0.9
