"""plot_candidates shows the values of candidates_."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import aggro
from aggro.plot import open_figure
from aggro.selection.search_space import CLASSIFICATION_PAIRS

plt = pytest.importorskip("matplotlib.pyplot")


def shown(figure):
    """Return the lines of the figure by name, and the marked point."""
    *lines, marked = figure.axes[0].get_lines()
    return {line.get_label(): np.column_stack(line.get_data()) for line in lines}, marked


def check(figure, candidates, what, factor):
    lines, marked = shown(figure)
    points = np.vstack(list(lines.values()))
    expected = np.array([[candidate["C"], factor * candidate[what]] for candidate in candidates])
    assert points.tolist() == expected.tolist()
    (best,) = (candidate for candidate in candidates if candidate["chosen"])
    assert np.ravel(marked.get_data()).tolist() == [best["C"], factor * best[what]]
    assert figure.axes[0].get_xlabel() == "C" and figure.axes[0].get_xscale() == "log"
    return lines


def test_plot_has_a_line_for_each_learner(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = aggro.PassiveAggressiveClassifier(C="auto", metric="auto", scale="auto", average="auto")
    model.partial_fit(X[:200], y[:200])
    figure = model.plot_candidates(tmp_path / "candidates.png")
    lines = check(figure, model.candidates_, "recent_error", 100)
    assert "metric=newton, scale=online" in lines and len(lines) == len(CLASSIFICATION_PAIRS)
    assert (tmp_path / "candidates.png").read_bytes().startswith(b"\x89PNG")


def test_regression_plots_absolute_errors(tmp_path):
    model = aggro.PassiveAggressiveRegressor(C="auto", average="auto")
    model.partial_fit(*load_diabetes(return_X_y=True))
    figure = model.plot_candidates(tmp_path / "candidates.png")
    lines = check(figure, model.candidates_, "recent_loss", 1)
    assert len(lines) == 1
    assert "absolute error" in figure.axes[0].get_ylabel()


@pytest.mark.parametrize("kind", [aggro.StreamClassifier, aggro.StreamRegressor])
def test_streams_can_be_plotted(kind, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = kind(C="auto", scale="online")
    for row, answer in zip(X[:200].tolist(), y[:200].tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), answer)
    what, factor = ("recent_error", 100) if kind is aggro.StreamClassifier else ("recent_loss", 1)
    check(model.plot_candidates(tmp_path / "candidates.png"), model.candidates_, what, factor)


def test_plot_requires_a_selection_and_matplotlib(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(AttributeError, match="auto"):
        aggro.PassiveAggressiveClassifier().partial_fit(X, y).plot_candidates()
    with pytest.raises(AttributeError, match="auto"):
        aggro.StreamClassifier("PA-I").plot_candidates()
    model = aggro.PassiveAggressiveClassifier(C="auto").partial_fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        model.plot_candidates()
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        aggro.sweep(X, y, C=[0.1, 1.0]).plot()


@pytest.mark.parametrize("name", ["candidates.xyz", "nowhere/candidates.png", "folder.png"])
def test_unwritable_path_is_rejected_before_drawing(name, tmp_path):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises((ValueError, OSError), match=r"xyz|no folder|is a folder"):
        open_figure(tmp_path / name)
    figure, (axes,) = open_figure(tmp_path / "candidates.png")
    assert figure.axes == [axes] and not (tmp_path / "candidates.png").exists()
