"""Reading on the command line: NumPy alone, stable columns, translated errors."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import aggro, write_csv, write_jsonl, write_svmlight, write_vw
from closeness import assert_close

from aggro.cli import main
from aggro.cli.model import load_model
from aggro.cli.reading import FeatureNames, Reading

pytestmark = pytest.mark.usefixtures("inside")


def run(line):
    return main(line.split())


# -- NumPy alone -----------------------------------------------------------------------------

ALONE = """
import sys
BLOCKED = ("scipy", "sklearn", "pyarrow", "rich", "pandas", "matplotlib", "safetensors")
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ImportError(f"{name} is blocked")
sys.meta_path.insert(0, Block())
from aggro.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("kind", ["svm", "vw", "csv", "jsonl"])
def test_commands_need_only_numpy(inside, kind):
    write = {"svm": write_svmlight, "vw": write_vw, "csv": write_csv, "jsonl": write_jsonl}[kind]
    write(inside / f"data.{kind}")
    label = "--label kind --text body" if kind in ("csv", "jsonl") else ""
    for line in (
        f"train data.{kind} -o m.aggro --passes 2 --cache --test data.{kind} --skip 5 {label}",
        f"train data.{kind} --resume m.aggro -o m.aggro",
        f"predict m.aggro data.{kind} --proba",
        f"evaluate m.aggro data.{kind}",
        f"compare data.{kind} --algorithms PA-I,AROW {label}",
        f"convert data.{kind} out.svm {label}",
        "info m.aggro",
    ):
        command = [sys.executable, "-c", ALONE, *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr


# -- the same columns ------------------------------------------------------------------------


def scores(model, data):
    run(f"predict {model} {data} --scores -o scores.tsv")
    lines = Path("scores.tsv").read_text().splitlines()[1:]
    return np.array([line.split("\t")[1:] for line in lines], dtype=float)


@pytest.mark.parametrize("learned", ["csv", "jsonl"])
def test_a_model_of_one_format_reads_another(inside, learned):
    write_csv(inside / "data.csv")
    write_jsonl(inside / "data.jsonl")
    assert run(f"train data.{learned} --label kind --text body -o m.aggro --quiet") == 0
    expected = scores("m.aggro", f"data.{learned}")
    assert len(expected) == 400
    for other in ("data.csv", "data.jsonl"):
        assert_close(scores("m.aggro", other), expected, rtol=1e-5)
        assert run(f"evaluate m.aggro {other} --json e.json") == 0
        assert json.loads(Path("e.json").read_text())["accuracy"] > 0.95
        assert run(f"train {other} --resume m.aggro -o n.aggro --quiet") == 0
    one, two = (load_model(name)[1] for name in ("m.aggro", "n.aggro"))
    assert one.columns == two.columns


@pytest.mark.parametrize("learned", ["csv", "jsonl"])
def test_labels_in_new_data_are_no_features(learned):
    """With two hashed columns, a label taken for a feature would change every score."""
    rows = [{"a": i % 7, "y": "pq"[i % 2], "w": 1 + i % 3} for i in range(60)]
    plain = [{"a": row["a"]} for row in rows]
    for name, table in (("data", rows), ("plain", plain)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
        lines = [",".join(table[0]), *(",".join(map(str, row.values())) for row in table)]
        Path(f"{name}.csv").write_text("\n".join(lines) + "\n")
    line = f"train data.{learned} --label y --weight w --hash-bits 1 -o m.aggro --quiet"
    assert run(line) == 0
    expected = scores("m.aggro", f"plain.{learned}")
    for kind in ("csv", "jsonl"):
        for name in ("data", "plain"):
            assert_close(scores("m.aggro", f"{name}.{kind}"), expected, rtol=1e-5)


def test_both_formats_learn_the_same(inside):
    write_csv(inside / "data.csv")
    write_jsonl(inside / "data.jsonl")
    for kind in ("csv", "jsonl"):
        assert run(f"train data.{kind} --label kind --text body -o {kind}.aggro --quiet") == 0
    assert_close(scores("csv.aggro", "data.csv"), scores("jsonl.aggro", "data.jsonl"), rtol=1e-5)


def test_digits_in_later_data_stay_names(inside):
    Path("train.csv").write_text("zip,y\n" + "A1,x\n07,y\n33,x\n" * 20)
    Path("new.csv").write_text("zip,y\n07,y\n33,x\n")
    assert run("train train.csv --label y -o m.aggro --quiet") == 0
    assert run("predict m.aggro new.csv -o p.txt") == 0
    assert Path("p.txt").read_text() == "y\nx\n"


def test_data_of_other_columns_are_rejected(inside, capsys):
    write_svmlight(inside / "data.svm", classes=2)
    write_vw(inside / "data.vw")
    write_csv(inside / "data.csv")
    write_jsonl(inside / "data.jsonl")
    kinds = {"svm": "numbered columns of svmlight", "vw": "hashed columns", "csv": "a table"}
    for kind, words in kinds.items():
        label = "--label kind --text body" if kind == "csv" else ""
        assert run(f"train data.{kind} -o {kind}.aggro --quiet {label}") == 0
        for other in ("svm", "vw", "csv", "jsonl"):
            if other == kind or (kind, other) == ("csv", "jsonl"):
                continue
            for line in (
                f"predict {kind}.aggro data.{other}",
                f"evaluate {kind}.aggro data.{other}",
                f"train data.{other} --resume {kind}.aggro -o no.aggro",
                f"train data.{kind} data.{other} -o no.aggro {label}",
            ):
                assert run(line) == 1
                error = capsys.readouterr().err
                assert f"data.{other}: is " in error
                assert words in error
    assert not Path("no.aggro").exists()


def test_info_names_the_right_columns(inside, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{'ab'[i % 2]},{rng.normal():.3f},k{i % 3},{i % 2 * 5}" for i in range(200)]
    Path("t.csv").write_text("\n".join(["y,noise,name,signal", *rows]) + "\n")
    assert run("train t.csv --label y -o m.aggro --fast --quiet --columns name,noise,signal") == 0
    assert run("info m.aggro --top 4") == 0
    assert re.search(r"  b: .*signal \+", capsys.readouterr().out)
    reading = load_model("m.aggro")[1]
    assert [FeatureNames(reading, 2 + 2**18)[j] for j in range(3)] == ["noise", "signal", "#2"]
    older = Reading(label="y", made_by="table", columns=("name", "noise", "signal"))
    assert FeatureNames(older, 2 + 2**18)[1] == "#1"
    assert FeatureNames(older, 3)[1] == "noise"
    assert FeatureNames(Reading(made_by="svmlight", zero_based=False), 9)[1] == "2"
    assert FeatureNames(Reading(made_by="svmlight", zero_based=True), 9)[1] == "1"
    assert FeatureNames(Reading(made_by="vw"), 9)[1] == "#1"


# -- its own words ---------------------------------------------------------------------------

MESSAGES = {
    "train gaps.csv --label y -o m": r"gaps\.csv, line 3: column 'a' is missing.* --missing-zero",
    "train gaps.jsonl --label y -o m": r"gaps\.jsonl, line 2: 'a' is missing.*--missing-zero",
    "train mixed.svm -o m": r"mixed\.svm, line 30, column 1: 'spam' .* need --labels text",
    "train base.svm -o m": r"base\.svm, line 900000, .* --zero-based if they start",
    "train large.svm -o m --float32": r"large\.svm, line 1, column 3: .* or no --float32",
    "train wide.svm -o m": r"wide\.svm, line 3, .* at most [\d,]+; .* --skip-bad",
    "train when.parquet --label y -o m": r"when\.parquet: column 'when' .* others in --columns",
    "train data.svm.aggrocache -o m": r"is a cache of other files; .* as --cache",
    "train quote.csv --label y -o m": r"quote\.csv, line 3: .* never closed",
    "train broken.svm.gz -o m": r"broken\.svm\.gz: cannot be read",
    "train empty.csv --label y -o m": r"empty\.csv: is empty",
}


@pytest.mark.parametrize("line", MESSAGES)
def test_errors_of_the_readers_in_the_words_of_the_command_line(line, capsys):
    Path("gaps.csv").write_text("y,a\n1,2\n0,\n")
    Path("gaps.jsonl").write_text('{"y": 1, "a": 2}\n{"y": 0, "a": null}\n')
    Path("mixed.svm").write_text("1 1:1\n" * 29 + "spam 1:1\n")
    Path("large.svm").write_text("1 1:1e39\n")
    Path("wide.svm").write_text("0 1:1\n1 1:1\n2 576460752303423491:1\n")
    Path("quote.csv").write_text('y,a\n1,b\n0,"c\n1,d\n')
    Path("data.svm.aggrocache").write_text("AGGROCACHE")
    Path("broken.svm.gz").write_bytes(b"\x1f\x8bno")
    Path("empty.csv").touch()
    if "base" in line:
        Path("base.svm").write_text("1 1:1\n" * 899_999 + "1 0:1\n")
    if "parquet" in line:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {"when": pa.array([1], pa.duration("s")), "y": [1]}
        parquet.write_table(pa.table(columns), "when.parquet")
    assert run(line) == 1
    error = capsys.readouterr().err
    assert re.search(MESSAGES[line], error), error
    assert not re.search(r"\w=\w|[{}]", error)  # neither Python's keywords nor open places
    assert not Path("m").exists()


def test_a_command_names_only_options_that_it_has(capsys):
    Path("t.csv").write_text("y,a\n" + "1,2\n0,3\n" * 20)
    Path("gaps.csv").write_text("y,a\n1,2\n0,\n")
    assert run("train t.csv --label y -o m.aggro --quiet") == 0
    assert run("predict m.aggro gaps.csv -o p.txt") == 1
    error = capsys.readouterr().err
    assert "gaps.csv, line 3: column 'a' is missing; expected a finite float64\n" in error


def test_the_options_that_errors_name_do_what_they_say(capsys):
    Path("gaps.csv").write_text("y,a\n" + "1,2\n0,\n" * 10)
    assert run("train gaps.csv --label y --missing-zero -o m --quiet") == 0
    Path("mixed.svm").write_text("1 1:1\n" * 29 + "spam 1:1\n")
    assert run("train mixed.svm --labels text -o m --quiet") == 0
    assert load_model("m")[0].classes.tolist() == ["1", "spam"]
    assert load_model("m")[1].labels == "text"
    Path("base.svm").write_text("1 1:1\n0 2:1\n" * 10)
    assert run("train base.svm --zero-based -o m --quiet") == 0
    assert load_model("m")[1].zero_based is True
    assert load_model("m")[0].features == 3


def test_ignored_initial_predictions_are_reported():
    Path("a.vw").write_text("1 1 0.5 |a b\n-1 |a c\n" * 10)
    done = aggro("train", "a.vw", "-o", "m")
    assert done.returncode == 0
    assert "10 initial predictions were ignored" in done.stderr
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("name", ["bad.parquet", "bad.arrow", "bad.arrows", "bad.csv.zst"])
@pytest.mark.parametrize("line", ["train {} -o m", "train {} --label y -o m", "convert {} x.svm"])
def test_a_damaged_file_is_named(name, line, capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("zstandard")
    Path(name).write_bytes(bytes(range(1, 200)))
    assert run(line.format(name)) == 1
    assert f"error: {name}: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("index", [2**31, 2**31 + 1, 2**55])
def test_an_index_beyond_what_a_model_holds_is_located_and_can_be_skipped(index, capsys):
    Path("a.svm").write_text("1 1:1\n0 2:1\n" * 20 + f"1 1:1 {index}:1\n")
    assert run("train a.svm -o m --fast --quiet") == 1
    assert re.search(
        rf"a\.svm, line 41, column 7: '{index}:1' .* --skip-bad", capsys.readouterr().err
    )
    assert run("train a.svm -o m --fast --skip-bad") == 0
    shown = capsys.readouterr().err
    assert "skipped 1 bad lines, the first: a.svm, line 41" in shown and "--skip-bad" not in shown


# -- resuming --------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["", "--cache"])
@pytest.mark.parametrize("skip", [0, 1, 37, 399, 400])
def test_skipping_leaves_out_rows_and_their_weights(inside, cache, skip):
    rng = np.random.default_rng(0)
    bodies = [line.split(" ", 1) for line in write_vw(inside / "plain.vw").read_text().splitlines()]
    lines = [f"{label} {rng.integers(1, 9)} {rest}\n" for label, rest in bodies]
    Path("all.vw").write_text("".join(lines))
    Path("first.vw").write_text("".join(lines[:skip]))
    Path("rest.vw").write_text("".join(lines[skip:]))
    line = f"train all.vw -o skipped.aggro --skip {skip} --C 0.01 --quiet {cache}"
    if skip == 400:
        assert run(line) == 1
        return
    for _ in range(2):  # the second time from the cache
        assert run(line) == 0
    assert run("train rest.vw -o rest.aggro --C 0.01 --quiet") == 0
    one, two = (load_model(name)[0] for name in ("skipped.aggro", "rest.aggro"))
    assert one.learner.examples == 400 - skip
    for name, array in two.learner.state().items():
        np.testing.assert_array_equal(one.learner.state()[name], array)
    if skip > 1:  # both classes are known by then
        assert run("train first.vw -o m.aggro --C 0.01 --quiet") == 0
        assert run(f"train all.vw --resume m.aggro -o m.aggro --skip {skip} --quiet") == 0
        assert run("train all.vw -o whole.aggro --C 0.01 --quiet") == 0
        one, two = (load_model(name)[0] for name in ("m.aggro", "whole.aggro"))
        for name, array in two.learner.state().items():
            np.testing.assert_array_equal(one.learner.state()[name], array)
