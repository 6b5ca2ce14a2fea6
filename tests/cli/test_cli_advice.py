"""What the command line chooses by itself, and what it says in words."""

import json
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import run, states, write_csv, write_numbers, write_svmlight, write_vw
from scipy.sparse import csr_matrix

import aggro
from aggro.cli.advice import Runs, error_since_half
from aggro.cli.begin import choice_told, is_too_large, left_to_choose
from aggro.cli.shuffle import Shuffled, joined
from aggro.cli.watch import Line
from aggro.io import Batch
from aggro.io.batch import SparseRows
from aggro.settings import Settings

pytestmark = pytest.mark.usefixtures("inside")


def told(capsys, line, code=0):
    """The notes that a command writes beside its results."""
    capsys.readouterr()
    run(line, code)
    return capsys.readouterr().err


# -- choosing --------------------------------------------------------------------------------


def test_everything_is_chosen_unless_something_is_said(inside, capsys):
    write_numbers(inside / "data.svm")
    for options, choice in {
        "": True,
        "--epsilon 0.01": True,
        "--fast": False,
        "--C 0.1": False,
        "--algorithm PAR-II": False,
        "--scale online": False,
        "--auto": True,
    }.items():
        run(f"train data.svm -o m.aggro {options} --json r.json")
        out = capsys.readouterr().out
        assert ("chosen: C=" in out) == ("C, metric, scale: chosen" in out) == choice
    run("train data.svm -o m.aggro --json r.json")
    params = json.loads(Path("r.json").read_text())["params"]
    assert "auto" not in {params[name] for name in ("C", "metric", "scale")}
    assert aggro.load("m.aggro").metric == params["metric"]


def test_a_price_of_features_of_several_sizes(inside, capsys):
    rng = np.random.default_rng(0)
    X = rng.random((800, 3)) * [1.0, 1000.0, 30.0]
    y = X @ [50.0, 0.2, 3.0] + 40 + rng.normal(size=800)
    rows = [",".join(f"{v:.5f}" for v in [*x, t]) for x, t in zip(X, y, strict=True)]
    Path("houses.csv").write_text("age,size,rooms,price\n" + "\n".join(rows) + "\n")
    run("train houses.csv --label price --epsilon 0.01 -o m.aggro --test houses.csv --json r.json")
    assert json.loads(Path("r.json").read_text())["test"]["r2"] > 0.9
    assert "constant" in told(capsys, "train houses.csv --label price --fast -o m.aggro")


def test_a_selection_is_left_out_where_the_memory_limit_leaves_no_choice():
    wide = SparseRows(np.ones(1), np.zeros(1, np.int32), np.array([0, 1]), (1, 1 << 18))
    classes, numbers = "classification", "regression"
    left = left_to_choose(np.ones((2, 3)), classes)
    assert left == dict.fromkeys(("C", "metric", "scale", "average"), "auto")
    left = left_to_choose(wide, classes)
    assert left == {"C": "auto", "metric": "newton", "scale": "auto", "average": "auto"}
    assert set(left_to_choose(wide, numbers)) == {"C", "scale", "average"}
    plain, insists = Namespace(memory=None, auto=False), Namespace(memory=None, auto=True)
    more = Namespace(memory="64GiB", auto=False)
    assert not is_too_large(wide, classes, 20, plain)
    assert is_too_large(wide, classes, 200, plain)
    assert not is_too_large(wide, classes, 200, insists)
    assert not is_too_large(wide, classes, 200, more)
    assert "--memory" in choice_told(Settings("binary"))


# -- notes -----------------------------------------------------------------------------------


def test_a_column_that_looks_like_text(inside, capsys):
    write_csv(inside / "data.csv")
    assert "--text body" in told(capsys, "train data.csv --label kind -o m.aggro --fast")
    assert "note" not in told(capsys, "train data.csv --label kind --text body -o m.aggro --fast")


def test_no_better_than_a_constant(inside, capsys):
    rng = np.random.default_rng(0)
    rows = [
        f"{int(rng.random() < 0.1)} 1:{rng.random():.4f} 2:{rng.random():.4f}" for _ in range(400)
    ]
    Path("noise.svm").write_text("\n".join(rows) + "\n")
    said = told(capsys, "train noise.svm -o m.aggro --fast")
    assert "no better than answering the most frequent class always" in said
    assert "without --fast" in said
    write_svmlight(inside / "data.svm")
    assert told(capsys, "train data.svm -o m.aggro") == "saved m.aggro\n"


def test_one_class_only(inside, capsys):
    Path("one.svm").write_text("1 1:1\n" * 200)
    assert "all 200 labels are 1:" in told(capsys, "train one.svm -o m.aggro --task classification")


