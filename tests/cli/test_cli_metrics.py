"""Metrics equal scikit-learn's for any batches, and the progress table is correct."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write_numbers, write_svmlight
from closeness import assert_close
from sklearn import metrics

from aggro.cli import main
from aggro.cli.output import label_text
from aggro.cli.predict import ClassMetrics, RegressionMetrics
from aggro.cli.progress import FIRST
from aggro.cli.train import Interrupt
from aggro.io import load_svmlight
from aggro.persistence import load


class Fixed:
    """A model whose scores are given."""

    classes = np.array([0.0, 1.0, 2.0])

    @staticmethod
    def chosen(scores):
        return scores.argmax(axis=1)


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(500, 3))
    y = np.where(rng.random(500) < 0.6, scores.argmax(axis=1), rng.integers(0, 4, 500))
    return scores, y.astype(float)  # class 3 is never predicted


@pytest.mark.parametrize("cuts", [[], [1], [100, 101, 499]])
def test_class_metrics_equal_those_of_scikit_learn(scored, cuts):
    scores, y = scored
    figures = ClassMetrics()
    for rows in np.split(np.arange(500), cuts):
        figures.add(Fixed, scores[rows], y[rows])
    report, guess = figures.report(), scores.argmax(axis=1)
    assert report["examples"] == 500
    assert report["accuracy"] == metrics.accuracy_score(y, guess)
    each = metrics.f1_score(y, guess, average=None)
    assert list(report["f1"]) == ["0", "1", "2", "3"]
    assert_close(list(report["f1"].values()), each)
    assert report["macro_f1"] == pytest.approx(np.mean(each))
    table = np.zeros((4, 4), int)
    for true, predicted, count in report["confusion"]:
        table[int(true), int(predicted)] = count
    np.testing.assert_array_equal(table, metrics.confusion_matrix(y, guess))


@pytest.mark.parametrize("cuts", [[], [1], [100, 101, 499]])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_regression_metrics_equal_those_of_scikit_learn(scored, cuts, shift):
    scores, y = scored
    scores, y = scores[:, :1] + shift, y + shift
    figures = RegressionMetrics("absolute error")
    for rows in np.split(np.arange(500), cuts):
        figures.add(Fixed, scores[rows], y[rows])
    report = figures.report()
    assert report["examples"] == 500
    assert report["rmse"] == pytest.approx(metrics.mean_squared_error(y, scores) ** 0.5)
    assert report["mae"] == pytest.approx(metrics.mean_absolute_error(y, scores))
    assert report["r2"] == pytest.approx(metrics.r2_score(y, scores), abs=1e-6)


def test_r2_of_a_constant_target_is_zero():
    figures = RegressionMetrics("absolute error")
    figures.add(Fixed, np.ones((3, 1)), np.full(3, 2.0))
    assert figures.report()["r2"] == 0.0


def test_labels_are_printed_as_files_contain_them():
    assert [label_text(each) for each in (1.0, -2.0, 1.5, "1.0", np.float64(3), True)] == [
        "1", "-2", "1.5", "1.0", "3", "True",
    ]  # fmt: skip


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm", n=300)
    write_numbers(tmp_path / "numbers.svm", n=300)
    return tmp_path


def progress(data):
    """Return the progress table, and errors and updates of learning one by one."""
    assert main(f"train {data} -o m.aggro --json r.json --quiet --fast".split()) == 0
    lines = json.loads(Path("r.json").read_text())["progress"]
    X, y = load_svmlight(data)
    model = load("m.aggro")
    fresh = type(model)(**model.get_params())
    more = {} if data == "numbers.svm" else {"classes": np.unique(y)}
    wrong, updates = [abs(y[0]) if data == "numbers.svm" else float(y[0] != 0)], []
    for i in range(len(y)):
        fresh.partial_fit(X[i : i + 1], y[i : i + 1], **more)
        updates.append(fresh.n_updates_)
        if i + 1 < len(y):
            guess = fresh.predict(X[i + 1 : i + 2])[0]
            wrong.append(abs(guess - y[i + 1]) if data == "numbers.svm" else guess != y[i + 1])
    return lines, np.array(wrong, float), np.array(updates), y


@pytest.mark.parametrize("data", ["data.svm", "numbers.svm"])
def test_the_progress_table_equals_predictions_made_one_by_one(inside, data):
    lines, wrong, updates, y = progress(data)
    ends = [line["examples"] for line in lines]
    assert ends == [FIRST * 2**k for k in range(5)] + [300]
    start = 0
    for line, end in zip(lines, ends, strict=True):
        assert line["so_far"] == pytest.approx(wrong[:end].mean(), rel=1e-9)
        assert line["since_last"] == pytest.approx(wrong[start:end].mean(), rel=1e-9)
        assert line["updates"] == updates[end - 1]
        start = end
    if data == "data.svm":
        most = np.unique(y, return_counts=True)[1].max()
        assert lines[-1]["baseline"] == pytest.approx(1 - most / 300)
    else:  # against the mean of what came before, line by line
        pieces = np.split(y, ends[:-1])
        means = [0.0, *(np.mean(y[:end]) for end in ends[:-1])]
        off = [np.abs(piece - mean).sum() for piece, mean in zip(pieces, means, strict=True)]
        assert lines[-1]["baseline"] == pytest.approx(sum(off) / 300)


def test_the_first_interrupt_is_a_request_and_the_second_raises():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interrupt() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_bounds_of_options_are_valid_values(inside, seed, capsys):
    assert (
        main(f"train data.svm -o m.aggro --quiet --passes 1 --skip 0 --random-state {seed}".split())
        == 0
    )
    assert load("m.aggro").random_state == seed
    assert main(["info", "m.aggro", "--top", "0"]) == 0
    assert "strongest" not in capsys.readouterr().out
    assert main(["info", "m.aggro", "--top", "1"]) == 0
    assert "strongest" in capsys.readouterr().out
