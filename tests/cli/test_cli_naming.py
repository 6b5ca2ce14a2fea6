"""Which example needs too much memory, and the command that shows a demonstration."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro.demo
from aggro.cli import demo
from aggro.cli.begin import naming_examples

FILES = SimpleNamespace(files=["data.svm"])


def test_the_example_that_needs_too_many_weights_is_named():
    X = csr_matrix(np.array([[1.0, 0, 0], [0, 2, 3], [0, 1, 0]]))
    needs = "a model of 3 features needs 9 GiB"
    with (
        pytest.raises(MemoryError, match=r"^data.svm, example 12: feature 2: a model"),
        naming_examples(FILES, 10, X),
    ):
        raise MemoryError(needs)
    for rows, words in ((X.toarray(), needs), (X, "no room")):  # no one example is to blame
        with pytest.raises(MemoryError, match=f"^{words}$"), naming_examples(FILES, 10, rows):
            raise MemoryError(words)


def test_demo_is_the_demonstration(monkeypatch):
    seen = []
    monkeypatch.setattr(aggro.demo, "main", lambda: seen.append("shown"))
    assert demo.run(demo.parser().parse_args([])) == 0
    assert seen == ["shown"]