def test_sorted_rows_and_shuffle(inside, capsys):
    write_svmlight(inside / "data.svm")
    lines = sorted(Path("data.svm").read_text().splitlines())
    Path("sorted.svm").write_text("\n".join(lines) + "\n")
    assert "--shuffle" in told(capsys, "train sorted.svm -o m.aggro --fast")
    assert "--shuffle" not in told(capsys, "train data.svm -o m.aggro --fast")
    assert told(capsys, "train sorted.svm -o m.aggro --fast --shuffle") == "saved m.aggro\n"
    run("train sorted.svm -o again.aggro --fast --shuffle")
    run("train sorted.svm -o other.aggro --fast --shuffle --seed 3")
    assert states("m.aggro") == states("again.aggro") != states("other.aggro")


def test_runs_do_not_depend_on_batches():
    y = np.repeat(["a", "b"], 300)
    whole, parts = Runs(), Runs()
    whole.meet(y)
    for start in range(0, 600, 7):
        parts.meet(y[start : start + 7])
    assert whole.changes == parts.changes == 1 and whole.are_long
    assert whole.expected == parts.expected == 300


def test_the_error_since_half():
    lines = [Line(16, 0, 0.5, 0.5, 0), Line(32, 0, 0.25, 0.5, 0), Line(64, 0, 0.25, 0.5, 0)]
    assert error_since_half(lines) == pytest.approx(0.25)
    assert error_since_half(lines[:1]) == 0.5


# -- shuffling -------------------------------------------------------------------------------


def batches(sparse):
    for start in range(0, 40, 8):
        X = np.arange(start, start + 8.0)[:, None] + np.zeros((1, 2))
        if sparse:
            wide = 2 + start
            X = SparseRows(X[:, 0], np.zeros(8, np.int32), np.arange(9), (8, wide), is_sorted=True)
        yield Batch(X, np.arange(start, start + 8), np.arange(start, start + 8.0))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("block", [1, 1 << 30])
def test_rows_stay_whole_and_none_is_lost(sparse, block):
    mixed = Shuffled(list(batches(sparse)), seed=1, block=block)
    X, y, weights = joined(list(mixed))
    first = X.toarray()[:, 0] if sparse else X[:, 0]
    assert first.tolist() == y.tolist() == weights.tolist()
    assert sorted(y) == list(range(40)) and y.tolist() != sorted(y)
    assert mixed.blocks == (5 if block == 1 else 1)
    assert joined(list(mixed)).y.tolist() == y.tolist()  # in the next pass


def test_shuffle_reads_every_format(inside):
    write_vw(inside / "data.vw")
    write_csv(inside / "data.csv")
    run("train data.vw -o a.aggro --shuffle --fast --hash-bits 10 --passes 2")
    run("train data.csv --label kind --text body -o b.aggro --shuffle --fast --hash-bits 10")


def test_a_counter_is_named_and_counts_as_zero(inside, capsys):
    """The command line learns what ``partial_fit`` learns, counters included."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((300, 3)), 10.0 * np.arange(1, 301)])
    y = (X[:, 0] > X[:, 1]).astype(int)
    rows = (" ".join(f"{j}:{v!r}" for j, v in enumerate(row, 1)) for row in X.tolist())
    lines = (f"{label} {row}" for label, row in zip(y, rows, strict=True))
    Path("data.svm").write_text("\n".join(lines) + "\n")
    run("train data.svm -o m.aggro --keep-race")
    assert "column 4 only rises or only falls" in capsys.readouterr().err
    params = dict.fromkeys(("C", "metric", "scale", "average"), "auto")
    model = aggro.from_name("SPA-II", random_state=0, **params)
    with pytest.warns(UserWarning, match="only rises"):
        model.partial_fit(csr_matrix(X), y)
    loaded = aggro.load("m.aggro")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.coef_[0, 3] == 0


def test_columns_of_a_table_are_for_its_reader(inside, capsys):
    """A table whose first rows are sorted by a feature keeps it."""
    rng = np.random.default_rng(0)
    height = np.concatenate([np.arange(100.0), rng.uniform(0, 100, 400)])
    lines = (f"{h},{v},{int(h > 50)}\n" for h, v in zip(height, rng.random(500), strict=True))
    Path("rows.csv").write_text("height,noise,tall\n" + "".join(lines))
    run("train rows.csv --label tall -o m.aggro")
    assert "only rises" not in capsys.readouterr().err
    assert aggro.load("m.aggro").coef_[0, 0] != 0
