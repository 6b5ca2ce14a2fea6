"""Model selection by default, warnings about data and models, and shuffling."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import run, states, write_csv, write_numbers, write_svmlight, write_vw
from scipy.sparse import csr_matrix

import aggro
from aggro.cli.model import Model
from aggro.cli.progress import Constant, Line, Progress, Shuffled
from aggro.io import Batch, read
from aggro.io.batch import SparseRows

pytestmark = pytest.mark.usefixtures("inside")


def notes(capsys, line, code=0):
    """Return the notes of a command."""
    capsys.readouterr()
    run(line, code)
    return capsys.readouterr().err


# -- model selection -------------------------------------------------------------------------


def test_all_settings_are_selected_unless_one_is_given(inside, capsys):
    write_numbers(inside / "data.svm")
    for options, selects in {
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
        assert ("\nselected: C=" in out) == ("C, metric, scale" in out) == selects
    run("train data.svm -o m.aggro --json r.json")
    params = json.loads(Path("r.json").read_text())["params"]
    assert "auto" not in {params[name] for name in ("C", "metric", "scale")}
    assert aggro.load("m.aggro").metric == params["metric"]


def test_features_of_different_scales_are_learned(inside, capsys):
    rng = np.random.default_rng(0)
    X = rng.random((800, 3)) * [1.0, 1000.0, 30.0]
    y = X @ [50.0, 0.2, 3.0] + 40 + rng.normal(size=800)
    rows = [",".join(f"{v:.5f}" for v in [*x, t]) for x, t in zip(X, y, strict=True)]
    Path("houses.csv").write_text("age,size,floors,price\n" + "\n".join(rows) + "\n")
    run("train houses.csv --label price --epsilon 0.01 -o m.aggro --test houses.csv --json r.json")
    assert json.loads(Path("r.json").read_text())["test"]["r2"] > 0.9
    assert "constant" in notes(capsys, "train houses.csv --label price --fast -o m.aggro")


def test_hashed_tables_select_what_autoclassifier_selects(inside):
    """A wide hashed table is no exception: scale and metric are selected, too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1.0, 1e4]
    rows = [f"{'ab'[int(a > b / 1e4)]},{a:.4f},{b:.4f},k{i % 7}" for i, (a, b) in enumerate(X)]
    Path("wide.csv").write_text("\n".join(["y,small,large,name", *rows]) + "\n")
    run("train wide.csv --label y -o m.aggro --features linear --keep-candidates --quiet")
    model = aggro.load("m.aggro")
    reader = read("wide.csv", label="y")
    ((rows, y, _),) = list(reader)
    auto = aggro.AutoClassifier(features="linear").partial_fit(rows, y)
    assert auto.candidates_ == model.candidates_


# -- warnings -----------------------------------------------------------------------------------


def test_a_category_that_looks_like_text_is_reported(inside, capsys):
    write_csv(inside / "data.csv")
    assert "--text body" in notes(capsys, "train data.csv --label kind -o m.aggro --fast")
    assert "note" not in notes(capsys, "train data.csv --label kind --text body -o m.aggro --fast")


def test_a_model_no_better_than_a_constant_is_reported(inside, capsys):
    rng = np.random.default_rng(0)
    rows = [
        f"{int(rng.random() < 0.1)} 1:{rng.random():.4f} 2:{rng.random():.4f}" for _ in range(400)
    ]
    Path("noise.svm").write_text("\n".join(rows) + "\n")
    shown = notes(capsys, "train noise.svm -o m.aggro --fast")
    assert "no better than always predicting the most frequent class" in shown
    assert "leave --fast out" in shown
    write_svmlight(inside / "data.svm")
    assert notes(capsys, "train data.svm -o m.aggro") == "saved m.aggro\n"


def test_data_of_one_class_are_reported(inside, capsys):
    Path("one.svm").write_text("1 1:1\n" * 200)
    assert "all 200 labels are 1:" in notes(
        capsys, "train one.svm -o m.aggro --task classification"
    )


def test_sorted_rows_are_reported_unless_shuffled(inside, capsys):
    write_svmlight(inside / "data.svm")
    lines = sorted(Path("data.svm").read_text().splitlines())
    Path("sorted.svm").write_text("\n".join(lines) + "\n")
    assert "learned in random order" in notes(capsys, "train sorted.svm -o m.aggro --fast")
    assert "--no-shuffle" in notes(capsys, "train sorted.svm -o m.aggro --fast --no-shuffle")
    assert "--shuffle" not in notes(capsys, "train data.svm -o m.aggro --fast")
    assert notes(capsys, "train sorted.svm -o m.aggro --fast --shuffle") == "saved m.aggro\n"
    run("train sorted.svm -o again.aggro --fast --shuffle")
    run("train sorted.svm -o other.aggro --fast --shuffle --random-state 3")
    assert states("m.aggro") == states("again.aggro") != states("other.aggro")


