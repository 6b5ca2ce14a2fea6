"""Files of every format that was ever released load for ever."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from aggro.persistence import load
from aggro.persistence.record import FORMAT

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from make_golden import data, learn, scores  # noqa: E402


def test_there_are_golden_files():
    for number in range(1, FORMAT + 1):
        assert list(GOLDEN.glob(f"format-{number}-*.aggro"))


@pytest.mark.parametrize("name", ["binary", "arow", "stream", "auto"])
def test_the_constant_feature_was_one_at_first(name):
    for number, value in ((1, 1.0), (2, "auto")):
        model = load(GOLDEN / f"format-{number}-{name}.aggro")
        found = getattr(model, "intercept_scaling", None) or model._keywords["intercept_scaling"]
        assert found == value


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.aggro")), ids=lambda path: path.stem)
def test_golden_files_load_and_say_what_they_said(path):
    X, y = data(path.stem)
    model = load(path)
    said = json.loads(path.with_suffix(".json").read_text())
    close = 1e-5 if "text" in path.stem else 1e-12  # texts are learned in single precision
    for now, then in zip(scores(model, X), said, strict=True):
        assert now == pytest.approx(then, rel=close, abs=close)
    learn(model, X, y)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*-class*.aggro")), ids=lambda path: path.stem)
def test_a_class_that_was_only_counted_is_learned_from_now_on(path):
    X, y = data(path.stem.split("-", 2)[2])
    model = load(path)
    examples = getattr(model, "examples", None) or getattr(model, "t_", 1) - 1
    assert examples == (0 if "no-class" in path.stem else 40)
    learn(model, X, y)
    kinds = np.where(X[:, 0] > 0, "bee", "ant")
    for _ in range(5):
        learn(model, X, kinds)
    rows = [dict(zip("abcd", x, strict=True)) for x in X.tolist()]
    stream = hasattr(model, "predict_one")
    told = list(map(model.predict_one, rows)) if stream else model.predict(X)
    assert (np.array(told) == kinds).mean() > 0.8
    assert list(model.classes_) == ["ant", "bee"]
