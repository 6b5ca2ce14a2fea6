"""Variants that are compared side by side come to what each of them comes to alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write_numbers, write_svmlight
from numpy.testing import assert_allclose

from aggro import from_name, sweep
from aggro.cli import main
from aggro.cli.compare import _show
from aggro.cli.console import Console
from aggro.cli.model import Model
from aggro.cli.side_by_side import JointWatch, SideBySide, bundles
from aggro.cli.watch import Watch
from aggro.io import load_svmlight, read
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
    return [Model(find(name).make(C=c, **params, random_state=0)) for c in prices]


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
    joint, alone = models(**params), models(**params)
    group = SideBySide(joint)
    together = JointWatch(group)
    watches = [Watch(model) for model in alone]
    for batch in read("sorted.svm", batch_rows=30):
        for watch in (together, *watches):
            watch.learn(*batch)
    group.finish()
    for member, watch, one, two in zip(together.watches, watches, joint, alone, strict=True):
        assert member.lines == watch.lines
        assert one.classes.tolist() == [0, 1, 2]
        assert_allclose(one.scores(batch.X), two.scores(batch.X), rtol=1e-9, atol=1e-12)


def test_who_learns_together():
    group = [*models(), *models(name="PA-I"), *models(metric="diagonal")]
    group += models(("auto", 1.0), average="reservoir")
    assert [len(bundle) for bundle in bundles(group)] == [6, 3, 1, 1]


# -- one error for one setting ------------------------------------------------------------------


def trained(line):
    assert main(f"train {line} -o m.aggro --json t.json --quiet --fast".split()) == 0
    return json.loads(Path("t.json").read_text())["progress"][-1]["so_far"]


@pytest.mark.parametrize("data", ["data.svm", "numbers.svm"])
@pytest.mark.parametrize("average", [False, True, 100])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
def test_train_compare_sweep_and_estimator_show_the_same_error(data, average, metric):
    """The error of what predicts, alone and side by side: one record, read by all."""
    name = "PAR-I" if data == "numbers.svm" else "SPA-I"
    options = f"--metric {metric}" + {False: "", True: " --average"}.get(average, " --average 100")
    alone = trained(f"{data} --algorithm {name} --C 0.1 {options}")
    rows = compare(f"{data} --algorithms {name} --C 0.01,0.1,1 {options}")
    assert rows[f"{name} C=0.1"]["side_by_side"] == 3
    assert rows[f"{name} C=0.1"]["so_far"] == pytest.approx(alone, rel=1e-9)
    axes = {"average": average, "metric": metric}
    for prices in (0.1, [0.01, 0.1, 1.0]):
        result = sweep(data, algorithm=name, C=prices, **axes)
        (row,) = (row for row in result.rows if row.params["C"] == 0.1)
        assert row.error == pytest.approx(alone, rel=1e-9)
    assert told(data, name, axes) == pytest.approx(alone, rel=1e-9)


def told(data, name, axes):
    """Ask an estimator before each example; the first is a mistake, or an answer of zero."""
    X, y = load_svmlight(data)
    regression = name == "PAR-I"
    model, more = from_name(name, C=0.1, **axes), {} if regression else {"classes": np.unique(y)}
    total = abs(y[0]) if regression else float(y[0] != 0)
    for i in range(1, len(y)):
        model.partial_fit(X[i - 1 : i], y[i - 1 : i], **more)
        guess = model.predict(X[i : i + 1])[0]
        total += abs(guess - y[i]) if regression else float(guess != y[i])
    model.partial_fit(X[-1:], y[-1:], **more)
    assert regression or total == model.n_mistakes_
    return total / len(y)


def test_rows_without_weight_are_as_if_they_were_not_there():
    lines = [line.split(" ", 1) for line in Path("data.svm").read_text().splitlines()]
    weights = np.random.default_rng(0).integers(0, 3, len(lines))
    some = [f"{c} {w} | {x}\n" for (c, x), w in zip(lines, weights, strict=True)]
    Path("all.vw").write_text("7 0 | 1:1\n" + "".join(some))  # a class of its own, too
    kept = "".join(line for line, w in zip(some, weights, strict=True) if w)
    Path("kept.vw").write_text(kept)
    for options in ("", "--batch-size 7", "--average"):
        names = "--algorithms SPA-I,PAM-I-diag --hash-bits 8 --C 0.1"
        one, two = (compare(f"{name}.vw {names} {options}") for name in ("all", "kept"))
        for name, row in two.items():
            for figure in ("so_far", "constant", "updates"):
                assert one[name][figure] == row[figure]
        assert trained(f"all.vw --hash-bits 8 {options}") == trained(
            f"kept.vw --hash-bits 8 {options}"
        )
    assert sweep("data.svm", C=1.0).rows[0].error == pytest.approx(
        trained("data.svm")
    )  # unweighted


# -- the table ----------------------------------------------------------------------------------


def shown_order(results, capsys, percent):
    _show(Console(), results, percent=percent)
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]]


def row(name, so_far, test=None):
    rest = {"constant": 0.5, "updates": 1, "seconds": 0.0, "side_by_side": 1}
    return {"algorithm": name, "so_far": so_far, "test": test, **rest}


def test_the_best_is_first_and_ties_keep_the_order_in_which_they_were_named(capsys):
    rows = [row("c", 0.2), row("b", 0.1), row("a", 0.2), row("d", 0.1)]
    for percent in (True, False):
        assert shown_order(rows, capsys, percent) == ["b", "d", "c", "a"]


def test_tests_decide_where_there_are_some(capsys):
    rows = [row("c", 0.1, 0.7), row("b", 0.2, 0.9), row("a", 0.3, 0.9), row("d", 0.0, 0.1)]
    assert shown_order(rows, capsys, percent=True) == ["b", "a", "c", "d"]  # accuracy
    assert shown_order(rows, capsys, percent=False) == ["d", "c", "b", "a"]  # RMSE
    _show(Console(), rows, percent=True)
    assert "10.00%" in capsys.readouterr().out.splitlines()[1]


def test_names_given_twice_take_part_once():
    assert len(compare("data.svm --algorithms PA-I,pa-i,PA-I --C 0.1,0.10,1")) == 2
