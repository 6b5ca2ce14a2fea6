"""Files of every format that was ever released load for ever."""

import json
import sys
from pathlib import Path

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
