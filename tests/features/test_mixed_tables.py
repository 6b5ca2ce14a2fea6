"""Tables of numbers and hashed categories: feature maps take the numbers alone."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from aggro import AutoClassifier, AutoRegressor, _core, load, save
from aggro.learner import rows_of
from aggro.reference import FeatureMap as Reference

NUMBERS, HASHED = 2, 400  # more columns than are mapped by default


def mixed(rows=1500, seed=0):
    """Return curved classes of two numbers, shifted by one of four categories."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (rows, NUMBERS)) * [1, 100]
    category = random.integers(0, 4, rows)
    y = (X[:, 0] * X[:, 1] / 100 + np.array([0, 0.3, -0.3, 0.1])[category] > 0).astype(int)
    hashed = sp.csr_matrix((np.ones(rows), (np.arange(rows), 97 * category)), (rows, HASHED))
    return sp.hstack([sp.csr_matrix(X), hashed]).tocsr(), y


def learn(model, X, y, size=None, **options):
    model._mapped_columns = NUMBERS
    for start in range(0, X.shape[0], size or X.shape[0]):
        some = slice(start, start + (size or X.shape[0]))
        model.partial_fit(X[some], y[some], **options)
    return model


def learned(size=None, features="auto", **options):
    model = AutoClassifier(features=features, random_state=0, **options)
    return learn(model, *mixed(), size, classes=[0, 1])


def scores(model):
    return model.decision_function(mixed(200, seed=1)[0])


@pytest.mark.parametrize("sizes", [(6, 0), (0, 3), (6, 3)])
def test_other_columns_follow_the_features_with_length_one(sizes):
    X, _ = mixed(40)
    counts = sp.csr_matrix(np.full((40, 1), 3.0))
    X = sp.hstack([X, counts]).tocsr()
    core, reference = _core.FeatureMap([sizes], 7), Reference(*sizes, 7)
    for each in (core, reference):
        each.grow(NUMBERS)
    ((*arrays, width),) = core.map(rows_of(X), [0], learn=True, append=True)
    mapped = sp.csr_matrix(tuple(arrays), (40, width)).toarray()
    for row, found in zip(X.toarray(), mapped, strict=True):
        reference.learn(row[:NUMBERS])
        rest = row[NUMBERS:] / np.linalg.norm(row[NUMBERS:])
        assert_allclose(found, [*reference.map(row[:NUMBERS]), *rest], atol=1e-6)


def test_rows_without_other_columns_have_the_features_alone():
    core = _core.FeatureMap([(4, 2)], 0)
    core.grow(NUMBERS)
    row = sp.csr_matrix(([1.0, 0.0], [0, 7], [0, 2]), (1, 9))
    ((data, _, _, width),) = core.map(rows_of(row), [0], append=True)
    assert data[-1] == 0 and width == core.features(0) + 9 - NUMBERS


def test_curved_boundaries_are_learned_beside_categories():
    X, y = mixed(4000)
    errors = {}
    for features in ("auto", "linear"):
        model = learn(AutoClassifier(features=features, random_state=0), X, y)
        errors[features] = model.n_mistakes_
    assert errors["auto"] < errors["linear"] / 2


@pytest.mark.parametrize("size", [1, 7, 333])
def test_partial_fit_is_chunk_invariant(size):
    assert_array_equal(scores(learned(size)), scores(learned()))


@pytest.mark.parametrize("features", ["auto", "both"])
def test_copies_and_files_continue_identically(features, tmp_path):
    X, y = mixed(900, seed=2)
    model = learned(features=features)
    save(model, tmp_path / "model.aggro")
    for other in (load(tmp_path / "model.aggro"), copy.deepcopy(model)):
        assert_array_equal(scores(other), scores(model))
        assert_array_equal(
            scores(other.partial_fit(X, y)), scores(copy.deepcopy(model).partial_fit(X, y))
        )


def test_keep_best_keeps_predictions_and_the_mapped_columns(tmp_path):
    model, X = learned(features="both"), mixed(5)[0]
    before = scores(model)
    save(model.keep_best(), tmp_path / "model.aggro")
    assert_allclose(scores(load(tmp_path / "model.aggro")), before, rtol=1e-9)
    parts = model.explain(X[:1])[1]
    assert_allclose(parts.total, model.decision_function(X[:1])[0])


def test_a_failed_call_changes_nothing():
    model, (X, y) = learned(), mixed(50, seed=3)
    before, X.data[-1] = scores(model), np.inf
    with pytest.raises(ValueError, match=r"row 49: feature \d+ is infinite"):
        model.partial_fit(X, y)
    assert_array_equal(scores(model), before)


def test_new_columns_are_not_mapped():
    X, y = mixed()
    model = AutoRegressor(features="both", random_state=0)
    model._mapped_columns = NUMBERS
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], X.shape[1] + 50))
    model._learn_batch(model._begin_batch(X, y.astype(float), None), None)
    model._learn_batch(model._begin_batch(wide, y.astype(float), None), None)
    maps = model._learner.representations
    assert (maps.core.columns, maps.columns) == (NUMBERS, NUMBERS + HASHED + 50)
    assert model.n_features_in_ == NUMBERS + HASHED + 50


def test_an_explanation_names_the_category_and_the_numbers():
    why = learned(features="both").explain(mixed(3)[0][:1])[1]
    assert {name for name, _ in why.words} >= {"x0", "x1"} and len(why.words) == 3
