"""Conversion of plain values to JSON and arrays, and back."""

import contextlib
import json
import math

import numpy as np
import pytest

import aggro
from aggro.persistence import container, values
from aggro.persistence.container import ModelFileError
from aggro.persistence.record import DAMAGED, FORMAT, Record, read_record, write_record
from aggro.persistence.schema import PARAMETERS, check_type
from aggro.persistence.store import check_fitted, record_of
from aggro.persistence.values import decode, encode

VALUES = [
    None, True, False, 0, -3, 2**60, 0.0, -1.5, 1e308, math.inf, -math.inf, "", "é\n", [], [1, [2]],
    (), (1, ("a", None)), b"", b"\0x", {}, {"a": 1, 2: [True]}, {None: 1.0}, {True: 0},
]  # fmt: skip
ARRAYS = [
    np.array([1.0, -0.0, math.inf]), np.zeros((2, 3), np.float32), np.array([], np.int64),
    np.array(5.0), np.array([True, False]), np.arange(6, dtype=np.uint8).reshape(3, 2)[:, ::-1],
    np.array([1, 2], ">i4"), np.array(["a", "", "ü" * 5]), np.array([], "<U3"),
    np.array(["a", "bc"], object), np.array([1, "a", None, 2.5], object), np.array([], object),
]  # fmt: skip


def there_and_back(value):
    arrays = {}
    header = json.loads(json.dumps(encode(value, "x", arrays)))
    return decode(header, arrays)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_are_restored(value):
    found = there_and_back(value)
    assert found == value and type(found) is type(value)
    if isinstance(value, dict):
        assert [type(key) for key in found] == [type(key) for key in value]


def test_infinity_and_nan_are_restored():
    assert math.isnan(there_and_back(math.nan))
    assert encode(math.nan, "x", {}) == {"float": "nan"}


