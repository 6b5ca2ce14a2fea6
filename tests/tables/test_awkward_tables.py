"""Awkward tables give the same model in every format, and one that beats the constant answer."""

import csv
import json
import re

import numpy as np
import pytest
from awkward_tables import KINDS, parts_of, plain

import aggro
from aggro.cli import main
from aggro.io.columns import numeric_names

OPTIONS = ("--label", "y", "--missing-zero", "--hash-bits", "10")
BITS = {"label": "y", "missing": "zero", "hash_bits": 10}


# In the first rows of "rising times" the cycle of the year rises, too, and the estimators, which do
# not know that it is one, leave it out.
IN_ANY_ORDER = [name for name in KINDS if not KINDS[name].ordered and name != "rising times"]


def write(path, columns, labels):
    """Write a table in the format of the name."""
    names = ["y", *columns]
    rows = [list(map(plain, row)) for row in zip(labels, *columns.values(), strict=True)]
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        arrays = [list(column) for column in zip(*rows, strict=True)]
        parquet.write_table(pa.table(dict(zip(names, arrays, strict=True))), path)
    elif path.suffix == ".jsonl":
        with path.open("w") as stream:
            stream.writelines(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    else:
        with path.open("w", newline="") as stream:
            cells = [["" if cell is None else cell for cell in row] for row in rows]
            csv.writer(stream).writerows([names, *cells])
    return path


def errors(answers, labels):
    """Return the error of each answer."""
    if isinstance(labels[0], float):
        return np.abs(np.array(answers, float) - labels)
    return np.array([str(a) != str(b) for a, b in zip(answers, labels, strict=True)], float)


def constant_errors(train, test):
    """Return the errors of the constant answer that is best in training."""
    if isinstance(train[0], float):
        return errors([float(np.median(train))] * len(test), test)
    found, counts = np.unique(train, return_counts=True)
    return errors([found[counts.argmax()]] * len(test), test)


def check_not_worse(own, constant, gain=0.0):
    """Fail if errors are larger than those of the constant beyond chance."""
    excess = own - (1 - gain) * constant
    chance = 2.5 * excess.std() / np.sqrt(len(excess))
    assert excess.mean() <= chance, (own.mean(), constant.mean())


def trained(folder, kind, train, test, options, capsys):
    """Return the predictions of a model of files of a format, and the notes about columns."""
    data, new = (folder / f"{part}.{kind}" for part in ("train", "test"))
    write(data, *train), write(new, *test)
    assert main(["train", str(data), *OPTIONS, *options, "-o", str(folder / f"{kind}.aggro")]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note")]
    answers = folder / f"{kind}.txt"
    scored = ["predict", str(folder / f"{kind}.aggro"), str(new), "--scores", "-o", str(answers)]
    assert main(scored) == 0
    return answers.read_text(), notes


@pytest.mark.parametrize("name", KINDS)
def test_formats_give_the_same_model_which_beats_the_constant(name, tmp_path, capsys):
    train, test = parts_of(name)
    how = (train, test, KINDS[name].options, capsys)
    found, notes = trained(tmp_path, "csv", *how)
    for kind in ("jsonl", "parquet"):
        assert trained(tmp_path, kind, *how) == (found, notes)
    lines = found.splitlines()
    answers = [line.split("\t")[0] for line in lines[-len(test[1]) :]]
    check_not_worse(errors(answers, test[1]), constant_errors(train[1], test[1]), KINDS[name].gain)
    for note in KINDS[name].notes:
        assert any(re.search(note, line) for line in notes), notes
    assert len(notes) == len(KINDS[name].notes), notes


@pytest.mark.parametrize("name", IN_ANY_ORDER)
def test_the_command_line_selects_what_the_estimators_select(name, tmp_path):
    train, test = parts_of(name)
    data = write(tmp_path / "train.csv", *train)
    assert main(["train", str(data), *OPTIONS, "-o", str(tmp_path / "m.aggro"), "--quiet"]) == 0
    regression = isinstance(train[1][0], float)
    model = (aggro.AutoRegressor if regression else aggro.AutoClassifier)(random_state=0)
    reader = aggro.io.read(data, uninformative="ignore", **BITS).without_scipy()
    for X, y, _ in reader:
        numbers = len(numeric_names(reader.columns))
        if 0 < numbers < X.shape[1]:
            model._mapped_columns = numbers  # the command maps the numbers alone
        model.partial_fit(X, y)
    best = model.best_params_
    model.keep_best()  # as the command does
    (X, _, _), *_ = aggro.io.read(
        write(tmp_path / "test.csv", *test), columns=reader.columns, **BITS
    )
    loaded = aggro.load(tmp_path / "m.aggro")
    method = "predict" if regression else "decision_function"
    np.testing.assert_allclose(getattr(loaded, method)(X), getattr(model, method)(X), atol=1e-9)
    params = {"average": False, **loaded.get_params()}
    assert {name: params[name] for name in params.keys() & best} == {
        name: best[name] for name in params.keys() & best
    }


def numeric(name):
    """Return the tables of a kind as arrays; None if some column is not of numbers."""
    parts = []
    for columns, labels in parts_of(name):
        values = [[0.0 if v is None else v for v in column] for column in columns.values()]
        if any(isinstance(value, str) for column in values for value in column[:50]):
            return None
        parts.append((np.array(values, float).T, np.array(labels)))
    return parts


NUMERIC = [name for name in KINDS if numeric(name) is not None]


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.filterwarnings("ignore:.* only rises")
def test_arrays_frames_and_dicts_give_the_same_model_which_beats_the_constant(name):
    (X, y), (Z, t) = numeric(name)
    regression = y.dtype.kind == "f"
    kind = aggro.AutoRegressor if regression else aggro.AutoClassifier
    stream = aggro.StreamRegressor() if regression else aggro.StreamClassifier()
    model = kind()
    several = not regression and len(np.unique(y)) > 2
    for start in range(0, len(y), 1 if several else len(y)):  # classes of a stream come one by one
        rows = slice(start, start + 1) if several else slice(None)
        model.partial_fit(X[rows], y[rows])
    answers = model.predict(Z)
    learned = kind().fit(X, y) if KINDS[name].ordered else model
    own = errors(learned.predict(Z).tolist(), t.tolist())
    check_not_worse(own, constant_errors(y.tolist(), t.tolist()), KINDS[name].gain)
    names = [f"x{i}" for i in range(X.shape[1])]
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        stream.learn_one(dict(zip(names, row, strict=True)), label)
    found = [stream.predict_one(dict(zip(names, row, strict=True))) for row in Z.tolist()]
    if regression:
        np.testing.assert_allclose(found, answers, rtol=1e-6, atol=1e-9)
    else:
        assert np.mean(np.array(found) == answers) > 0.995  # ties of rounding may differ
    pandas = pytest.importorskip("pandas")
    framed = kind().fit(pandas.DataFrame(X, columns=names), y)
    expected = kind().fit(X, y).predict(Z)
    np.testing.assert_array_equal(framed.predict(pandas.DataFrame(Z, columns=names)), expected)
