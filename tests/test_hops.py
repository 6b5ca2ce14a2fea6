"""The way from a call to the compiled core is the one that docs/design.md lists, and no longer."""

import re
import traceback
from pathlib import Path

import numpy as np
import pytest

import aggro
from aggro.cli import main
from aggro.learn.learner import Learner

ROOT = Path(__file__).parent.parent
PACKAGE = str(ROOT / "src" / "aggro")
X = np.random.default_rng(0).standard_normal((50, 3))
Y = (X[:, 0] > 0).astype(int)


def fit(folder):
    aggro.PassiveAggressiveClassifier(max_iter=2, tol=None).fit(X, Y)


def train(folder):
    path = folder / "rows.svm"
    lines = (
        f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x))
        for x, y in zip(X, Y, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    assert main(["train", str(path), "--fast", "--quiet", "-o", str(folder / "m.aggro")]) == 0


@pytest.mark.parametrize(
    ("call", "start", "most"), [(fit, "A dense `fit`", 12), (train, "A line of svmlight", 15)]
)
def test_the_way_is_the_one_that_the_page_lists(call, start, most, tmp_path, monkeypatch):
    ways, real = [], Learner.learn

    def learn(self, *args, **lesson):
        stack = [each.name for each in traceback.extract_stack() if PACKAGE in each.filename]
        ways.append([name.replace("guarded", "all_or_nothing") for name in stack])
        return real(self, *args, **lesson)

    monkeypatch.setattr(Learner, "learn", learn)
    call(tmp_path)
    page = (ROOT / "docs" / "design.md").read_text()
    said = page[page.index(start) :].partition("\n\n")[0]
    hops, listed = int(re.search(r"(\d+) hops", said)[1]), said.partition("hops:")[2]
    names = [name.split(".")[-1] for name in re.findall(r"`([^`]+)`", listed)]
    assert len(names) == hops <= most
    rest = iter(names)
    assert all(name in rest for name in ways[0]), (ways[0], names)
