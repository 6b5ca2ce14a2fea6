"""Files of every format that was ever released load for ever."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from aggro.models import load

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from make_golden import data, learn, scores  # noqa: E402


def test_there_are_golden_files():
    assert list(GOLDEN.glob("format-1-*.aggro"))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.aggro")), ids=lambda path: path.stem)
def test_golden_files_load_and_say_what_they_said(path):
    X, y = data(path.stem)
    model = load(path)
    said = json.loads(path.with_suffix(".json").read_text())
    for now, then in zip(scores(model, X), said, strict=True):
        assert now == pytest.approx(then, rel=1e-12, abs=1e-12)
    learn(model, X, y)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*-class*.aggro")), ids=lambda path: path.stem)
def test_a_class_that_was_only_counted_is_learned_from_now_on(path):
    X, y = data(path.stem)
    model = load(path)
    examples = getattr(model, "examples", None) or getattr(model, "t_", 1) - 1
    assert examples == (0 if "no-class" in path.stem else 40)
    learn(model, X[X[:, 0] > 0], y[X[:, 0] > 0])
    learn(model, X[X[:, 0] < 0], np.full((X[:, 0] < 0).sum(), "ant"))
    classes = getattr(model, "classes_", None)
    assert list(model.classes if classes is None else classes) == ["ant", "bee"]
    told = scores(model, X)
    if hasattr(model, "predict_one"):
        told = [each["bee"] - 0.5 for each in told]
    assert ((np.array(told) > 0) == (X[:, 0] > 0)).mean() > 0.7
