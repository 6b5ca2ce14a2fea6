"""The demo: its stream, table and plot."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from aggro import demo
from aggro.variants import from_name


def test_stream_contains_all_digits_with_noise():
    X, y = demo.digits(copies=3)
    clean, labels = load_digits(return_X_y=True)
    assert X.shape == (3 * 1797, 64) and len(demo.digits()[1]) == 8 * 1797
    assert np.bincount(y).tolist() == (3 * np.bincount(labels)).tolist()
    assert X.mean() == pytest.approx(clean.mean() / 16, abs=0.01)
    assert X.std() == pytest.approx(np.hypot((clean / 16).std(), 0.25), abs=0.01)
    again, other = demo.digits(copies=3), demo.digits(copies=3, seed=1)
    assert np.array_equal(again[0], X) and not np.array_equal(other[0], X)
    assert not np.array_equal(y[:1797], labels)  # in another order


@pytest.mark.parametrize(
    ("count", "points"),
    [(100, [100]), (128, [128]), (129, [128, 129]), (1000, [128, 256, 512, 1000]),
     (1024, [128, 256, 512, 1024])],
)  # fmt: skip
def test_checkpoints_double(count, points):
    assert demo.checkpoints(count) == points


def test_every_example_is_learned_once_and_counted():
    X, y = demo.digits(copies=1)
    model = from_name("PA-I", C=0.1)
    history = demo.watch(model, X[:700], y[:700])
    assert [seen for seen, _, _ in history] == [128, 256, 512, 700]
    whole = from_name("PA-I", C=0.1)
    for (seen, mistakes, updates), start in zip(history, [0, 128, 256, 512], strict=True):
        whole.partial_fit(X[start:seen], y[start:seen], classes=np.arange(10))
        assert (mistakes, updates) == (whole.n_mistakes_, whole.n_updates_)
    assert model.t_ == 701


def test_table_lists_every_checkpoint():
    text = demo.table("PA-I", [(128, 64, 100), (256, 80, 150)])
    _, name, head, first, second = text.split("\n")
    assert name == "PA-I" and head.split() == [
        "examples",
        "error",
        "so",
        "far",
        "since",
        "last",
        "updates",
    ]
    assert first.split() == ["128", "50.0%", "50.0%", "100"]
    assert second.split() == ["256", "31.2%", "12.5%", "150"]


def test_plot_is_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    kept = []
    close = demo.close_figure
    monkeypatch.setattr(demo, "close_figure", lambda *args: kept.append(close(*args)))
    history = [(128, 64, 100), (256, 64, 150)]
    demo.draw(dict.fromkeys(demo.NAMES, history), tmp_path / "new" / "curve.png")
    assert (tmp_path / "new" / "curve.png").read_bytes().startswith(b"\x89PNG")
    (figure,) = kept
    (axes,) = figure.axes
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[50.0, 25.0]] * 5
    assert axes.get_lines()[0].get_label() == "Perceptron  25.0 %"
    assert axes.get_ylim()[0] == 0 and axes.get_xscale() == "log"


def test_main_prints_its_progress(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    X, y = demo.digits(copies=1)
    monkeypatch.setattr(demo, "digits", lambda: (X[:300], y[:300]))
    monkeypatch.chdir(tmp_path)
    demo.main()
    output = capsys.readouterr().out
    assert output.startswith("300 noisy handwritten digits") and str(demo.PICTURE) in output
    assert all(f"\n{name}\n" in output for name in demo.NAMES)
    assert demo.PICTURE.exists()
