"""Training from files of every format: models, predictions, pictures, reports."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import (
    normalise,
    run,
    write_csv,
    write_jsonl,
    write_numbers,
    write_parquet_folder,
    write_svmlight,
    write_vw,
)
from scipy.sparse import csr_matrix

import aggro
from aggro.cli.model import load_model
from aggro.io import load_svmlight
from aggro.persistence import load

pytestmark = pytest.mark.usefixtures("inside")


GOLDEN = """\
SPA-I, C=0.1: error of predictions made before learning
    examples  since last      so far    constant       updates
          16      43.75%      43.75%      50.00%            16
          32      18.75%      31.25%      50.00%            31
          64       9.38%      20.31%      53.12%            60
         128       4.69%      12.50%      57.81%            95
         256       3.91%       8.20%      63.28%           155
         512       0.78%       4.49%      65.04%           223
         600       0.00%       3.83%      65.33%           242
600 examples, 59 features, 3 classes in SECONDS

test
accuracy  99.67% of 300 examples
macro F1  0.9967
true class      F1   predicted as
                          0         1         2
0       0.9957          115         1         0
1       0.9943            0        87         0
2       1.0000            0         0        97
"""


def test_the_output_of_train(inside, capsys):
    write_svmlight(inside / "data.svm")
    write_svmlight(inside / "data.t", n=300, seed=1)
    run("train data.svm -o m.aggro --C 0.1 --test data.t")
    out, err = capsys.readouterr()
    assert err == "saved m.aggro\n"
    assert normalise(out) == GOLDEN


def test_svmlight_to_model_picture_report_and_predictions(inside, capsys):
    write_svmlight(inside / "data.svm", labels=["ant", "bee", "wasp"])
    run("train data.svm -o m.aggro --test data.svm --plot curve.png --json report.json")
    report = json.loads(Path("report.json").read_text())
    assert report["classes"] == ["ant", "bee", "wasp"]
    assert report["test"]["accuracy"] > 0.95
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    run("predict m.aggro data.svm")
    guesses = capsys.readouterr().out.split()
    truth = [line.split()[0] for line in Path("data.svm").read_text().splitlines()]
    assert np.mean([g == t for g, t in zip(guesses, truth, strict=True)]) > 0.95


def test_train_reads_csv_with_a_text_column(inside, capsys):
    write_csv(inside / "train.csv")
    write_csv(inside / "test.csv", seed=1)
    write_csv(inside / "new.csv", seed=2, label=False)
    run("train train.csv --label kind --text body -o m.aggro --test test.csv")
    assert "accuracy  100.00%" in capsys.readouterr().out
    run("predict m.aggro new.csv")
    assert set(capsys.readouterr().out.split()) == {"ham", "spam"}
    run("predict m.aggro test.csv -o labelled.txt")
    labels = [line.split(",")[0] for line in Path("test.csv").read_text().splitlines()[1:]]
    assert Path("labelled.txt").read_text().split() == labels


def test_columns_may_change_their_order(inside, capsys):
    write_csv(inside / "train.csv")
    run("train train.csv --label kind --text body -o m.aggro --quiet")
    rows = [line.split(",") for line in Path("train.csv").read_text().splitlines()]
    Path("turned.csv").write_text("\n".join(",".join(row[::-1]) for row in rows) + "\n")
    run("predict m.aggro train.csv --scores -o a")
    run("predict m.aggro turned.csv --scores -o b")
    assert Path("a").read_text() == Path("b").read_text()


def test_train_reads_a_folder_of_parquet_files(inside, capsys):
    write_parquet_folder(inside / "days")
    run("train days --label kind -o m.aggro --passes 3 --fast")
    assert "1,800 examples, 3 features, 2 classes" in capsys.readouterr().out
    run("info m.aggro")
    assert re.search(r"  low: .*\bb \+", capsys.readouterr().out)
    run("evaluate m.aggro days --json e.json")
    assert json.loads(Path("e.json").read_text())["accuracy"] > 0.97


def test_train_reads_vowpal_wabbit_files(inside, capsys):
    write_vw(inside / "data.vw")
    run("train data.vw -o m.aggro --hash-bits 12 --test data.vw")
    out = capsys.readouterr().out
    assert "4,096 features" in out
    assert "accuracy  100.00%" in out


def test_train_reads_json_lines(inside, capsys):
    write_jsonl(inside / "data.jsonl")
    write_jsonl(inside / "new.jsonl", label=False)
    run("train data.jsonl --label kind --text body -o m.aggro --test data.jsonl")
    assert "accuracy  100.00%" in capsys.readouterr().out
    run("predict m.aggro data.jsonl -o a")
    run("predict m.aggro new.jsonl -o b")
    assert Path("a").read_text() == Path("b").read_text()


def test_train_evaluate_and_predict_a_regression(inside, capsys):
    write_numbers(inside / "data.svm")
    run("train data.svm -o m.aggro --C 0.1 --epsilon 0.01 --passes 5 --test data.svm")
    out = capsys.readouterr().out
    assert out.startswith("PAR-I, C=0.1: absolute error of predictions made before learning")
    assert float(out.split("R²")[1]) > 0.99
    run("predict m.aggro data.svm")
    lines = capsys.readouterr().out.splitlines()
    X, y = load_svmlight("data.svm")
    model = load("m.aggro")
    assert [float(line) for line in lines] == model.predict(X).tolist()
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.99


@pytest.mark.parametrize(
    "name",
    ["SPA-II", "PA", "PAm-1", "PAmW-1", "PAM-I-diag", "AROW", "CW-stdev", "SCW-II", "Perceptron"],
)
def test_the_model_is_the_one_that_the_estimator_learns(inside, name):
    write_svmlight(inside / "data.svm")
    run(f"train data.svm -o m.aggro --algorithm {name} --quiet")
    X, y = load_svmlight("data.svm")
    ours, theirs = load("m.aggro"), aggro.from_name(name, random_state=0).partial_fit(X, y)
    assert ours.get_params() == theirs.get_params()
    assert np.array_equal(ours.coef_, theirs.coef_)
    assert np.array_equal(ours.intercept_, theirs.intercept_)
    assert ours.n_mistakes_ == theirs.n_mistakes_
    assert ours.partial_fit(X, y).n_updates_ == theirs.partial_fit(X, y).n_updates_


@pytest.mark.parametrize(
    "options", ["", "--average", "--batch-size 7", "--average reservoir", "--C auto"]
)
def test_resuming_is_the_same_as_not_stopping(inside, options):
    both = write_svmlight(inside / "both.svm").read_text().splitlines(keepends=True)
    Path("one.svm").write_text("".join(both[:245]))
    Path("two.svm").write_text("".join(both[245:]))
    run(f"train one.svm two.svm -o whole.aggro --quiet {options}")
    run(f"train one.svm -o part.aggro --quiet {options}")
    run("train two.svm --resume part.aggro -o part.aggro --quiet")
    run("train both.svm --resume part.aggro -o part.aggro --skip 245 --quiet")
    run("train two.svm --resume whole.aggro -o whole.aggro --quiet")
    whole, part = load_model("whole.aggro")[0], load_model("part.aggro")[0]
    for one, two in zip(states(whole.learner), states(part.learner), strict=True):
        assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in two.items()}


def states(learner):
    return [each.state() for each in getattr(learner, "learners", [learner])]


def test_c_can_be_left_to_the_command(inside, capsys):
    write_svmlight(inside / "data.svm", n=5000)
    run("train data.svm -o m.aggro --C auto --passes 2 --test data.svm")
    out = capsys.readouterr().out
    assert out.startswith("SPA-I, C=auto: error")
    assert "selected: C=" in out
    run("info m.aggro")
    assert "selected" in capsys.readouterr().out
    run("predict m.aggro data.svm -o p.txt")
    X, _ = load_svmlight("data.svm")
    guesses = load("m.aggro").predict(X)
    assert [float(line) for line in Path("p.txt").read_text().split()] == guesses.tolist()


def test_features_and_classes_may_come_later(inside, capsys):
    Path("one.svm").write_text("a 1:1\nb 2:1\n" * 20)
    Path("two.svm").write_text("c 3:1\na 1:1\nb 2:1\n" * 20)
    run("train one.svm -o m.aggro --quiet")
    run("train two.svm --resume m.aggro -o m.aggro --test two.svm")
    out = capsys.readouterr().out
    assert "3 features, 3 classes" in out
    assert "accuracy  100.00%" in out


def test_labels_of_another_type_are_rejected_on_resuming(inside):
    """Numbers and text do not become one kind unseen: the model stays as it was."""
    Path("numbers.svm").write_text("1 1:1\n2 2:1\n" * 20)
    Path("text.svm").write_text("spam 1:1\nham 2:1\n" * 20)
    for first, second in (("numbers", "text"), ("text", "numbers")):
        run(f"train {first}.svm -o {first}.aggro --quiet")
        before = Path(f"{first}.aggro").read_bytes()
        model = load_model(f"{first}.aggro")[0]
        strange = np.array(["spam"]) if second == "text" else np.array([1])
        with pytest.raises(ValueError, match=rf"holds {second}.*Give labels of one kind"):
            model.begin_batch(csr_matrix(np.ones((1, 2))), strange, None)
        assert model.classes.tolist() == load_model(f"{first}.aggro")[0].classes.tolist()
        assert Path(f"{first}.aggro").read_bytes() == before


def test_c_may_change_on_resuming_but_not_the_metric(inside, capsys):
    write_svmlight(inside / "data.svm")
    run("train data.svm -o m.aggro --quiet")
    run("train data.svm --resume m.aggro -o m.aggro --C 0.01 --quiet")
    assert load("m.aggro").C == 0.01
    run("train data.svm --resume m.aggro -o m.aggro --metric full", 1)
    assert "metric is part of the model" in capsys.readouterr().err


def test_a_cache_gives_the_same_model(inside):
    write_svmlight(inside / "data.svm")
    run("train data.svm -o a.aggro --quiet")
    run("train data.svm -o b.aggro --cache --quiet")
    assert Path("data.svm.aggrocache").exists()
    run("train data.svm -o c.aggro --cache --quiet")
    models = [Path(f"{name}.aggro").read_bytes() for name in "abc"]
    assert models[0] == models[1] == models[2]


DATA = os.environ.get("AGGRO_DATA")


@pytest.mark.skipif(not DATA, reason="AGGRO_DATA names no folder with data sets")
@pytest.mark.parametrize(
    ("folder", "options", "least"),
    [("a9a", "--C 0.01", 0.8), ("usps", "--C 0.01", 0.88), ("news20", "--C 0.1", 0.78)],
)
def test_accuracy_on_real_data_is_high_enough(folder, options, least, capsys):
    files = sorted(path for path in Path(DATA, folder).iterdir() if path.suffix == ".bz2")
    test = [path for path in files if ".t." in path.name or "test" in path.name]
    train = [path for path in files if path not in test]
    if not train:
        pytest.skip(f"no files of {folder}")
    run(f"train {train[0]} -o m.aggro {options} --test {(test or train)[0]} --json r.json")
    assert json.loads(Path("r.json").read_text())["test"]["accuracy"] > least
