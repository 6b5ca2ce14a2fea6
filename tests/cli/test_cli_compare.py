"""aggro compare: models that learn side by side equal models that learn alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import aggro, write_csv, write_numbers, write_svmlight

from aggro import from_name, sweep
from aggro.cli import main
from aggro.cli.compare import show
from aggro.cli.output import Console
from aggro.io import load_svmlight


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm")
    write_numbers(tmp_path / "numbers.svm")


def compare(line):
    assert main(f"compare {line} --json r.json --quiet".split()) == 0
    return {row["algorithm"]: row for row in json.loads(Path("r.json").read_text())}


def test_each_value_of_c_is_compared_as_if_alone():
    rows = compare("data.svm --algorithms PA-I,PA-II,AROW --C 0.01,0.1 --test data.svm")
    names = {f"{name} C={c}" for name in ("PA-I", "PA-II") for c in (0.01, 0.1)}
    assert rows.keys() == names | {"AROW"}
    for name in names:
        variant, C = name.split(" C=")
        (alone,) = compare(f"data.svm --algorithms {variant} --C {C} --test data.svm").values()
        for metric in ("so_far", "constant", "updates", "test"):
            assert rows[name][metric] == alone[metric]


def test_each_regressor_is_compared_as_if_alone():
    rows = compare("numbers.svm --algorithms PAR-I,PAR-II --C 0.1,1 --test numbers.svm")
    assert len(rows) == 4
    for name, row in rows.items():
        variant, C = name.split(" C=")
        line = f"numbers.svm --algorithms {variant} --C {C} --test numbers.svm"
        (alone,) = compare(line).values()
        assert row["so_far"] == pytest.approx(alone["so_far"], rel=1e-9)
        assert row["test"] == pytest.approx(alone["test"], rel=1e-9)


def test_the_baseline_is_the_best_constant_prediction():
    _, y = load_svmlight("data.svm")
    (row,) = compare("data.svm --algorithms PA-I").values()
    assert row["constant"] == pytest.approx(1 - np.unique(y, return_counts=True)[1].max() / len(y))
    _, y = load_svmlight("numbers.svm")
    (row,) = compare("numbers.svm --algorithms PAR-I").values()
    assert row["constant"] == pytest.approx(np.abs(y - np.median(y)).mean(), rel=1e-3)


def test_columns_of_the_table_are_aligned(capsys):
    line = "compare data.svm --algorithms PA-I,PAM-I-diag --C 0.001,0.1 --plot curves.png"
    assert main(line.split()) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 7 and len({len(line) for line in table[:-2]}) == 1
    assert Path("curves.png").read_bytes().startswith(b"\x89PNG")


def test_wrong_values_of_c_are_wrong_usage(capsys):
    line = ["compare", "data.svm", "--algorithms", "PA-I", "--C"]
    for wrong in ("0.1,much", "auto"):
        assert main([*line, wrong]) == 2
    assert main([*line, "0.1,-1"]) == 1
    assert "--C -1.0 is not valid" in capsys.readouterr().err


def test_standard_input_is_read():
    words = ["compare", "-", "--algorithms", "PA-I,AROW", "--quiet", "--json"]
    done = aggro(*words, "piped.json", stdin=Path("data.svm").read_text())
    assert done.returncode == 0, done.stderr
    assert main(["compare", "data.svm", *words[2:], "file.json"]) == 0
    assert Path("piped.json").read_text() == Path("file.json").read_text()


def test_tables_are_read(tmp_path):
    write_csv(tmp_path / "mail.csv")
    rows = compare("mail.csv --label kind --text body --algorithms PA-I,AROW --test mail.csv")
    assert all(row["test"] > 0.9 for row in rows.values())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--algorithms PA-I,PAR-I", "cannot be compared"),
        ("--algorithms KPA-I", "the command line does not have"),
        ("--algorithms AROW --C 0.1", "There is nothing to sweep"),
        ("--algorithms PAR-I --task classification", "PAR-I is for regression"),
    ],
)
def test_variants_that_cannot_be_compared_are_errors(line, words, capsys):
    assert main(["compare", "data.svm", *line.split()]) == 1
    assert words in capsys.readouterr().err


# -- one error for one setting -------------------------------------------------------------------


def trained(line):
    assert main(f"train {line} -o m.aggro --json t.json --quiet --fast".split()) == 0
    return json.loads(Path("t.json").read_text())["progress"][-1]["so_far"]


@pytest.mark.parametrize("data", ["data.svm", "numbers.svm"])
@pytest.mark.parametrize("average", [False, True, 100])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
def test_train_compare_sweep_and_estimator_report_the_same_error(data, average, metric):
    name = "PAR-I" if data == "numbers.svm" else "SPA-I"
    options = f"--metric {metric}" + {False: "", True: " --average"}.get(average, " --average 100")
    alone = trained(f"{data} --algorithm {name} --C 0.1 {options}")
    rows = compare(f"{data} --algorithms {name} --C 0.01,0.1,1 {options}")
    assert rows[f"{name} C=0.1"]["so_far"] == pytest.approx(alone, rel=1e-9)
    axes = {"average": average, "metric": metric}
    for values in (0.1, [0.01, 0.1, 1.0]):
        result = sweep(data, algorithm=name, C=values, **axes)
        (row,) = (row for row in result.rows if row.params["C"] == 0.1)
        assert row.error == pytest.approx(alone, rel=1e-9)
    assert predicted_first(data, name, axes) == pytest.approx(alone, rel=1e-9)


def predicted_first(data, name, axes):
    """Return the error of an estimator that predicts each example before it learns it."""
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


def test_rows_of_weight_zero_change_nothing():
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


def shown_order(results, capsys, measured="mistakes"):
    show(Console(), results, measured)
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:-1]]


def row(name, so_far, test=None):
    rest = {"constant": 0.5, "updates": 1}
    return {"algorithm": name, "so_far": so_far, "test": test, **rest}


def test_the_table_is_sorted_by_error_and_ties_keep_their_order(capsys):
    rows = [row("c", 0.2), row("b", 0.1), row("a", 0.2), row("d", 0.1)]
    for measured in ("mistakes", "absolute error", "squared error"):
        assert shown_order(rows, capsys, measured) == ["b", "d", "c", "a"]


def test_the_table_is_sorted_by_test_error_if_there_is_one(capsys):
    rows = [row("c", 0.1, 0.7), row("b", 0.2, 0.9), row("a", 0.3, 0.9), row("d", 0.0, 0.1)]
    assert shown_order(rows, capsys) == ["b", "a", "c", "d"]  # accuracy
    assert shown_order(rows, capsys, "absolute error") == ["d", "c", "b", "a"]  # RMSE
    show(Console(), rows, "mistakes")
    assert "10.00%" in capsys.readouterr().out.splitlines()[1]


def test_repeated_variants_are_compared_once():
    assert len(compare("data.svm --algorithms PA-I,pa-i,PA-I --C 0.1,0.10,1")) == 2
