"""Damaged, foreign and forged files raise an error, never a crash or a wrong model."""

import hashlib
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from model_helpers import make, problem, same

from aggro.persistence import ModelFileError, container, load, save


@pytest.fixture(scope="module")
def model():
    X, y = problem("PAmW-1")
    return make("PAmW-1", random_state=0).partial_fit(X, y)


@pytest.fixture(scope="module")
def good(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m"
    save(model, path)
    return path.read_bytes()


def check_rejected(data, tmp_path, match=None):
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_truncated_files_are_rejected(good, tmp_path):
    rng = np.random.default_rng(0)
    for end in {0, 1, 7, 8, 9, len(good) - 1, *rng.integers(0, len(good), 1000).tolist()}:
        check_rejected(good[:end], tmp_path)


def test_flipped_bits_are_rejected(good, tmp_path):
    rng = np.random.default_rng(1)
    for place, bit in zip(
        [*range(16), *rng.integers(0, len(good), 1000)], rng.integers(0, 8, 1016), strict=True
    ):
        bad = bytearray(good)
        bad[place] ^= 1 << bit
        check_rejected(bytes(bad), tmp_path)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 1000, b"\x80\x04pickle", b"1 1:0.5\n" * 50, os.urandom(5000), b"\xff" * 500],
    ids=["empty", "zeros", "pickle", "svmlight", "random", "ones"],
)
def test_foreign_files_are_rejected(data, tmp_path):
    check_rejected(data, tmp_path, "not a model")


def test_appended_bytes_are_rejected(good, tmp_path):
    check_rejected(good + b"\0", tmp_path, "damaged")


def forge(good, change_header=None, change_table=None):
    """Return the file with a changed header and a valid checksum."""
    length = int.from_bytes(good[:8], "little")
    table, data = json.loads(good[8 : 8 + length]), good[8 + length :]
    header = json.loads(table["__metadata__"]["aggro"])
    if change_header:
        change_header(header)
    table["__metadata__"] = {"sha256": "0" * 64, "aggro": json.dumps(header)}
    if change_table:
        change_table(table)
    blank = json.dumps(table, separators=(",", ":")).encode()
    digest = hashlib.sha256(len(blank).to_bytes(8, "little") + blank + data).hexdigest().encode()
    forged = blank[: container.DIGEST.start] + digest + blank[container.DIGEST.stop :]
    return len(forged).to_bytes(8, "little") + forged + data


def put(*path, value):
    def change(header):
        for step in path[:-1]:
            header = header[step]
        header[path[-1]] = value

    return change


LEARNER = ("attributes", "_learner", "Learner")
SETTINGS = (*LEARNER, "settings", "list", 0, "Settings")
HOSTILE_HEADERS = {
    "format": put("format", value=99),
    "class": put("class", value="os.system"),
    "dunder": put("class", value="__getattr__"),
    "other class": put("class", value="AROWRegressor"),
    "parameter": put("params", "evil", value=1),
    "parameter type": put("params", "max_iter", value="many"),
    "parameter kind": put("params", "C", value={"object": "x"}),
    "attribute": put("attributes", "__class__", value="x"),
    "attribute method": put("attributes", "predict", value="x"),
    "features": put(*LEARNER, "features", value=2**40),
    "features negative": put(*LEARNER, "features", value=-1),
    "features bool": put(*LEARNER, "features", value=True),
    "outputs": put(*LEARNER, "outputs", value=2**40),
    "outputs none": put(*LEARNER, "outputs", value=0),
    "dtype": put(*LEARNER, "dtype", value="object"),
    "float32": put(*LEARNER, "dtype", value="float32"),
    "queue": put(*SETTINGS, "queue", value=2**50),
    "reservoir": put(*SETTINGS, "reservoir_size", value=2**50),
    "average": put(*SETTINGS, "average", value="reservoir"),
    "averages": put(*SETTINGS, "average", value=True),
    "metric": put(*SETTINGS, "metric", value="full"),
    "C": put(*SETTINGS, "C", value=-1.0),
    "other C": put(*SETTINGS, "C", value=0.5),
    "two settings": lambda header: header["attributes"]["_learner"]["Learner"]["settings"][
        "list"
    ].extend(header["attributes"]["_learner"]["Learner"]["settings"]["list"][:1]),
    "no settings": put(*LEARNER, "settings", "list", value=[]),
    "settings of no kind": put(*LEARNER, "settings", "list", value=[1]),
    "no state": put(*LEARNER, "state", value=None),
    "another object": put(*LEARNER[:-1], value={"Settings": {}}),
    "memory": put(*LEARNER, "memory", value="long"),
    "task": put(*SETTINGS, "task", value="regression"),
    "classes": put("attributes", "classes_", value={"mixed": ["a", "b"]}),
    "classes unsorted": put("attributes", "classes_", value={"mixed": ["c", "b", "a"]}),
    "classes absent": put("attributes", "classes_", value=None),
    "classes wide": put("attributes", "classes_", value={"strings": [2**40, "classes_"]}),
    "unknown array": put("attributes", "_counts", value={"array": "nowhere"}),
    "wrong array": put("attributes", "_counts", value={"array": "_learner.weights"}),
    "count": put("attributes", "n_features_in_", value=5),
    "no learner": put("attributes", "_learner", value=None),
    "deep": put("params", "C", value=json.loads("[" * 500 + "]" * 500)),
    "header": lambda header: header.clear(),
}


