"""The demo: its stream, table and picture."""

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


def test_table_lists_every_point_of_the_curve():
    _, name, head, first, second = demo.table("PA-I", [(128, 0.5), (256, 0.3125)]).split("\n")
    assert name == "PA-I"
    assert head.split() == ["examples", "error", "so", "far", "since", "last"]
    assert first.split() == ["128", "50.0%", "50.0%"]
    assert second.split() == ["256", "31.2%", "12.5%"]


def test_main_prints_the_errors_of_each_variant(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    X, y = demo.digits(copies=1)
    monkeypatch.setattr(demo, "digits", lambda: (X[:300], y[:300]))
    monkeypatch.chdir(tmp_path)
    demo.main()
    output = capsys.readouterr().out
    assert output.startswith("300 noisy handwritten digits") and str(demo.PICTURE) in output
    assert all(f"\n{name}\n" in output for name in demo.NAMES)
    assert demo.PICTURE.read_bytes().startswith(b"\x89PNG")
    model = from_name("PA-I", C=0.1).partial_fit(X[:300], y[:300])
    shown = output.split("\nPA-I\n")[1].split("\n\n")[0].split("\n")[-1]
    assert shown.split()[:2] == ["300", f"{model.n_mistakes_ / 300:.1%}"]
