"""Tables on the command line: bad cells, leaks, useless columns, names of categories."""

import dataclasses
import json
import random

import numpy as np
import pytest
from cli_helpers import run

import aggro
from aggro.cli import main
from aggro.cli.reading import Reading
from aggro.io import read

TRAIN = "train data.csv --label churn -o m.aggro"


def write_customers(path, n=2000, seed=0, gap=0.08):
    """Customers with a running number, a date, categories and numbers with gaps."""
    rng = random.Random(seed)
    with path.open("w") as stream:
        stream.write("id,since,city,plan,age,calls,churn\n")
        for number in range(1, n + 1):
            city, plan = rng.choice(["Oslo", "Rome", "Paris"]), rng.choice(["basic", "plus"])
            age, calls = rng.gauss(45, 15), rng.randrange(6)
            score = 0.7 * (calls - 2.5) - 0.02 * (age - 45) + 1.5 * (city == "Oslo") - 1.4
            churn = "yes" if rng.random() < 1 / (1 + np.exp(-2 * score)) else "no"
            cells = ["" if rng.random() < gap else each for each in (f"{age:.1f}", calls)]
            day = np.datetime64("2019-01-01") + rng.randrange(1800)
            stream.write(",".join(map(str, [number, day, city, plan, *cells, churn])) + "\n")
    return path


def accuracy(path):
    return json.loads(path.read_text())["test"]["accuracy"]


@pytest.fixture
def customers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_customers(tmp_path / "data.csv")


def test_the_error_of_a_malformed_cell_says_what_to_do(customers, capsys):
    text = customers.read_text().splitlines()
    cells = text[1000].split(",")
    text[1000] = ",".join([*cells[:4], "1_000", *cells[5:]])
    customers.write_text("\n".join(text) + "\n")
    run(f"{TRAIN} --missing-zero", code=1)
    shown = capsys.readouterr().err
    assert "data.csv, line 1001: column 'age' is '1_000'" in shown
    assert "--skip-bad" in shown
    assert "--categorical" in shown
    run(f"{TRAIN} --missing-zero --skip-bad --fast")
    run(f"{TRAIN} --missing-zero --categorical age --fast")
    run("predict m.aggro data.csv -o /dev/null")
    run("train data.csv --resume m.aggro -o m.aggro --categorical city", code=1)


@pytest.mark.parametrize("role", ["--columns churn,age", "--text churn", "--categorical churn"])
@pytest.mark.parametrize("command", ["train data.csv -o m.aggro", "convert data.csv m.svm"])
def test_the_label_among_the_features_is_an_error(customers, capsys, role, command):
    assert main(f"{command} --label churn --missing-zero {role}".split()) == 1
    assert "is the column of the label (--label churn)" in capsys.readouterr().err


@pytest.mark.parametrize("options", ["", "--fast", "--algorithm PA-I"])
def test_a_row_counter_does_not_affect_a_mixed_table(customers, tmp_path, capsys, options):
    write_customers(tmp_path / "test.csv", n=700, seed=1)
    run(f"{TRAIN} --missing-zero --test test.csv --json report.json {options}")
    assert "column 'id' only rises or only falls" in capsys.readouterr().err
    answers = [line.rsplit(",", 1)[1] for line in (tmp_path / "test.csv").read_text().split()]
    constant = max(answers.count("yes"), answers.count("no")) / (len(answers) - 1)
    assert accuracy(tmp_path / "report.json") > constant - 0.03


def test_counters_are_kept_if_named_or_shuffled(customers, capsys):
    for options in ("--columns id,age,calls", "--shuffle"):
        run(f"{TRAIN} --missing-zero --fast {options}")
        assert "'id' only rises" not in capsys.readouterr().err


