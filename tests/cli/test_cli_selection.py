"""Model selection on the command line: the best candidate is saved, or all of them."""

import re
from pathlib import Path

import pytest
from cli_helpers import run, states, write_svmlight

import aggro
from aggro.cli.model import load_model
from aggro.io import load_svmlight
from aggro.learner import Learner
from aggro.selection.selection import ModelSelection

pytestmark = pytest.mark.usefixtures("inside")


@pytest.mark.parametrize("options", ["--C auto", "--C auto --metric auto --average auto"])
def test_only_the_best_candidate_is_saved_by_default(inside, options, capsys):
    write_svmlight(inside / "data.svm", n=1500)
    run(f"train data.svm -o kept.aggro --keep-candidates {options}")
    kept = capsys.readouterr()
    assert "best so far: C=" in kept.out and "all candidates are saved" in kept.out
    run(f"train data.svm -o best.aggro {options}")
    assert re.search(r"\nselected: C=[^(]+ \(--keep-candidates", capsys.readouterr().out)
    selection, alone = (load_model(f"{name}.aggro")[0] for name in ("kept", "best"))
    assert isinstance(selection.learner, ModelSelection) and isinstance(alone.learner, Learner)
    assert Path("best.aggro").stat().st_size < Path("kept.aggro").stat().st_size / 2
    for name in ("kept", "best"):
        run(f"predict {name}.aggro data.svm --scores -o {name}.txt")
    assert Path("kept.txt").read_text() == Path("best.txt").read_text()
    model = aggro.load("best.aggro")
    assert {n: getattr(model, n) for n in selection.learner.choice} == selection.learner.choice
    X, y = load_svmlight("data.svm")
    model.partial_fit(X, y)
    capsys.readouterr()
    run("info best.aggro")
    assert re.search(r"selected +C=", capsys.readouterr().out)


def test_resuming_reports_and_keeps_the_selected_settings(inside, capsys):
    write_svmlight(inside / "data.svm", n=800)
    run("train data.svm -o m.aggro --C auto --quiet")
    C = aggro.load("m.aggro").C
    capsys.readouterr()
    run("train data.svm --resume m.aggro -o again.aggro --C auto")
    assert f"m.aggro: continues with the selected C={C:g}" in capsys.readouterr().err
    assert C == aggro.load("again.aggro").C
    run("train data.svm --resume again.aggro -o again.aggro")
    assert f"again.aggro: continues with the selected C={C:g}" in capsys.readouterr().err
    run("train data.svm --resume m.aggro -o again.aggro --C 0.125 --quiet")
    assert aggro.load("again.aggro").C == 0.125
    run("train data.svm -o plain.aggro --C 0.5 --quiet")
    run("train data.svm --resume plain.aggro -o plain.aggro")
    assert "selected" not in capsys.readouterr().err


def test_a_saved_selection_continues_bit_for_bit(inside, capsys):
    lines = write_svmlight(inside / "both.svm", n=900).read_text().splitlines(keepends=True)
    Path("one.svm").write_text("".join(lines[:410]))
    run("train both.svm -o whole.aggro --C auto --keep-candidates --quiet")
    run("train one.svm -o part.aggro --C auto --keep-candidates --quiet")
    run("train both.svm --resume part.aggro -o part.aggro --skip 410 --keep-candidates --quiet")
    assert states("part.aggro") == states("whole.aggro")
    run("train both.svm --resume part.aggro -o part.aggro --C 0.5", 1)
    assert "--C auto, which cannot change to 0.5" in capsys.readouterr().err
    run("train both.svm --resume part.aggro -o part.aggro --quiet")
    assert isinstance(load_model("part.aggro")[0].learner, Learner)


@pytest.mark.parametrize(("options", "loss"), [("", "squared_hinge"), ("--fast", "hinge")])
def test_the_default_for_classes_equals_autoclassifier(inside, options, loss, capsys):
    write_svmlight(inside / "data.svm", n=300)
    run(f"train data.svm -o m.aggro --keep-candidates {options}")
    model = aggro.load("m.aggro")
    assert model.loss == loss
    if not options:
        X, y = load_svmlight("data.svm")
        auto = aggro.AutoClassifier(random_state=0).partial_fit(X, y)
        assert auto.n_mistakes_ == model.n_mistakes_ and auto.candidates_ == model.candidates_
