"""Variants that are compared side by side come to what each of them comes to alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write_numbers, write_svmlight
from numpy.testing import assert_allclose

from aggro.cli import main
from aggro.cli.model import LinearModel
from aggro.cli.side_by_side import JointWatch, SideBySide, bundles
from aggro.cli.watch import Watch
from aggro.files import read
from aggro.variants import find


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm")
    write_numbers(tmp_path / "numbers.svm")


def compare(line):
    assert main(f"compare {line} --json r.json --quiet".split()) == 0
    return {row["algorithm"]: row for row in json.loads(Path("r.json").read_text())}


def test_several_C():
    rows = compare("data.svm --algorithms PA-I,PA-II,AROW --C 0.01,0.1,auto --test data.svm")
    names = {f"{name} C={c}" for name in ("PA-I", "PA-II") for c in (0.01, 0.1, "auto")}
    assert rows.keys() == names | {"AROW"}
    for name in names:
        variant, price = name.split(" C=")
        (alone,) = compare(f"data.svm --algorithms {variant} --C {price} --test data.svm").values()
        for figure in ("so_far", "constant", "updates", "test"):
            assert rows[name][figure] == alone[figure]
        assert rows[name]["side_by_side"] == (1 if price == "auto" else 4)
        assert alone["side_by_side"] == 1


def test_numbers():
    rows = compare("numbers.svm --algorithms PAR-I,PAR-II --C 0.1,1 --test numbers.svm")
    assert {row["side_by_side"] for row in rows.values()} == {4}
    for name, row in rows.items():
        variant, price = name.split(" C=")
        line = f"numbers.svm --algorithms {variant} --C {price} --test numbers.svm"
        (alone,) = compare(line).values()
        assert row["so_far"] == pytest.approx(alone["so_far"], rel=1e-9)
        assert row["test"] == pytest.approx(alone["test"], rel=1e-9)


def test_the_table_makes_room_for_the_names_and_says_what_seconds_are(capsys):
    line = "compare data.svm --algorithms PA-I,PAM-I-diag --C 0.001,0.1 --plot race.png"
    assert main(line.split()) == 0
    shown = capsys.readouterr()
    table = shown.out.splitlines()
    assert len(table) == 6 and len({len(line) for line in table[:-1]}) == 1
    assert "share their seconds evenly" in shown.err
    assert Path("race.png").read_bytes().startswith(b"\x89PNG")
    assert main(["compare", "data.svm", "--algorithms", "PA-I,AROW"]) == 0
    assert "share" not in capsys.readouterr().err


def test_wrong_C_is_wrong_usage(capsys):
    line = ["compare", "data.svm", "--algorithms", "PA-I", "--C"]
    assert main([*line, "0.1,much"]) == 2
    assert main([*line, "0.1,-1"]) == 1
    assert "--C -1.0 is not valid" in capsys.readouterr().err


def models(prices=(0.01, 0.1, 1.0), name="SPA-I", **params):
    return [LinearModel.create(find(name), {"C": c, **params}, np.float64, 0) for c in prices]


@pytest.mark.parametrize(
    ("params", "late"),
    [
        ({}, "12"),
        ({"metric": "diagonal"}, "12"),
        ({"metric": "diagonal"}, "2"),
        ({"multiclass": "ovr"}, "2"),
    ],
    ids=str,
)
def test_features_and_classes_may_appear_late(params, late):
    lines = Path("data.svm").read_text().splitlines(keepends=True)[:200]
    lines.sort(key=lambda line: late.find(line[0]))
    Path("sorted.svm").write_text("".join(lines))
    together = JointWatch(SideBySide(models(**params)))
    alone = [Watch(model) for model in models(**params)]
    for batch in read("sorted.svm", batch_rows=30):
        for watch in (together, *alone):
            watch.learn(*batch)
    assert together.model.classes.tolist() == [0, 1, 2]
    X = batch.X
    for member, watch in zip(together.watches, alone, strict=True):
        assert member.lines == watch.lines
        assert_allclose(member.model.scores(X), watch.model.scores(X), rtol=1e-9, atol=1e-12)


def test_who_learns_together():
    group = [*models(), *models(name="PA-I"), *models(metric="diagonal")]
    group += models(("auto", 1.0), average="reservoir")
    assert [len(bundle) for bundle in bundles(group)] == [6, 3, 1, 1]
