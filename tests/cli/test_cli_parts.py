"""Parts of the command line: estimated sizes, the progress bar, baselines, curves, errors."""

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli_helpers import run, write_numbers
from scipy.sparse import csr_matrix

import aggro.demo
import aggro.plot
from aggro.cli import main
from aggro.cli.describe import row_of_text
from aggro.cli.output import Console
from aggro.cli.progress import Constant
from aggro.cli.reading import guess_rows, with_example_number

FILES = SimpleNamespace(files=["data.svm"])
pytestmark = pytest.mark.usefixtures("inside")


def test_the_number_of_rows_is_estimated_from_file_sizes(inside):
    for name, count in (("short.svm", 90), ("long.svm", 40_000)):  # more than the sample
        Path(name).write_text("1 3:0.5 7:2\n" * count)
    Path("packed.svm.gz").write_bytes(gzip.compress(b"1 3:0.5 7:2\n" * 90))
    assert guess_rows(["short.svm"], None) == 90
    assert guess_rows(["short.svm", "long.svm"], None) == pytest.approx(40_090, abs=2)
    for unknown in ("packed.svm.gz", "-"):
        assert guess_rows(["short.svm", unknown], "svmlight") is None


def test_the_bar_shows_no_speed_before_the_first_examples(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Console(total=100) as console:
        (task,) = console._bar.tasks
        assert task.fields["rate"] == 0 and task.completed == 0


def test_the_constant_of_a_regression_is_the_mean_so_far():
    constant = Constant("absolute error")
    constant.add(np.array([3.0, 1.0]))  # predicted as 0
    assert constant.error() == 2.0
    constant.add(np.array([2.0, 6.0]))  # predicted as 2
    assert constant.error() == (4.0 + 4.0) / 4


@pytest.mark.parametrize(
    ("measured", "scale"), [("mistakes", 100.0), ("absolute error", 1.0), ("squared error", 1.0)]
)
def test_curves_go_through_the_errors(measured, scale, monkeypatch):
    figures = []
    monkeypatch.setattr(aggro.plot, "close_figure", lambda figure, path: figures.append(figure))
    aggro.plot.draw_curves({"PA-I": [(128, 0.5), (256, 0.3)]}, 0.7, measured, "curves.png")
    curve, constant = figures[0].axes[0].get_lines()
    assert curve.get_xydata().tolist() == [[128, 0.5 * scale], [256, 0.3 * scale]]
    assert list(constant.get_ydata()) == [0.7 * scale] * 2
    assert curve.get_label() == "PA-I"


def test_a_text_to_explain_is_put_into_the_first_text_column():
    columns = {"price": "number", "title": "text", "shop": "category", "body": "text"}
    row = {"price": 0.0, "title": "cheap", "shop": None, "body": ""}
    assert row_of_text("cheap", columns) == row


def test_merge_does_not_replace_its_inputs(inside, capsys):
    write_numbers(inside / "data.svm", n=50)
    for name in ("a", "b"):
        run(f"train data.svm --mergeable -o {name}.aggro --quiet")
    kept = Path("a.aggro").read_bytes()
    run("merge a.aggro b.aggro -o a.aggro", 1)
    assert "a.aggro is an input, and --output would replace it" in capsys.readouterr().err
    assert Path("a.aggro").read_bytes() == kept


def test_the_example_that_needs_too_much_memory_is_named():
    X = csr_matrix(np.array([[1.0, 0, 0], [0, 2, 3], [0, 1, 0]]))
    needs = "a model of 3 features needs 9 GiB"
    with (
        pytest.raises(MemoryError, match=r"^data.svm, example 12: feature 2: a model"),
        with_example_number(FILES, 10, X),
    ):
        raise MemoryError(needs)
    for rows, words in (
        (X.toarray(), needs),
        (X, "allocation failed"),
    ):  # no single example is the cause
        with pytest.raises(MemoryError, match=f"^{words}$"), with_example_number(FILES, 10, rows):
            raise MemoryError(words)


def test_demo_runs_the_demonstration(monkeypatch):
    seen = []
    monkeypatch.setattr(aggro.demo, "main", lambda: seen.append("shown"))
    assert main(["demo"]) == 0
    assert seen == ["shown"]
