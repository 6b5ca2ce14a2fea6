"""Old names of keywords and attributes work, say what to write instead, and stay out of models."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import aggro
from aggro.models.parameters import PARAMETERS
from aggro.models.record import Record, read_record, write_record
from aggro.renamed import KEYWORDS, METHODS, PROPERTIES

OLD = [
    (owner, old, value, known.now, now)
    for owner, names in KEYWORDS.items()
    for old, known in names.items()
    for value, now in (known.values or {2: 2}).items()
]


@pytest.mark.parametrize(("owner", "old", "value", "new", "now"), OLD)
def test_an_old_keyword_is_the_new_one(owner, old, value, new, now):
    cls = getattr(aggro, owner)
    with pytest.warns(FutureWarning, match=rf"{old}={value!r}\) .* write {new}={now!r}") as told:
        model = cls(**{old: value})
    assert told[0].filename == __file__
    assert getattr(model, new) == now
    assert old not in model.get_params()
    assert getattr(pickle.loads(pickle.dumps(model)), new) == now
    with pytest.warns(FutureWarning, match=f"write {new}={now!r}"):
        assert getattr(cls().set_params(**{old: value}), new) == now
    with pytest.raises(TypeError, match=f"{old} is the old name of {new}"):
        cls(**{old: value, new: now})


@pytest.mark.parametrize(("owner", "old", "value", "new", "now"), OLD)
def test_files_that_hold_old_names_are_read(owner, old, value, new, now, tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setitem(PARAMETERS, old, (int, str))
        write_record(Record(owner, {old: value, "random_state": 3}), tmp_path / "old.aggro")
    assert read_record(tmp_path / "old.aggro").params == {new: now, "random_state": 3}


def test_a_clone_has_new_names():
    model = aggro.SoftConfidenceWeightedClassifier(loss="scw2")
    assert clone(model).loss == "scw2"


@pytest.mark.parametrize("cls", [aggro.StreamClassifier, aggro.StreamRegressor])
def test_a_stream_has_attributes_like_an_estimator(cls):
    model, y = cls(), 1.0
    for _ in range(2):
        model.learn_one({"a": 1.0, "b": 2.0}, y)
        y = 3.0
    estimator = aggro.PassiveAggressiveClassifier().fit(np.eye(2), [0, 1])
    for old, new in {**PROPERTIES, **METHODS}.items():
        if not hasattr(cls, new):
            continue
        assert hasattr(estimator, new)
        with pytest.warns(FutureWarning, match=f"{cls.__name__}.{old}.* write {new}") as told:
            found = getattr(model, old)() if old in METHODS else getattr(model, old)
        assert told[0].filename == __file__
        assert found == getattr(model, new)
