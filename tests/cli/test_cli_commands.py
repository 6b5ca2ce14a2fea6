"""Output and errors of the commands besides train."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import aggro as process
from cli_helpers import normalise, write_csv, write_numbers, write_svmlight, write_vw

import aggro
from aggro.cli import COMMANDS, main, parser_of
from aggro.io import load_svmlight
from aggro.persistence import save
from aggro.variants import catalogue


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm")
    return tmp_path


def run(line):
    return main(line.split())


@pytest.fixture
def model(inside):
    assert run("train data.svm -o m.aggro --C 0.1 --quiet") == 0
    return "m.aggro"


def test_predict_scores_and_probabilities(model, capsys):
    run("predict m.aggro data.svm --scores")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "label\t0\t1\t2"
    for line in lines[1:]:
        label, *scores = map(float, line.split("\t"))
        assert scores[int(label)] == max(scores)
    run("predict m.aggro data.svm --proba")
    for line in capsys.readouterr().out.splitlines()[1:]:
        assert sum(map(float, line.split("\t")[1:])) == pytest.approx(1, abs=1e-5)


def test_two_classes_have_one_score_and_two_probabilities(inside, capsys):
    write_svmlight(inside / "two.svm", classes=2)
    run("train two.svm -o m.aggro --quiet")
    run("predict m.aggro two.svm --scores")
    assert capsys.readouterr().out.startswith("label\t1\n")
    run("predict m.aggro two.svm --proba")
    assert capsys.readouterr().out.startswith("label\t0\t1\n")


def test_probabilities_are_calibrated_where_margins_were_recorded(inside, capsys):
    write_svmlight(inside / "two.svm", classes=2)
    X, y = load_svmlight("two.svm")
    save(aggro.PassiveAggressiveClassifier(probability=True).partial_fit(X, y), "python.aggro")
    run("train two.svm -o trained.aggro --algorithm SPA-I --fast --probability --quiet")
    for name in ("python", "trained"):
        capsys.readouterr()
        run(f"predict {name}.aggro two.svm --proba")
        lines = capsys.readouterr().out.splitlines()[1:]
        shown = [[float(value) for value in line.split("\t")[1:]] for line in lines]
        np.testing.assert_allclose(shown, aggro.load(f"{name}.aggro").predict_proba(X), atol=1e-5)


def test_features_that_the_model_does_not_know_are_ignored(model, capsys):
    Path("new.svm").write_text("0 1:1 9999:5\n")
    assert run("predict m.aggro new.svm") == 0
    assert capsys.readouterr().out == "0\n"


def test_evaluate_prints_accuracy_f1_and_confusion(model, capsys):
    assert run("evaluate m.aggro data.svm --json e.json") == 0
    assert capsys.readouterr().out.startswith("accuracy  100.00% of 600 examples\n")
    report = json.loads(Path("e.json").read_text())
    assert report["examples"] == 600
    assert sum(count for _, _, count in report["confusion"]) == 600


def test_many_classes_get_no_matrix(inside, capsys):
    write_svmlight(inside / "many.svm", classes=15)
    run("train many.svm -o m.aggro --quiet")
    run("evaluate m.aggro many.svm")
    assert "lowest F1" in capsys.readouterr().out


def test_info_describes_the_model(model, capsys):
    assert run("info m.aggro --top 2") == 0
    out = capsys.readouterr().out
    assert re.search(r"algorithm +SPA-I\n", out)
    assert re.search(r"classes +3: 0, 1, 2\n", out)
    assert re.search(r"  0: 1 \+", out)


@pytest.mark.parametrize("criterion", ["absolute", "squared"])
def test_info_shows_the_mean_error_of_a_regression(inside, capsys, criterion):
    X, _ = load_svmlight("data.svm")
    model = aggro.PassiveAggressiveRegressor(criterion=criterion, average=False)
    sizes, predictions = np.asarray(X.sum(axis=1)).ravel(), []
    for i in range(5):
        predictions.append(float(model.predict(X[i : i + 1])[0]) if i else 0.0)
        model.partial_fit(X[i : i + 1], sizes[i : i + 1])
    save(model, "numbers.aggro")
    assert run("info numbers.aggro") == 0
    power = 1 + (criterion == "squared")
    expected = np.mean(np.abs(sizes[:5] - predictions) ** power)
    (shown,) = re.findall(rf"\nerror +(\S+) \({criterion}, mean\)", capsys.readouterr().out)
    assert float(shown) == pytest.approx(expected, rel=1e-4)


def test_models_of_python_work_here_too(inside, capsys):
    X, y = load_svmlight("data.svm")
    save(aggro.PassiveAggressiveClassifier(C=0.1).partial_fit(X, y), "python.aggro")
    assert run("predict python.aggro data.svm -o p.txt") == 0
    assert run("info python.aggro") == 0
    assert "PassiveAggressiveClassifier" in capsys.readouterr().out
    assert run("train data.svm --resume python.aggro -o again.aggro --quiet") == 0
    save(aggro.PassiveAggressiveRegressor().partial_fit(X, X[:, :2].toarray()), "two.aggro")
    assert run("predict two.aggro data.svm") == 1
    assert "several targets" in capsys.readouterr().err


def test_algorithms_lists_the_catalogue(capsys):
    assert main(["algorithms"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(catalogue())
    assert main(["algorithms", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "Perceptron"


COMPARED = """\
algorithm       error so far     updates
SPA-I                  3.83%         242
PA-I                   4.50%         255
(constant)            65.33%
600 examples, 2 models in SECONDS
"""


def test_compare_ranks_variants_and_draws_curves(inside, capsys):
    assert run("compare data.svm --algorithms PA-I,SPA-I --C 0.1 --plot race.png") == 0
    assert normalise(capsys.readouterr().out) == COMPARED
    assert Path("race.png").read_bytes().startswith(b"\x89PNG")
    line = "compare data.svm --algorithms PA-I,AROW --C 0.1 --test data.svm --json r.json"
    assert run(line) == 0
    assert {row["algorithm"] for row in json.loads(Path("r.json").read_text())} == {"PA-I", "AROW"}


def test_compare_ranks_regressors(inside, capsys):
    write_numbers(inside / "numbers.svm")
    line = "compare numbers.svm --algorithms PAR-I,AROWR --test numbers.svm"
    assert run(line) == 0
    assert "test RMSE" in capsys.readouterr().out


def test_convert_to_svmlight_and_to_a_cache(inside, capsys):
    write_csv(inside / "m.csv")
    assert run("convert m.csv m.svm --label kind --text body --hash-bits 10") == 0
    run("train m.csv --label kind --text body --hash-bits 10 -o a.aggro --quiet")
    run("train m.svm -o b.aggro --quiet")
    run("predict a.aggro m.csv -o a.txt")
    run("predict b.aggro m.svm -o b.txt")
    assert Path("a.txt").read_text() == Path("b.txt").read_text()
    assert run("convert data.svm data.svm.aggrocache") == 0
    before = Path("data.svm.aggrocache").stat().st_mtime_ns
    run("train data.svm --cache -o c.aggro --quiet")
    assert Path("data.svm.aggrocache").stat().st_mtime_ns == before


def test_convert_gives_the_same_numbers(inside, capsys):
    write_vw(inside / "data.vw")
    assert run("convert data.vw out.svm") == 0
    assert run("convert out.svm again.svm") == 0
    assert Path("out.svm").read_text() == Path("again.svm").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name in COMMANDS:
        assert name in script
    assert "hash-bits" in script
    assert "PAM-I-diag" in script


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_parse(name, capsys):
    assert main([name, "--help"]) == 0
    assert "examples:" in capsys.readouterr().out
    examples = parser_of(name).epilog.removeprefix("examples:").strip()
    for line in examples.splitlines():
        words = shlex.split(line.strip().split("| aggro ")[-1].removeprefix("aggro "))
        words = words[: words.index(">")] if ">" in words else words
        words = words[: words.index("|")] if "|" in words else words
        assert parser_of(words[0]).parse_args(words[1:])


WRONG = {
    "train nowhere.svm -o m": "nowhere.svm: no such file",
    "train data.svm -o m --algorithm SPA-X": "Did you mean",
    "train data.svm -o m --algorithm AROW --C 1": "AROW has no --C; its options are --average",
    "train data.svm -o m --algorithm KPA-I": "kernel",
    "train data.svm -o m --task regression --algorithm PA-I": "use e.g. PAR-I",
    "train data.svm -o m --C -1": "--C -1.0 is not valid",
    "train data.svm -o m --loss hinges": "Did you mean 'hinge'?",
    "train data.svm -o nowhere/m": "nowhere",
    "train t.csv -o m": "Give --label COLUMN; there are kind, body, size",
    "train t.csv -o m --label sort": "no column 'sort'",
    "train numbers.svm -o m --algorithm SPA-I": "use --task regression",
    "train empty.svm -o m": "no examples",
    "train bad.svm -o m": "bad.svm, line 2",
    "predict data.svm data.svm": "not a model",
    "evaluate nowhere.aggro data.svm": "nowhere.aggro: no such file",
    "info data.svm": "not a model",
    "compare data.svm --algorithms PA-I,PAR-I": "cannot be compared",
}


@pytest.mark.parametrize("line", WRONG)
def test_errors_are_one_clear_line(line, inside, capsys):
    write_csv(inside / "t.csv")
    write_numbers(inside / "numbers.svm")
    Path("empty.svm").write_text("")
    Path("bad.svm").write_text("1 1:2\n1 oops\n")
    assert run(line) == 1
    err = capsys.readouterr().err
    assert WRONG[line] in err
    assert err.startswith("aggro: error: ")
    assert err.count("\n") == 1
    assert not Path("m").exists()


def test_wrong_usage_exits_with_2(capsys):
    assert main([]) == 2
    assert main(["trian"]) == 2
    assert main(["train"]) == 2
    assert main(["train", "data.svm", "-o", "m", "--passes", "x"]) == 2
    assert main(["--version"]) == 0
    assert f"aggro {aggro.__version__}\n" in capsys.readouterr().out


def test_debugging_shows_the_traceback():
    assert "Traceback" not in process("info", "nowhere").stderr
    assert "Traceback" in process("info", "nowhere", AGGRO_DEBUG="1").stderr


def test_bad_lines_are_skipped_and_counted(inside, capsys):
    good = Path("data.svm").read_text()
    Path("bad.svm").write_text("0 1:x\n" + good + "oops\n")
    assert run("train bad.svm -o m.aggro --skip-bad") == 0
    err = capsys.readouterr().err
    assert "skipped 2 bad lines, the first: bad.svm, line 1" in err
    assert run("train data.svm -o n.aggro --quiet") == 0
    assert Path("m.aggro").read_bytes() == Path("n.aggro").read_bytes()


READERS = (
    "evaluate m.aggro bad.svm",
    "predict m.aggro bad.svm",
    "convert bad.svm c.svm",
    "compare bad.svm --algorithms PA",
    "train data.svm -o n.aggro --test bad.svm",
    "compare data.svm --algorithms PA --test bad.svm",
)


@pytest.mark.parametrize("command", READERS)
def test_every_command_reports_skipped_lines(inside, capsys, command):
    Path("bad.svm").write_text("0 1:x\n" + Path("data.svm").read_text() + "oops\n")
    assert run("train data.svm -o m.aggro --quiet") == 0
    assert run(f"{command} --skip-bad") == 0
    assert "skipped 2 bad lines, the first: bad.svm, line 1" in capsys.readouterr().err