def test_a_model_worse_than_a_constant_on_test_data_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a = rng.standard_normal(400)
    for name, sign in (("data", 1), ("test", -1)):
        rows = [f"{'yes' if sign * v > -1 else 'no'},{v:.4f}" for v in a]
        (tmp_path / f"{name}.csv").write_text("\n".join(["churn,a", *rows]) + "\n")
        rows = [f"{sign * v + 0.5:.4f},{v:.4f}" for v in a]
        (tmp_path / f"{name}-n.csv").write_text("\n".join(["churn,a", *rows]) + "\n")
    run(f"{TRAIN} --test test.csv")
    assert "worse than always predicting the most frequent class" in capsys.readouterr().err
    run("evaluate m.aggro data.csv")
    assert "worse" not in capsys.readouterr().err
    run("train data-n.csv --label churn -o n.aggro --fast --test test-n.csv")
    assert "worse than always predicting the median" in capsys.readouterr().err
    run("evaluate n.aggro test-n.csv")
    assert "worse than always predicting the median" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("regression", [False, True])
def test_a_model_that_becomes_worse_than_a_constant_is_reported(
    tmp_path, monkeypatch, capsys, kind, regression
):
    """In training, and in training that is resumed, whatever the format."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, signal in (("good", 1.0), ("noise", 0.0)):
        a = rng.standard_normal((1500, 12))
        y = signal * a[:, 0] + 0.1 * rng.standard_normal(1500)
        rows = [
            {"y": v if regression else ("yes" if v > 0.07 else "no"), **dict(enumerate(row))}
            for row, v in zip(a.tolist(), y.tolist(), strict=True)
        ]
        write_rows(tmp_path / f"{name}.{kind}", [{str(k): v for k, v in r.items()} for r in rows])
    run(f"train good.{kind} --label y --fast -o m.aggro")
    assert "no better than always" not in capsys.readouterr().err
    run(f"train noise.{kind} --resume m.aggro -o m.aggro")
    assert "no better than always" in capsys.readouterr().err
    run(f"train noise.{kind} --label y --fast -o n.aggro --test noise.{kind}")
    assert "no better than always" in capsys.readouterr().err


def write_rows(path, rows):
    """Write dicts as a table in the format of the name."""
    if path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [",".join(map(str, row.values())) for row in rows]
        path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n")


def test_wide_hashed_tables_select_a_scale(tmp_path, monkeypatch, capsys):
    """With 2**18 hashed columns, a column of large numbers does not hide the others."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, b, city = rng.standard_normal(2000), rng.standard_normal(2000), rng.integers(5, size=2000)
    rows = [
        {"y": "yes" if u - v + (c == 0) > 0 else "no", "a": 1e6 * u, "b": 1e-3 * v, "city": f"c{c}"}
        for u, v, c in zip(a.tolist(), b.tolist(), city.tolist(), strict=True)
    ]
    write_rows(tmp_path / "t.csv", rows)
    run("train t.csv --label y --features linear -o m.aggro --json report.json")
    shown = capsys.readouterr().out
    assert "262,146 features" in shown
    assert "scale=online" in shown
    assert json.loads((tmp_path / "report.json").read_text())["progress"][-1]["so_far"] < 0.2


def test_models_of_non_linear_features_are_described(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 3)).tolist()
    rows = [{"y": "yes" if a * b > 0 else "no", "a": a, "b": b, "c": c} for a, b, c in X]
    write_rows(tmp_path / "t.csv", rows)
    run("train t.csv --label y --features fourier -o m.aggro --test t.csv --json report.json")
    assert accuracy(tmp_path / "report.json") > 0.9
    capsys.readouterr()
    run("info m.aggro")
    assert "features='fourier'" in capsys.readouterr().out
    run("explain m.aggro t.csv --row 4")
    shown = capsys.readouterr().out
    assert shown.startswith(rows[3]["y"])
    order = [line.split()[-1] for line in shown.splitlines()[2:]]
    assert order.index("c") == 2  # the column without influence
    run("train t.csv --resume m.aggro -o more.aggro")
    run("merge m.aggro more.aggro -o both.aggro", code=1)
    assert "non-linear features cannot be merged" in capsys.readouterr().err
    run("compare t.csv --label y --algorithms PA-I,PA-II --features bins", code=1)
    assert "sweep compares linear models" in capsys.readouterr().err


