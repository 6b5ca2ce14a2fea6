"""A small experiment on generated data, in a separate package."""

import importlib
import sys
import textwrap

import pytest

LEARNING = """
import os
import numpy as np
import aggro

def run(cell):
    if cell["seed"] == FAIL:
        raise ValueError("this cell is meant to fail")
    if cell["seed"] == DIE:
        os._exit(7)
    random = np.random.default_rng(cell["seed"])
    y = random.random(200) < 0.5
    X = random.standard_normal((200, 3)) + cell["gap"] * np.where(y, 1, -1)[:, None]
    model, wrong = aggro.StreamClassifier("PA-I", C=0.1), 0
    for values, label in zip(X.tolist(), y.tolist()):
        row = dict(zip("abc", values))
        wrong += model.predict_one(row) != label
        model.learn_one(row, label)
    return {"error": np.float64(wrong / len(y)), "last": X[-1]}
"""
INIT = """
from studies.papers.claims import Claim, met
from studies.papers.experiment import Figure, Provenance
from studies.papers.style import canvas
from {name}.learning import run

TITLE, SOURCE, DATA = "A toy paper", "Nowhere.", {data}
NOTES = {{("Table 1", "small", "PA"): "The gap is smaller here."}}
PROVENANCE = Provenance("small, large", "lost", "the gap", "half the error")
ABOUT, MAIN, WORD = "How it was done.", "A larger gap", "seen"

def cells(quick):
    return [{{"gap": gap, "seed": s}} for gap in (0.5, 2.0) for s in range(2 if quick else 4)]

def needs(cell):
    return DATA if cell["gap"] == 2.0 else ()

def reproduced(results, entry):
    if entry.row == "lost":
        return None
    return results.where(gap=0.5 if entry.row == "small" else 2.0).values("error")

def figures(results):
    def draw(path):
        with canvas(path) as (figure, axes):
            axes[0, 0].plot(results.where(gap=0.5).values("error"))
    return [Figure("errors", "Errors", "They go up and down.", draw)]

def claims(results):
    small, large = (results.where(gap=g).values("error").mean() for g in (0.5, 2.0))
    return [Claim("A larger gap helps", "Table 1", met(large < small, small > 0), WORD)]

def plain(results, entry):
    values = reproduced(results, entry)
    return None if values is None else values / 2
"""
PUBLISHED = """table\trow\tcolumn\tmeasure\tvalue\tspread\tbetter
Table 1\tsmall\tPA\terror\t0.0010\t\tlower
Table 1\tlarge\tPA\terror\t0.5000\t\tlower
Table 1\tlost\tPA\terror\t0.1000\t0.02\tlower
Table 2\tsmall\tPA\ttime\t1.50\t\t-
"""


class Toy:
    """Writes the package and imports it again after each change."""

    def __init__(self, folder, name):
        self.folder, self.name = folder / name, name
        self.folder.mkdir()
        (self.folder / "published.tsv").write_text(PUBLISHED)
        self.write()

    def write(self, *, fail=-1, die=-1, data=(), extra="", word="seen"):
        constants = f"FAIL, DIE = {fail}, {die}\n{extra}\n"
        (self.folder / "learning.py").write_text(constants + textwrap.dedent(LEARNING))
        init = INIT.format(name=self.name, data=repr(tuple(data))).replace("seen", word)
        (self.folder / "__init__.py").write_text(init)
        return self

    @property
    def module(self):
        for name in [n for n in sys.modules if n.partition(".")[0] == self.name]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module(self.name)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"toy_{tmp_path.name.replace('-', '_')}"
    yield Toy(tmp_path, name)
    for loaded in [n for n in sys.modules if n.partition(".")[0] == name]:
        del sys.modules[loaded]
