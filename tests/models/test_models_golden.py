"""Files of every format that was ever released load for ever."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from aggro.models import load

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from make_golden import data, scores  # noqa: E402


def test_there_are_golden_files():
    assert list(GOLDEN.glob("format-1-*.aggro"))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.aggro")), ids=lambda path: path.stem)
def test_golden_files_load_and_say_what_they_said(path):
    X, y = data(path.stem)
    model = load(path)
    said = json.loads(path.with_suffix(".json").read_text())
    np.testing.assert_allclose(scores(model, X), said, rtol=1e-12, atol=1e-12)
    assert model.t_ == len(y) + 1
    model.partial_fit(X, y)
