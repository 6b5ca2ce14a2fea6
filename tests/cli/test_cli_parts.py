"""Small parts of the command line by themselves: clocks, guesses, signals, curves."""

import gzip
import itertools
import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli_helpers import run, write_numbers, write_svmlight

from aggro.cli import compare, plots
from aggro.cli.console import Console
from aggro.cli.explain import row_of_text
from aggro.cli.interrupt import Interrupt
from aggro.cli.reading import guess_rows
from aggro.cli.watch import Constant, Line

pytestmark = pytest.mark.usefixtures("inside")


def test_rows_are_guessed_by_the_size_of_their_files(inside):
    """Exactly where all lines are as long as the first ones, however many files there are."""
    for name, count in (("short.svm", 90), ("long.svm", 40_000)):  # more than is looked at
        Path(name).write_text("1 3:0.5 7:2\n" * count)
    Path("packed.svm.gz").write_bytes(gzip.compress(b"1 3:0.5 7:2\n" * 90))
    assert guess_rows(["short.svm"], None) == 90
    assert guess_rows(["short.svm", "long.svm"], None) == pytest.approx(40_090, abs=2)
    for unknown in ("packed.svm.gz", "-"):
        assert guess_rows(["short.svm", unknown], "svmlight") is None


def test_the_bar_knows_no_speed_before_the_first_examples(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console(total=100) as console:
        (task,) = console._bar.tasks
        assert task.fields["rate"] == 0 and task.completed == 0


def test_one_interrupt_is_a_wish_two_are_an_order_and_then_all_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_who_learns_side_by_side_shares_the_time(inside, monkeypatch):
    write_svmlight(inside / "data.svm", n=50)
    ticks = itertools.count()
    monkeypatch.setattr(compare.time, "perf_counter", lambda: float(next(ticks)))
    run("compare data.svm --algorithms PA-I,AROW --C 0.1,1,2,5 --json r.json --quiet")
    rows = json.loads(Path("r.json").read_text())
    assert sorted(row["seconds"] for row in rows) == [0.25] * 4 + [1.0]  # one batch, one tick


def test_a_constant_that_has_seen_nothing_says_zero():
    constant = Constant(SimpleNamespace(regression=True))
    constant.judge(np.array([3.0, 1.0]))
    assert constant.loss() == 2.0
    constant.judge(np.array([2.0, 6.0]))  # the mean so far is 2
    assert constant.loss() == (4.0 + 4.0) / 4


@pytest.mark.parametrize(("regression", "scale"), [(False, 100.0), (True, 1.0)])
def test_curves_go_through_the_errors(regression, scale, monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "close_figure", lambda figure, path: figures.append(figure))
    lines = [Line(128, 0.5, 0.5, 0.6, 9), Line(256, 0.1, 0.3, 0.7, 12)]
    plots.draw_curves({"PA-I": lines}, regression, "curves.png")
    curve, constant = figures[0].axes[0].get_lines()
    assert curve.get_xydata().tolist() == [[128, 0.5 * scale], [256, 0.3 * scale]]
    assert list(constant.get_ydata()) == [0.7 * scale] * 2
    assert curve.get_label() == "PA-I"


def test_a_text_to_explain_stands_in_the_first_column_of_text():
    columns = {"price": "number", "title": "text", "shop": "category", "body": "text"}
    row = {"price": 0.0, "title": "cheap", "shop": None, "body": ""}
    assert row_of_text("cheap", columns) == row


def test_a_merge_replaces_none_of_its_own_files(inside, capsys):
    write_numbers(inside / "data.svm", n=50)
    for name in ("a", "b"):
        run(f"train data.svm --mergeable -o {name}.aggro --quiet")
    kept = Path("a.aggro").read_bytes()
    run("merge a.aggro b.aggro -o a.aggro", 1)
    assert "a.aggro is what is read, and --output would replace it" in capsys.readouterr().err
    assert Path("a.aggro").read_bytes() == kept