def test_numbers_beside_categories_are_mapped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    shift = {"Oslo": 0.0, "Rome": 0.3, "Bern": -0.3}
    columns = (*rng.uniform(-1, 1, (2, 4000)).tolist(), rng.choice(list(shift), 4000).tolist())
    rows = [
        {"y": "yes" if a * b + shift[city] > 0 else "no", "a": a, "city": city, "b": b}
        for a, b, city in zip(*columns, strict=True)
    ]
    write_rows(tmp_path / "t.csv", rows)
    run("train t.csv --label y -o m.aggro --test t.csv --json report.json")
    assert accuracy(tmp_path / "report.json") > 0.9
    assert "features=both" in capsys.readouterr().out
    run("explain m.aggro t.csv --row 4")
    shown = capsys.readouterr().out
    assert shown.startswith(rows[3]["y"])
    names = {line.split()[-1] for line in shown.splitlines()[2:]}
    assert names == {"a", "b", f"city={rows[3]['city']}"}
    run("train t.csv --resume m.aggro -o more.aggro --passes 2 --json report.json --test t.csv")
    assert accuracy(tmp_path / "report.json") > 0.95


def test_info_and_explain_name_categories(customers, tmp_path, capsys):
    run(f"{TRAIN} --missing-zero --fast --quiet")
    run("info m.aggro --top 10")
    shown = capsys.readouterr().out
    assert "city=Oslo" in shown
    assert "#" not in shown
    run("explain m.aggro data.csv --row 2 --top 20")
    shown = capsys.readouterr().out
    row = dict(zip(*(line.split(",") for line in customers.read_text().splitlines()[:3:2]),
                   strict=True))  # fmt: skip
    assert f"city={row['city']}" in shown
    assert "contributions to" in shown
    run("explain m.aggro data.csv --row 9999", code=1)
    assert "there is no row 9999; it has 2,000" in capsys.readouterr().err
    run("explain m.aggro words", code=1)
    assert "was not trained with --text" in capsys.readouterr().err


def test_contributions_add_up_to_the_score(customers, tmp_path):
    from aggro.cli.describe import reasons_of, row_of_file
    from aggro.cli.model import load_model
    from aggro.cli.reading import FeatureNames

    run(f"{TRAIN} --missing-zero --quiet")
    model, reading = load_model("m.aggro")
    X = row_of_file(model, reading, "data.csv", 5)
    names = FeatureNames(reading, model.features, model.names)
    reasons, _ = reasons_of(model, X, names)
    assert reasons["yes"].total == pytest.approx(float(model.scores(X)[0, 0]), abs=1e-9)
    assert reasons["no"].total == -reasons["yes"].total


def test_explain_reads_rows_of_files_for_text_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'spam' if i % 2 else 'ham'},{'free money' if i % 2 else 'see you'},{i % 5},c{i % 3}"
            for i in range(200)]  # fmt: skip
    (tmp_path / "data.csv").write_text("\n".join(["kind,body,size,city", *rows]) + "\n")
    run("train data.csv --label kind --text body -o m.aggro --quiet")
    run("explain m.aggro data.csv --row 2")
    shown = capsys.readouterr().out
    assert shown.startswith("spam")
    assert "money" in shown


def test_category_names_are_kept_when_resuming_and_merging(customers, tmp_path):
    run(f"{TRAIN} --missing-zero --fast --mergeable")
    run("train data.csv --resume m.aggro -o more.aggro")
    run("merge m.aggro more.aggro -o both.aggro")
    for path in ("more.aggro", "both.aggro"):
        assert "city=Oslo" in aggro.load(path)._names


def test_the_number_of_stored_names_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("aggro.io.strings.MOST_NAMES", 10)
    rows = [f"{i % 2},c{i % 100}" for i in range(1000)]
    (tmp_path / "data.csv").write_text("\n".join(["y,c", *rows]) + "\n")
    reader = read(tmp_path / "data.csv", label="y")
    assert sum(batch.n_rows for batch in reader) == 1000
    assert len(reader.names) == 10


def test_the_reading_stores_categorical_columns():
    reading = Reading(categorical=("zip",))
    assert Reading.from_origin(dataclasses.asdict(reading)).categorical == ("zip",)
