"""Held-out rows end fit by accuracy or R², and are not learned."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from estimator_support import CLASSES, LABELS, ROWS, VALUES, targets_for
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.estimators.held_out import Determination, classifier_rule, hold_out
from aggro.estimators.passes import Passes
from aggro.training_batch import TrainingBatch

# -- R² ---------------------------------------------------------------------------------------


def test_determination_is_r2():
    rng = np.random.default_rng(5)
    truth, scores = rng.standard_normal((2, 30, 1)) * 1e3
    assert Determination(truth, truth)(scores) == pytest.approx(r2_score(truth, scores))
    assert Determination(truth, truth)(truth) == 1.0
    assert Determination(truth, truth)(truth + 1) < 1.0  # larger is better
    both = rng.standard_normal((30, 2))
    weighted = r2_score(both, both * 0.5, multioutput="variance_weighted")
    assert Determination(both, both)(both * 0.5) == pytest.approx(weighted)


def test_determination_is_weighted():
    rng = np.random.default_rng(5)
    truth, scores = rng.standard_normal((2, 30, 1))
    weights = rng.integers(0, 3, 30).astype(float)
    quality = Determination(truth, truth, weights)
    assert quality(scores) == pytest.approx(r2_score(truth, scores, sample_weight=weights))
    there = weights > 0
    alike = np.where(there[:, None], 0.1, truth)  # constant for rows of positive weight
    assert Determination(alike, alike, weights)(alike) == 1.0
    largest = np.abs(alike).max()
    assert Determination(alike, alike, weights).unit == pytest.approx(alike.var() / largest**2)
    zero = Determination(truth, truth, np.zeros(30))
    assert zero(scores) == pytest.approx(r2_score(truth, scores))


@pytest.mark.parametrize("value", [0.1, 1e-30, -3e200, 5e-324, 7.0])
def test_determination_without_variance(value):
    """The unit is the variance of all targets, or their square."""
    truth = np.full((10, 1), value)
    quality = Determination(truth, truth)
    assert quality(truth) == 1.0
    assert quality(0 * truth) == pytest.approx(0.0)
    wide = np.vstack([truth, -truth])
    assert Determination(truth, wide)(0 * truth) == pytest.approx(0.0)
    zeros = Determination(np.zeros((5, 1)), np.zeros((9, 1)))
    assert zeros(np.zeros((5, 1))) == 1.0
    assert zeros(np.ones((5, 1))) == 0.0


@pytest.mark.parametrize("value", [0.0, 0.1, 5.0, -1e6])
@pytest.mark.parametrize("cls", [PassiveAggressiveRegressor, aggro.AROWRegressor])
def test_constant_target_ends_fit_early(value, cls):
    """R² is undefined, and more passes bring no improvement."""
    model = cls(early_stopping=True, random_state=0, epsilon=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(ROWS, np.full(len(ROWS), value))
    assert model.n_iter_ < 100


def test_few_equal_held_out_rows_are_evaluated():
    y = np.where(np.arange(120) % 30 == 0, 1.0, 0.0)
    model = PassiveAggressiveRegressor(
        early_stopping=True, validation_fraction=0.02, random_state=3
    ).fit(ROWS, y)
    assert model.n_iter_ < 100


# -- held-out rows ----------------------------------------------------------------------------


def held_out_of(model, y):
    """Return the rows that were held out of the passes of a fitted model."""
    several = y.ndim == 2 or isinstance(model, PassiveAggressiveRegressor)
    classes = None if several else np.unique(y, return_inverse=True)[1]
    return hold_out(120, model.validation_fraction, model.random_state, classes)


@pytest.mark.parametrize("kind", ["classes", "labels", "values"])
def test_held_out_rows_end_fit_and_are_not_learned(kind):
    """n_iter_ follows the quality after each pass: accuracy of all labels, or R²; weighted."""
    weights = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    cls = PassiveAggressiveRegressor if kind == "values" else PassiveAggressiveClassifier
    y = {"classes": CLASSES, "labels": LABELS, "values": VALUES}[kind]
    axes = {"validation_fraction": 0.25, "random_state": 2, "C": 0.01, "shuffle": False}
    model = cls(early_stopping=True, n_iter_no_change=2, tol=0.01, **axes)
    model.fit(ROWS, y, sample_weight=weights)
    held_out = held_out_of(model, y)
    assert np.array_equal(held_out, np.unique(held_out))
    rest, best, idle = np.setdiff1d(np.arange(120), held_out), -np.inf, 0
    for passes in range(1, model.n_iter_ + 1):
        by_hand = cls(max_iter=passes, tol=None, shuffle=False, C=0.01)
        by_hand.fit(ROWS[rest], y[rest], sample_weight=weights[rest])
        quality = by_hand.score(ROWS[held_out], y[held_out], weights[held_out])
        idle = idle + 1 if quality < best + 0.01 else 0
        best = max(best, quality)
        assert (idle == 2) == (passes == model.n_iter_)
    assert np.array_equal(by_hand.coef_, model.coef_)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
@pytest.mark.parametrize("sparse", [False, True])
def test_bad_held_out_row_has_its_number_in_X(cls, sparse):
    y = targets_for(cls)
    model = cls(early_stopping=True, random_state=2)
    held_out = held_out_of(model.fit(ROWS, y), y)
    for row in (int(held_out[-1]), int(np.setdiff1d(np.arange(120), held_out)[-1])):
        bad = ROWS.copy()
        bad[row, 2] = np.nan
        if sparse:
            import scipy.sparse as sp

            bad = sp.csr_matrix(bad)
        with pytest.raises(ValueError, match=rf"row {row}: feature 2 is NaN"):
            model.fit(bad, y)


@pytest.mark.parametrize("kind", ["two", "classes", "labels"])
def test_ties_of_held_out_rows_count_as_predicted(kind):
    """They are evaluated as predicted: the first class, or no label."""
    y = {"two": (CLASSES > 0).astype(int), "classes": CLASSES, "labels": LABELS}[kind]
    model = PassiveAggressiveClassifier(early_stopping=True, random_state=0).fit(ROWS, y)
    batch, labels = TrainingBatch(ROWS, {}), None if kind == "labels" else model.classes_
    rule = classifier_rule(model, Passes.of(model), None, batch, y, labels, None)
    outputs = 1 if kind == "two" else y.max() + 1 if kind == "classes" else 2
    even = SimpleNamespace(scores=lambda _: np.zeros((len(rule.held_out), outputs)))
    right = y[rule.held_out] == 0
    assert rule.quality(even) == (right.all(axis=1) if kind == "labels" else right).mean()