@pytest.mark.parametrize("value", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_are_restored(value):
    found = there_and_back(value)
    assert found.shape == value.shape and found.dtype == value.dtype.newbyteorder("=")
    assert found.tolist() == value.tolist()


@pytest.mark.parametrize("number", [np.float64(2.5), np.int8(3), np.bool_(True), np.float32(0.5)])
def test_numpy_numbers_become_python_numbers(number):
    found = encode(number, "x", {})
    assert found == number.item() and type(found) is type(number.item())


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, np.zeros((1, 1, 1)), np.array([["a"]]), np.zeros(2, complex),
     {(1, 2): 3}, {math.inf: 1}, np.array([[1, "a"]], object), np.array([[1], [2, 3]], object)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_unsupported_values_are_rejected(value):
    with pytest.raises(ModelFileError, match=r"where.*cannot be saved"):
        encode(value, "where", {})


def test_random_generator_is_rejected_with_a_hint():
    with pytest.raises(ModelFileError, match="Give an integer as random_state"):
        encode(np.random.RandomState(0), "random_state", {})
    with pytest.raises(ModelFileError) as caught:
        encode(np.random.RandomState(0), "other", {})
    assert "integer" not in str(caught.value)


def test_arrays_are_named_by_their_position():
    arrays = {}
    encode([np.zeros(2), {"a": (1, np.ones(1))}], "x", arrays)
    assert {name: len(array) for name, array in arrays.items()} == {"x.0": 2, "x.1.0.1": 1}


def texts(data=b"abc", ends=(1, 3)):
    return {"x.bytes": np.frombuffer(data, np.uint8), "x.ends": np.array(ends, np.int64)}


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ([1], {}),
        ({"unknown": 1}, {}),
        ({"objects": "x"}, texts(ends=(1, 2))),  # bytes outside of all texts
        ({"objects": "x"}, texts(ends=(2, 1, 3))),
        ({"objects": "x"}, texts(ends=(-1, 3))),
        ({"objects": "x"}, texts(ends=((1, 3),))),
        ({"strings": [1, "x"]}, texts()),  # "bc" is longer
        ({"strings": [2.0, "x"]}, texts()),
        ({"strings": [values.MOST_LETTERS // 2 + 1, "x"]}, texts()),
    ],
    ids=str,
)
def test_forged_values_are_rejected(header, arrays):
    with pytest.raises(DAMAGED):  # converted to ModelFileError by the reader
        decode(header, arrays)


def test_longest_text_determines_the_width():
    assert decode({"strings": [2, "x"]}, texts()).dtype == "<U2"
    assert decode({"strings": [5, "x"]}, texts()).dtype == "<U5"
    assert decode({"objects": "x"}, texts()).tolist() == ["a", "bc"]
    assert decode({"objects": "x"}, texts(b"", ())).tolist() == []


def test_too_many_letters_are_rejected(monkeypatch):
    monkeypatch.setattr(values, "MOST_LETTERS", 6)
    assert there_and_back(np.array(["abc", "d"])).tolist() == ["abc", "d"]
    with pytest.raises(ModelFileError, match="cannot be saved"):
        encode(np.array(["abcd", "d"]), "x", {})


# -- records ---------------------------------------------------------------------------------


def test_record_is_restored(tmp_path):
    record = Record("Perceptron", {"C": 0.5, "tol": None}, {"n_iter_": 3, "classes_": np.arange(2)})
    write_record(record, tmp_path / "r")
    found = read_record(tmp_path / "r")
    assert (found.name, found.params) == (record.name, record.params)
    assert found.attributes["n_iter_"] == 3 and found.attributes["classes_"].tolist() == [0, 1]
    text, _ = container.read(tmp_path / "r")
    header = json.loads(text)
    assert header["format"] == FORMAT == 1 and header["aggro"] == aggro.__version__


def test_another_format_is_rejected(tmp_path):
    header = {"format": 3, "aggro": "9.9", "class": "Perceptron", "params": {}, "attributes": {}}
    container.write(tmp_path / "r", json.dumps(header), {})
    with pytest.raises(ModelFileError, match=r"format 3.*reads format 1.*aggro '9\.9'"):
        read_record(tmp_path / "r")


def test_parameters_are_checked_when_written_and_when_read(tmp_path):
    with pytest.raises(ModelFileError, match=r"unknown parameter: 'Ç'"):
        write_record(Record("Perceptron", {"Ç": 1}), tmp_path / "r")
    with pytest.raises(ModelFileError, match=r"queue=1\.5 cannot be"):
        write_record(Record("Perceptron", {"queue": 1.5}), tmp_path / "r")
    assert not (tmp_path / "r").exists()
    write_record(Record("Perceptron", {"queue": np.int64(2)}), tmp_path / "r")
    assert read_record(tmp_path / "r").params == {"queue": 2}
    header = {"format": 1, "class": "P", "params": {"queue": "2"}, "attributes": {}}
    container.write(tmp_path / "f", json.dumps(header), {})
    with pytest.raises(ModelFileError, match=r"f: cannot be read: queue='2' cannot be"):
        read_record(tmp_path / "f")


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 1}', "no json", '"x"'])
def test_invalid_header_is_rejected(text, tmp_path):
    container.write(tmp_path / "r", text, {})
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_record(tmp_path / "r")


FITTING = {bool: True, int: 3, float: 0.5, str: "x", dict: {}, type(None): None}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_of_wrong_types_are_rejected(name):
    """The valid types of a parameter are those of its default and documented values."""
    for kind, value in FITTING.items():
        if kind in PARAMETERS[name]:
            check_type(name, value)
        else:
            with pytest.raises(ModelFileError, match=f"^{name}="):
                check_type(name, value)


def test_every_parameter_of_every_learner_has_its_types():
    from aggro.persistence.store import ESTIMATORS

    for estimator in ESTIMATORS:
        for name, value in getattr(aggro, estimator)().get_params().items():
            check_type(name, value)
    with pytest.raises(ModelFileError, match=r"unknown parameter: 'metrik'.*Did you mean 'metric'"):
        check_type("metrik", "full")


@pytest.mark.parametrize("flat", [False, True])
def test_several_targets_cannot_be_flat(flat):
    """Records must be consistent: two targets are not a single column."""
    X = np.arange(12.0).reshape(6, 2)
    record = record_of(aggro.PassiveAggressiveRegressor().fit(X, X))
    record.attributes["_flat"] = flat
    with pytest.raises(ModelFileError, match="one model") if flat else contextlib.nullcontext():
        check_fitted(record)
    record.attributes["_learner"] = aggro.AROWClassifier().fit(X, [0, 1] * 3)._learner
    with pytest.raises(ModelFileError, match="one model"):
        check_fitted(record)
