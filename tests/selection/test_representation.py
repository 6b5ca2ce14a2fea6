"""Model selection over several representations of the rows."""

import numpy as np
import pytest

from aggro.learner import rows_of
from aggro.selection.representation import NEVER
from aggro.selection.selection import ModelSelection
from aggro.settings import Settings

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1500, 3)) * [1.0, 5.0, 0.2]
Y = ((X / [1.0, 5.0, 0.2]) ** 2 @ [1.0, -1.0, 0.5] > 0.3).astype(np.int64)


class Table:
    """Rows in a format that only the representation can encode."""

    def __init__(self, X):
        self.X, self.count = X, len(X)


class Squares:
    """Two representations: columns divided by their largest value so far, and also squared."""

    descriptions = ({"degree": 1}, {"degree": 2})

    def __init__(self):
        self.largest, self.learned = np.zeros(3), 0

    def encode(self, rows, order, needed, widths, *, learn, threads=1):
        block = rows.X if order is None else rows.X[order]
        largest = np.maximum.accumulate(np.vstack([self.largest, abs(block)]))[1:]
        if learn:
            self.largest, self.learned = largest[-1].copy(), self.learned + len(block)
        else:
            largest = self.largest
        scaled = block / np.where(largest > 0, largest, 1.0)
        found = (scaled, np.hstack([scaled, scaled**2]))
        return [rows_of(np.ascontiguousarray(found[number])) for number in needed]

    def reference(self, number, reference_row, width):
        return reference_row

    def block_size(self):
        return NEVER

    def checkpoint(self):
        return None

    def begin(self):
        self.before = (self.largest, self.learned)

    def commit(self):
        self.before = None

    def prune(self, examples):
        self.examples = examples

    def rollback(self):
        self.largest, self.learned = self.before

    def only(self, number):
        raise NotImplementedError


def selection():
    settings = Settings("binary", C="auto", metric="auto", average="auto")
    return ModelSelection(settings, 3, 2, representations=Squares())


def learned(cuts=(), weights=None):
    model = selection()
    for start, end in zip([0, *cuts], [*cuts, len(X)], strict=True):
        some = None if weights is None else weights[start:end]
        model.learn(Table(X[start:end]), labels=Y[start:end], weights=some)
    return model


def same(one, two):
    assert one.candidates() == two.candidates() and one.mistakes == two.mistakes
    np.testing.assert_array_equal(one.scores(Table(X)), two.scores(Table(X)))
    np.testing.assert_array_equal(one.representations.largest, two.representations.largest)


def test_the_best_representation_predicts_and_is_reported():
    model = learned()
    best = next(row for row in model.candidates() if row["chosen"])
    assert best["degree"] == model.report().best["degree"] == 2 and model.representation == 1
    assert ((model.scores(Table(X)).ravel() > 0) == Y).mean() > 0.85
    assert {row["degree"] for row in model.report().rows} == {1, 2}


@pytest.mark.parametrize("cuts", [[1], [700, 701], [256, 512, 1024]])
def test_several_representations_are_chunk_invariant(cuts):
    same(learned(cuts), learned())


def test_representations_learn_rows_of_positive_weight_once():
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    model = learned(weights=weights)
    assert model.representations.learned == model.examples == int(weights.sum())
    model.scores(Table(100 * X))
    assert model.representations.learned == model.examples
    model.learn(Table(X), labels=Y, again=True)
    assert model.representations.learned == int(weights.sum())


def test_a_bad_row_rolls_back_its_block_in_all_representations():
    model, other = learned(), learned()
    bad = X[:40].copy()
    bad[30, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.learn(Table(bad), labels=Y[:40])
    assert model.examples == len(X)
    same(model, other)
