"""Errors are one line and name the options of the command line, not Python's parameters."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write_csv, write_jsonl, write_numbers, write_svmlight, write_vw

import aggro
from aggro.cli import main
from aggro.cli.output import error_text, translated
from aggro.learner import Learner
from aggro.settings import INCOMPATIBLE

PYTHON = re.compile(
    r"='|=\"|=True|=False|=None|std::|Traceback|kwarg|\b_\w+ value|_price|partial_fit|\bdtype\b"
    r"|\w\(\)|\bNone\b|invalid (int|float|at_least|read|whole|number) value|Errno"
    r"|\b(batch_size|class_mean|hash_bits|skip_bad|fit_intercept|n_features|sample_weight)\b"
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder that all tests share: none of them may change it."""
    folder = tmp_path_factory.mktemp("messages")
    write_svmlight(folder / "data.svm", n=60)
    write_numbers(folder / "numbers.svm", n=60)
    write_csv(folder / "t.csv", n=30)
    write_jsonl(folder / "t.jsonl", n=30)
    write_vw(folder / "t.vw", n=30)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    cut = gzip.compress((folder / "data.svm").read_bytes())[:-20]
    (folder / "cut.svm.gz").write_bytes(cut)
    model = aggro.PassiveAggressiveClassifier().partial_fit(np.eye(2), ["a", "b"])
    aggro.save(model, folder / "text.aggro")
    for data, name in (("data.svm", "m.aggro"), ("numbers.svm", "r.aggro")):
        line = ["train", str(folder / data), "-o", str(folder / name), "--quiet", "--fast"]
        assert main(line) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(prepared, monkeypatch):
    monkeypatch.chdir(prepared)


FILES = {
    "empty.svm": "",
    "gap.csv": "a,b,y\n1,2,0\n,3,1\n",
    "text-gap.csv": "a,b,y\nx,2,0\n,3,1\n",
    "gap.jsonl": '{"a": 1, "y": 0}\n{"a": null, "y": 1}\n',
    "late.svm": "1 1:2\ncat 2:1\n",
    "bad.svm": "1 1:2\n1 oops\n",
    "bad-option.svm": "1 1:2\n1 C=3:1\n",
    "nan.svm": "1 1:nan\n",
    "wide.svm": "0 1:1\n1 99999999999:1\n",
    "list.csv": 'a,y\n"[1]",1\n',
}
# A command, and what its message says.
WRONG = {
    # values of options
    "train data.svm -o m --C much": "argument --C: 'much' is neither a number nor 'auto'",
    "train data.svm -o m --epsilon x": "argument --epsilon: 'x' is not a number",
    "train data.svm -o m --queue 1.5": "argument --queue: '1.5' is not a whole number",
    "train data.svm -o m --average x": "argument --average: 'x' is neither a number of examples",
    "train data.svm -o m --passes 0": "argument --passes: 0 must be at least 1",
    "train data.svm -o m --passes x": "argument --passes: 'x' is not a whole number",
    "train data.svm -o m --skip -1": "argument --skip",
    "train data.svm -o m --random-state -1": "argument --random-state",
    "train data.svm -o m --random-state 5000000000": "at most 4294967295",
    "train data.svm -o m --hash-bits x": "argument --hash-bits: 'x' is not a whole number",
    "train data.svm -o m --format xml": "invalid choice",
    "info m.aggro --top x": "argument --top: 'x' is not a whole number",
    "compare data.svm --algorithms PA-I --C ,": "argument --C: ',' contains no name",
    "compare data.svm --algorithms PA-I --C 1,x": "'x' is not a number",
    "compare data.svm --algorithms ,": "argument --algorithms: ',' contains no name",
    # settings
    "train data.svm -o m --C -1": "--C -1.0 is not valid; give a number greater than 0, or 'auto'",
    "train data.svm -o m --C nan": "--C nan is not valid",
    "train data.svm -o m --loss hinges": "--loss hinges is not valid",
    "train data.svm -o m --metric round": "--metric round is not valid",
    "train data.svm -o m --multiclass all": "--multiclass all is not valid",
    "train data.svm -o m --scale big": "--scale big is not valid",
    "train data.svm -o m --class-mean -1": "--class-mean -1.0 is not valid",
    "train data.svm -o m --class-mean inf": "--class-mean inf is not valid",
    "train data.svm -o m --trigger never": "--trigger never is not valid",
    "train data.svm -o m --queue 0": "--queue 0 is not valid",
    "train data.svm -o m --batch-size 0": "--batch-size 0 is not valid",
    "train data.svm -o m --forgetting 1": "--forgetting 1.0 is not valid",
    "train data.svm -o m --average -3": "--average -3 is not valid",
    "train data.svm -o m --algorithm AROW --r 0": "--r 0.0 is not valid",
    "train data.svm -o m --algorithm CW --eta 0.1": "--eta 0.1 is not valid",
    "train data.svm -o m --loss least_squares": "use --multiclass ovr",
    "train data.svm -o m --metric full --forgetting 0.1": "use --metric diagonal",
    "train numbers.svm -o m --loss hinge": "--loss hinge is not valid",
    "train numbers.svm -o m --class-mean 1": "has no --class-mean",
    "train data.svm -o m --algorithm PAZ": "aggro algorithms lists them all",
    "train data.svm -o m --algorithm KPA-I": "kernel",
    "compare data.svm --algorithms PA-I,XX": "no variant 'XX'",
    "train t.csv -o m --label kind --hash-bits 99": "--hash-bits 99 is not valid",
    "train data.svm -o m --hash-bits 0": "--hash-bits 0 is not valid",
    # files
    "train nowhere.svm -o m": "nowhere.svm: no such file",
    "train empty.svm -o m": "empty.svm: no examples to learn from",
    "train data.svm -o m --skip 1000": "data.svm: no examples to learn from after",
    "compare empty.svm --algorithms PA-I": "empty.svm: no examples to learn from",
    "train bad.svm -o m": "bad.svm, line 2",
    "train bad-option.svm -o m": "C=3",
    "train nan.svm -o m": "nan.svm, line 1",
    "train late.svm -o m": "late.svm, line 2",
    "train gap.csv --label y -o m": "gap.csv",
    "train text-gap.csv --label y -o m": "text-gap.csv",
    "train gap.jsonl --label y -o m": "gap.jsonl",
    "train cut.svm.gz -o m": "",
    "train t.csv -o m": "Give --label COLUMN",
    "train t.csv -o m --label none": "t.csv",
    "train t.jsonl -o m": "t.jsonl",
    "train t.jsonl -o m --label none": "t.jsonl",
    "train wide.svm -o m": "",
    "evaluate m.aggro empty.svm --json nowhere/x": "nowhere/x: there is no folder",
    "predict data.svm data.svm": "data.svm: not a model",
    "predict text.aggro": "the following arguments are required",
    "predict r.aggro numbers.svm --proba": "leave --proba out",
    "train numbers.svm -o m --task regression --probability": "--probability is for classes",
    "train data.svm --resume m.aggro -o m --probability": "was made without --probability",
    "info nowhere.aggro": "nowhere.aggro: no such file",
    # resuming
    "train data.svm --resume m.aggro -o m --metric full": "--metric is part of the model",
    "train data.svm --resume m.aggro -o m --no-intercept": "--no-intercept is part of the model",
    "train data.svm --resume m.aggro -o m --class-mean 1": "--class-mean is part of the model",
    "train data.svm --resume m.aggro -o m --C auto": "cannot change to auto",
    "train data.svm --resume m.aggro -o m --C -1": "--C -1.0 is not valid",
    "train data.svm --resume m.aggro -o m --r 2": "has no --r",
    "train data.svm --resume text.aggro -o m": "text.aggro",
    "train numbers.svm --resume data.svm -o m": "not a model",
}