@pytest.mark.parametrize("name", HOSTILE_HEADERS)
def test_hostile_headers_are_rejected(name, good, tmp_path):
    check_rejected(forge(good, HOSTILE_HEADERS[name]), tmp_path)


WEIGHTS = "_learner.weights"
HOSTILE_TABLES = {
    "huge": put(WEIGHTS, "shape", value=[2**62, 2**62]),
    "negative": put(WEIGHTS, "shape", value=[-1, -30]),
    "float": put(WEIGHTS, "shape", value=[6.0, 8.0]),
    **{
        f"{side!r} as a side": put("_learner.loss", "shape", value=[side])
        for side in (True, 1.0, "1", None, [1], {})
    },
    "a float as an end": lambda table: table[WEIGHTS].update(
        data_offsets=[table[WEIGHTS]["data_offsets"][0], float(table[WEIGHTS]["data_offsets"][1])]
    ),
    "no sides": put(WEIGHTS, "shape", value=48),
    "three sides": put(WEIGHTS, "shape", value=[6, 8, 1]),
    "end": put(WEIGHTS, "data_offsets", value=[0, 2**60]),
    "overlap": put(WEIGHTS, "data_offsets", value=[8, 16]),
    "dtype": put(WEIGHTS, "dtype", value="PICKLE"),
    "wrong dtype": put(WEIGHTS, "dtype", value="I64"),
    "missing": lambda table: table.pop(WEIGHTS),
    "not a table": put(WEIGHTS, value=3),
}


@pytest.mark.parametrize("name", HOSTILE_TABLES)
def test_hostile_tables_are_rejected(name, good, tmp_path):
    check_rejected(forge(good, change_table=HOSTILE_TABLES[name]), tmp_path)


def test_rewritten_file_loads(good, model, tmp_path):
    (tmp_path / "m").write_bytes(forge(good))
    assert same(load(tmp_path / "m"), model)


@pytest.mark.parametrize("name", ["ring_next", "ring_fill"])
@pytest.mark.parametrize("value", [-1, 2**40])
def test_positions_outside_the_ring_are_rejected(name, value, model, tmp_path, monkeypatch):
    state = model._learner.state()
    state[name][:] = value
    monkeypatch.setattr(type(model._learner), "state", lambda self: state)
    save(model, tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="out of range"):
        load(tmp_path / "m")


SAVE_FOR_EVER = """
import sys
import numpy as np
from aggro import PassiveAggressiveClassifier
from aggro.persistence import save
models = []
for seed in range(2):
    X = np.random.default_rng(seed).standard_normal((2, 200_000))
    models.append(PassiveAggressiveClassifier().partial_fit(X, ["a", "b"]))
print("ready", flush=True)
while True:
    for model in models:
        save(model, sys.argv[1])
"""


def test_killed_process_leaves_a_complete_file(tmp_path):
    path, rng = tmp_path / "m", np.random.default_rng(0)
    for _ in range(6):
        child = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        assert child.stdout.readline() == b"ready\n"
        while not path.exists() and child.poll() is None:
            time.sleep(0.001)
        for _ in range(20):
            load(path)
        time.sleep(rng.uniform(0, 0.1))
        child.kill()
        child.wait()
        child.stdout.close()
        assert load(path).classes_.tolist() == ["a", "b"]


def test_loading_needs_no_pickle(good, tmp_path, monkeypatch):
    import pickle

    (tmp_path / "m").write_bytes(good)
    monkeypatch.setattr(pickle, "loads", None)
    monkeypatch.setattr(pickle, "load", None)
    load(tmp_path / "m")
