"""Forged arrays with a valid checksum are rejected, or load without harm."""

import contextlib
import json

import numpy as np
import pytest
from model_helpers import ROWS, make, problem

import aggro
from aggro.persistence import ModelFileError, container, load, save

VALUES = (-1, 0, 7, 100, 2**31, 2**40, -(2**40), 2**62)


def forgeries(path, rng, count=12):
    """Write the file repeatedly, each time with one number or length changed."""
    text, arrays = container.read(path)
    whole = [name for name, array in arrays.items() if array.dtype.kind in "iu" and array.size]
    for _ in range(count):
        name = whole[rng.integers(len(whole))] if rng.random() < 0.8 else rng.choice([*arrays])
        changed = {key: array.copy() for key, array in arrays.items()}
        flat = changed[name].reshape(-1)
        if flat.size and flat.dtype.itemsize == 8:
            flat[rng.integers(flat.size)] = rng.choice(VALUES)
        if rng.random() < 0.2:
            changed[name] = flat[:-1]
        container.write(path, text, changed)
        yield


@pytest.mark.parametrize("name", ROWS)
def test_forged_estimators_are_rejected(name, tmp_path):
    X, y = problem(name)
    save(make(name, random_state=0).partial_fit(X[:29], y[:29]), tmp_path / "m")
    for _ in forgeries(tmp_path / "m", np.random.default_rng(0)):
        with contextlib.suppress(ModelFileError):
            model = load(tmp_path / "m")
            with contextlib.suppress(ValueError, OverflowError):
                model.partial_fit(X, y).predict(X)


def numbers_in(facts, path=()):
    """Yield the positions of the numbers of a header."""
    if isinstance(facts, (dict, list)):
        for key in facts if isinstance(facts, dict) else range(len(facts)):
            yield from numbers_in(facts[key], (*path, key))
    elif type(facts) in (int, float):
        yield path


def with_number(text, path, value):
    """Return the header with one number changed."""
    facts = json.loads(text)
    *way, last = path
    inner = facts
    for key in way:
        inner = inner[key]
    inner[last] = type(inner[last])(value)
    return json.dumps(facts)


@pytest.mark.parametrize("rows", [29, 300])
def test_forged_selection_is_rejected(rows, tmp_path):
    """Any number of the header is changed: checkpoints, the best candidate, the shape."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, 3)), rng.integers(0, 2, rows)
    save(aggro.AutoClassifier().partial_fit(X, y), tmp_path / "m")
    text, arrays = container.read(tmp_path / "m")
    places = list(numbers_in(json.loads(text)))
    drift = [path for path in places if "drift" in path]
    assert len(drift) == 15
    some = rng.permutation(len(places))[:20]
    for path in [*drift, *(places[i] for i in some)]:
        for value in (-1, 0, 7, rows, rows + 1, 512, 2**31):  # 512: the next checkpoint
            container.write(tmp_path / "m", with_number(text, path, value), arrays)
            with contextlib.suppress(ModelFileError):
                model = load(tmp_path / "m")
                with contextlib.suppress(ValueError, OverflowError):
                    model.partial_fit(X, y).predict(X)


@pytest.mark.parametrize("name", ["SPA-I", "PAmW-1", "PAM-I", "BPAI", "PAR-I"])
@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_forged_streams_are_rejected(name, overflow, tmp_path):
    X, y = problem(name)
    rows = [dict(zip("abcdef", x, strict=True)) for x in X.tolist()]
    kind = aggro.StreamRegressor if name == "PAR-I" else aggro.StreamClassifier
    model = kind(name, max_features=60, overflow=overflow)
    for x, label in zip(rows, y.tolist(), strict=True):
        model.learn_one(x, label)
    save(model, tmp_path / "m")
    for _ in forgeries(tmp_path / "m", np.random.default_rng(1)):
        with contextlib.suppress(ModelFileError):
            loaded = load(tmp_path / "m")
            with contextlib.suppress(ValueError, OverflowError):
                for x, label in zip(rows, y.tolist(), strict=True):
                    loaded.predict_one(x)
                    loaded.learn_one({**x, "new": 1.0}, label)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_missing_array_is_rejected(dtype, tmp_path):
    X, y = problem("PAm-1")
    model = make("PAm-1", random_state=0).partial_fit(X.astype(dtype), y)
    path, rest = tmp_path / "m", "_learner.class_sum_rest"
    save(model, path)
    text, arrays = container.read(path)
    names = [name for name in arrays if name.startswith("_learner.")]
    assert "_learner.weights" in names and (rest in names) == (dtype is np.float32)
    for name in names:
        container.write(path, text, {key: arrays[key] for key in arrays if key != name})
        with pytest.raises(ModelFileError, match=r"missing|cannot be read"):
            load(path)