@pytest.mark.parametrize("line", WRONG)
def test_messages_name_the_options_of_the_command_line(line, capsys):
    before = sorted(path.name for path in Path().iterdir())
    code = main(line.split())
    err = capsys.readouterr().err
    assert code in (1, 2)
    message = err.splitlines()[0]
    assert re.match(r"aggro( \w+)?: error: ", message)
    assert err.count("\n") == 1
    assert WRONG[line] in message
    assert not PYTHON.search(message), message
    assert len(message) > 30
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.parametrize("clash", INCOMPATIBLE, ids=lambda clash: " and ".join(clash.axes))
def test_incompatible_parameters_are_named_as_options(clash):
    assert not PYTHON.search(translated(clash.why)), translated(clash.why)
    assert "--" in translated(clash.why)


@pytest.mark.parametrize(
    ("python", "plain"),
    [
        ("give it a value, or pass missing='zero'", "give it a value, or pass --missing-zero"),
        ("leave out cache=", "leave out --cache"),
        ("use class_mean=0.", "use --class-mean 0."),
        ("C=-1e-05 is not valid", "--C -1e-05 is not valid"),
        ("use fit_intercept=False, batch_size=1", "use --no-intercept, --batch-size 1"),
        ("the label 'C=1' and \"loss='x'\"", "the label 'C=1' and \"loss='x'\""),
        ("a variant's C=1 isn't", "a variant's --C 1 isn't"),
        ("ABC=1, text of subtext=3", "ABC=1, text of subtext=3"),
    ],
)
def test_messages_translate_parameters_to_options(python, plain):
    assert translated(python) == plain


def test_unexpected_errors_name_their_type():
    for error in (KeyError("x"), AttributeError(), IndexError("list index out of range")):
        text = error_text(error)
        assert type(error).__name__ in text and "AGGRO_DEBUG=1" in text
    for error in (MemoryError(), MemoryError("std::bad_alloc")):
        assert "not enough memory" in error_text(error)
    assert error_text(OSError(2, "No such file or directory", "Here")) == (
        "Here: no such file or directory"
    )


def test_errors_name_the_example_in_the_data(inside, monkeypatch, capsys):
    """The core counts the rows of a batch; errors count those of the files, skipped ones too."""
    monkeypatch.setattr("aggro.learner.Learner.learn", _rejecting_row_41)
    assert main(["train", "data.svm", "-o", "m", "--quiet", "--fast"]) == 1
    assert "data.svm, example 42: it is rejected" in capsys.readouterr().err
    assert main(["train", "data.svm", "-o", "m", "--quiet", "--fast", "--skip", "10"]) == 1
    assert "data.svm, example 52: it is rejected" in capsys.readouterr().err
    assert main(["compare", "data.svm", "--algorithms", "PA-I,PA-II", "--quiet"]) == 1
    assert "data.svm, example 42: it is rejected" in capsys.readouterr().err


def _rejecting_row_41(self, rows, *, order, learn=Learner.learn, **parts):
    if 41 in order:
        raise ValueError("row 41: it is rejected")
    return learn(self, rows, order=order, **parts)