def test_detection_of_sorted_rows_does_not_depend_on_batches():
    y = np.repeat(["a", "b"], 300)
    whole, parts = Constant(), Constant()
    whole.add(y)
    for start in range(0, 600, 7):
        parts.add(y[start : start + 7])
    assert whole.changes == parts.changes == 1 and whole.is_sorted
    assert whole.expected_changes == parts.expected_changes == 300


def test_the_recent_error_is_that_since_half_of_the_examples():
    progress = Progress(Model(aggro.AutoClassifier()))
    progress.lines = [Line(16, 16, 0, 0.5, 0.5, 0)]
    assert progress.recent_error() == 0.5
    progress.lines += [Line(32, 32, 0, 0.25, 0.5, 0), Line(64, 64, 0, 0.25, 0.5, 0)]
    assert progress.recent_error() == pytest.approx(0.25)


@pytest.mark.parametrize("options", ["", " --fast"])
def test_errors_are_those_of_the_first_pass(inside, capsys, options):
    rng = np.random.default_rng(0)
    rows = [f"{int(y < 0.1)} 1:{x:.4f}" for y, x in rng.random((700, 2))]
    Path("noise.svm").write_text("\n".join(rows) + "\n")
    said = notes(capsys, f"train noise.svm -o m.aggro --json one.json{options}")
    several = notes(capsys, f"train noise.svm -o m.aggro --passes 3 --json t.json{options}")
    assert "its error is" in said and "its error in the first pass is" in several
    once, last = (json.loads(Path(p).read_text())["progress"] for p in ("one.json", "t.json"))
    assert (last[-1]["examples"], last[-1]["evaluated"]) == (2100, 700)
    for name in ("so_far", "baseline"):
        assert last[-1][name] == pytest.approx(once[-1][name])
    assert last[-1]["since_last"] is None


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
def test_shuffling_keeps_all_rows_with_their_labels(sparse, block):
    mixed = Shuffled(list(batches(sparse)), seed=1, block=block)
    X, y, weights = Batch.joined(list(mixed))
    first = X.toarray()[:, 0] if sparse else X[:, 0]
    assert first.tolist() == y.tolist() == weights.tolist()
    assert sorted(y) == list(range(40)) and y.tolist() != sorted(y)
    assert mixed.blocks == (5 if block == 1 else 1)
    assert Batch.joined(list(mixed)).y.tolist() == y.tolist()  # in the next pass


def test_shuffle_works_for_every_format(inside):
    write_vw(inside / "data.vw")
    write_csv(inside / "data.csv")
    run("train data.vw -o a.aggro --shuffle --fast --hash-bits 10 --passes 2")
    run("train data.csv --label kind --text body -o b.aggro --shuffle --fast --hash-bits 10")


def test_counters_are_reported_and_count_as_zero(inside, capsys):
    """The model equals that of ``partial_fit``."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((300, 3)), 10.0 * np.arange(1, 301)])
    y = (X[:, 0] > X[:, 1]).astype(int)
    rows = (" ".join(f"{j}:{v!r}" for j, v in enumerate(row, 1)) for row in X.tolist())
    lines = (f"{label} {row}" for label, row in zip(y, rows, strict=True))
    Path("data.svm").write_text("\n".join(lines) + "\n")
    run("train data.svm -o m.aggro --keep-candidates")
    assert "column 4 only rises or only falls" in capsys.readouterr().err
    params = dict.fromkeys(("C", "metric", "scale", "average"), "auto")
    model = aggro.from_name("SPA-II", random_state=0, **params)
    with pytest.warns(UserWarning, match="only rises"):
        model.partial_fit(csr_matrix(X), y)
    loaded = aggro.load("m.aggro")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.coef_[0, 3] == 0


def test_a_column_that_rises_in_the_first_rows_of_a_table_is_kept(inside, capsys):
    rng = np.random.default_rng(0)
    height = np.concatenate([np.arange(100.0), rng.uniform(0, 100, 400)])
    lines = (f"{h},{v},{int(h > 50)}\n" for h, v in zip(height, rng.random(500), strict=True))
    Path("rows.csv").write_text("height,noise,tall\n" + "".join(lines))
    run("train rows.csv --label tall -o m.aggro")
    assert "only rises" not in capsys.readouterr().err
    assert aggro.load("m.aggro").coef_[0, 0] != 0
