"""Changed arrays of all kinds of models are rejected, or give an equal model."""

import json

import numpy as np
import pytest
from model_helpers import make, problem, same

import aggro
from aggro.persistence import ModelFileError, container, load, save
from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of


def linear(name, **params):
    X, y = problem(name)
    return make(name, random_state=0, **params).partial_fit(X, y)


def auto(features="linear"):
    X, y = problem("SPA-I")
    return aggro.AutoClassifier(features=features, random_state=0).partial_fit(X, y)


def calibrated():
    return linear("PA-I", probability=True)


def kernel(**params):
    X, y = problem("SPA-I", n=40)
    return aggro.KernelPassiveAggressiveClassifier(random_state=0, **params).fit(X, y)


def sparse_kernel():
    from scipy.sparse import random as random_matrix

    X = random_matrix(40, 600, 0.02, format="csr", random_state=0)
    return aggro.KernelPassiveAggressiveClassifier(kernel="linear").fit(X, list("xyzy" * 10))


def stream(name="PA-I", count=30, **params):
    rng = np.random.default_rng(0)
    model = aggro.StreamClassifier(name, **params)
    for k in range(count):
        model.learn_one({"a": rng.normal(), "b": "xyz"[k % 3], "c": 1.0}, "pqr"[k % 3])
    return model


def stream_of_numbers():
    model = aggro.StreamRegressor("PAR-I", max_features=4)
    for k in range(30):
        model.learn_one({"a": k % 5, f"n{k}": 1.0}, float(k % 7))
    return model


def texts(**params):
    words = ["free money now", "lunch at noon", "buy gold", "see you"] * 6
    return aggro.TextClassifier(**params).partial_fit(words, ["spam", "ham"] * 12)


def table_of_texts():
    rows = [{"t": f"word{k % 5}", "n": float(k), "c": "xy"[k % 2]} for k in range(20)]
    columns = {"t": "text", "n": "number", "c": "category"}
    return aggro.TextClassifier(columns=columns).partial_fit(rows, ["xy"[k % 2] for k in range(20)])


KINDS = {
    "SPA-I": lambda: linear("SPA-I"),
    "AROW": lambda: linear("AROW"),
    "full": lambda: linear("AROW", metric="full"),
    "float32": lambda: aggro.PassiveAggressiveClassifier(class_mean=0.5).partial_fit(
        problem("PA-I")[0].astype(np.float32), problem("PA-I")[1]
    ),
    "queue": lambda: linear("PAmW-1"),
    "reservoir": lambda: linear("PA-I", average="reservoir", reservoir_size=4),
    "scale": lambda: linear("PA-I", scale="standard", average=True),
    "regressor": lambda: linear("PAR-I"),
    "auto": auto,
    "auto-fourier": lambda: auto("fourier"),
    "calibrated": calibrated,
    "kernel": kernel,
    "kernel-budget": lambda: kernel(budget=10),
    "kernel-projection": lambda: kernel(budget=10, budget_strategy="projection"),
    "kernel-sparse": sparse_kernel,
    "stream": stream,
    "stream-auto": lambda: stream(C="auto"),
    "stream-one-class": lambda: stream(count=1),
    "stream-drop": lambda: stream(max_features=20),
    "stream-hash": lambda: stream(max_features=16, overflow="hash"),
    "stream-batch": lambda: stream("BPAI", batch_size=7),
    "stream-calibrated": lambda: stream(probability=True),
    "stream-regressor": stream_of_numbers,
    "text": texts,
    "text-table": table_of_texts,
}


def changes(array):
    """Yield names and invalid copies of an array."""
    if array.size == 0:
        yield "one more", np.zeros(1, array.dtype).reshape([1] * array.ndim)
        return
    yield "extra dimension", array[None] if array.ndim == 1 else array.reshape(-1)
    yield "shorter", array[:-1]
    yield "longer", np.concatenate([array, np.zeros_like(array[-1:])])
    yield "empty", array[:0]
    other = np.int32 if array.dtype.itemsize == 4 and array.dtype.kind == "f" else np.float32
    yield "other type", array.astype(np.float64 if array.dtype == other else other)
    if array.dtype.itemsize == 8:
        yield (
            "other type of this size",
            array.view(np.int64 if array.dtype.kind == "f" else np.float64),
        )
    if array.ndim == 2 and array.shape[0] != array.shape[1]:
        yield "transposed", np.ascontiguousarray(array.T)
    if array.dtype.kind == "f":
        for value, place in ((np.nan, 0), (np.inf, -1), (-np.inf, -1)):
            changed = array.copy()
            changed.reshape(-1)[place] = value
            yield f"{value}", changed


def negative_counts(name, array):
    """Yield invalid copies of counters."""
    if array.dtype != np.int64 or not array.size or name.endswith((".latest", "_labels")):
        return
    changed = array.copy()
    changed[0] = -(2**40)
    yield "negative", changed
    if name.endswith((".ends", "_ends", "indptr")) and array.size > 1:
        yield "falling", array[::-1].copy() if array[0] != array[-1] else changed


def with_array(path, text, arrays, name, array):
    container.write(path, text, {**arrays, name: np.ascontiguousarray(array)})


@pytest.mark.parametrize("kind", KINDS)
def test_changed_arrays_are_rejected_or_change_nothing(kind, tmp_path):
    model, path = KINDS[kind](), tmp_path / "m"
    save(model, path)
    text, arrays = container.read(path)
    known, wrong = load(path), []
    some = sorted(arrays)
    others = ("_learner-1", "_learner-2", "_learner-3", "_learner-0.1", "_learner-0.2")
    if len(some) > 60:  # a selection has the same arrays for each of its learners
        some = [name for name in some if not name.startswith(others)]
    for name in some:
        array = arrays[name]
        for change, changed in [*changes(array), *negative_counts(name, array)]:
            if changed.shape == array.shape and changed.tobytes() == array.tobytes():
                continue
            words = "_with_" in name or "_columns_" in name
            if words and len(changed) != len(array):
                continue  # a valid model with fewer words, or one more
            with_array(path, text, arrays, name, changed)
            try:
                loaded = load(path)
            except ModelFileError:
                continue
            except Exception as error:
                wrong.append((name, change, repr(error)))
                continue
            if not is_same(known, loaded):
                wrong.append((name, change, "loaded"))
    assert not wrong, wrong[:20]


def is_same(one, other):
    if isinstance(one, (aggro.StreamClassifier, aggro.StreamRegressor)):
        return bytes_of(record_of(one)) == bytes_of(record_of(other))
    return same(one, other)


def test_a_missing_or_unknown_array_is_rejected(tmp_path):
    for make_one in (stream, kernel):
        path = tmp_path / "m"
        save(make_one(), path)
        text, arrays = container.read(path)
        prefix = "_learner." if "_learner.ids" in arrays else None
        if prefix:
            container.write(path, text, {**arrays, prefix + "more": np.zeros(3)})
            with pytest.raises(ModelFileError, match="unknown array"):
                load(path)
        facts = json.loads(text)
        for name in arrays:
            rest = {key: array for key, array in arrays.items() if key != name}
            container.write(path, json.dumps(facts), rest)
            with pytest.raises(ModelFileError):
                load(path)
