"""Errors name the example that needs too much memory; aggro demo runs the demonstration."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro.demo
from aggro.cli import main
from aggro.cli.reading import with_example_number

FILES = SimpleNamespace(files=["data.svm"])


def test_the_example_that_needs_too_much_memory_is_named():
    X = csr_matrix(np.array([[1.0, 0, 0], [0, 2, 3], [0, 1, 0]]))
    needs = "a model of 3 features needs 9 GiB"
    with (
        pytest.raises(MemoryError, match=r"^data.svm, example 12: feature 2: a model"),
        with_example_number(FILES, 10, X),
    ):
        raise MemoryError(needs)
    for rows, words in ((X.toarray(), needs), (X, "no room")):  # no single example is the cause
        with pytest.raises(MemoryError, match=f"^{words}$"), with_example_number(FILES, 10, rows):
            raise MemoryError(words)


def test_demo_runs_the_demonstration(monkeypatch):
    seen = []
    monkeypatch.setattr(aggro.demo, "main", lambda: seen.append("shown"))
    assert main(["demo"]) == 0
    assert seen == ["shown"]
