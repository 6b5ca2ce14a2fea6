"""Invalid rows: the error names the value and the remedy; the model is unchanged."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from linear_support import fingerprint, make_problem, stored
from sklearn.exceptions import ConvergenceWarning

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(37)
X, y = make_problem("multiclass", 3, rng, 40, 5)
NUMBERS = X @ np.arange(5.0)


def put(value, row=7, column=2):
    bad = X.copy()
    bad[row, column] = value
    return bad


def by_hand(indices, features=5):
    """Return 40 CSR rows with these indices, which scipy would not create."""
    rows = sp.csr_matrix((40, features))
    rows.data = np.ones(40 * len(indices))
    rows.indices = np.tile(np.array(indices, dtype=np.int32), 40)
    rows.indptr = np.arange(0, 40 * len(indices) + 1, len(indices), dtype=np.int32)
    return rows


ROWS = {
    "nan": (put(np.nan), "row 7.*feature 2.*NaN"),
    "inf": (put(np.inf), "row 7.*feature 2.*inf"),
    "minus inf": (put(-np.inf), "row 7.*feature 2.*inf"),
    "nan in csr": (stored(put(np.nan), "csr32"), "row 7.*NaN"),
    "inf in csr": (stored(put(np.inf), "csr64"), "row 7.*inf"),
    "nan in float32": (put(np.nan).astype(np.float32), "row 7.*NaN"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "one dimension": (X[0], "1D|2D"),
    "three dimensions": (X[None], "dim 3"),
    "complex": (X.astype(complex), "[Cc]omplex"),
    "text": (X.astype(str).astype(object) + "x", "could not convert"),
    "fewer features": (X[:, :4], "4 features.*5"),
    "more features": (np.hstack([X, X]), "10 features.*5"),
    "index too large": (by_hand([0, 5]), "index|indices"),
    "index negative": (by_hand([-1, 2]), "index|indices"),
}


def models():
    """Return fitted models: plain, with all kinds of state, and in single precision."""
    yield PassiveAggressiveClassifier().partial_fit(X, y)
    yield PassiveAggressiveClassifier(
        metric="full", class_mean=0.1, average=True, queue=2, batch_size=4
    ).partial_fit(X, y)
    yield PassiveAggressiveClassifier(
        metric="diagonal", multiclass="ovr", average="reservoir"
    ).partial_fit(X.astype(np.float32), y)
    yield PassiveAggressiveRegressor(metric="diagonal").partial_fit(X, NUMBERS)


def targets_of(model):
    return y if hasattr(model, "classes_") else NUMBERS


@pytest.mark.parametrize("name", ROWS)
def test_invalid_rows_are_rejected_and_change_nothing(name):
    rows, words = ROWS[name]
    for model in models():
        before = fingerprint(model)
        found = words if model.batch_size == 1 else words.replace("row 7", "row")
        with pytest.raises((ValueError, TypeError), match=found):
            model.partial_fit(rows, targets_of(model)[: np.shape(rows)[0]])
        with pytest.raises((ValueError, TypeError), match=words):
            model.predict(rows)
        assert fingerprint(model) == before
    if "features" in name:
        return
    fresh = PassiveAggressiveClassifier()
    for learn in (fresh.fit, fresh.partial_fit):
        with pytest.raises((ValueError, TypeError), match=words):
            learn(rows, y[: np.shape(rows)[0]])
        assert not hasattr(fresh, "coef_")
        assert fingerprint(fresh) == sorted(fresh.get_params())


def test_row_in_a_batch_is_named():
    with pytest.raises(ValueError, match="row 7: feature 2 is NaN"):
        PassiveAggressiveClassifier(batch_size=4).partial_fit(put(np.nan), y)


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("features", [5, 5000])
def test_bad_row_of_a_large_batch_is_named(storage, features):
    """This holds for more rows than weights, and for fewer."""
    large = np.zeros((300, features))
    large[:, :5] = rng.standard_normal((300, 5))
    labels = rng.integers(0, 2, 300)
    model = PassiveAggressiveClassifier().partial_fit(large[:50], labels[:50], classes=[0, 1])
    before = fingerprint(model)
    for value in (np.nan, np.inf):
        large[200, 3] = value
        with pytest.raises(ValueError, match="row 200"):
            model.partial_fit(stored(large, storage), labels)
        assert fingerprint(model) == before


def test_unsorted_and_repeated_indices_are_summed():
    """Separate entries would give a wrong norm."""
    csr = sp.csr_matrix((6, 4))
    csr.data = rng.standard_normal(18)
    csr.indices = np.tile(np.array([3, 0, 3], dtype=np.int32), 6)
    csr.indptr = np.arange(0, 19, 3, dtype=np.int32)
    dense = np.zeros((6, 4))
    dense[:, 0], dense[:, 3] = csr.data[1::3], csr.data[0::3] + csr.data[2::3]
    labels = np.array([0, 1, 1, 0, 1, 0])
    for axes in ({"loss": "hard"}, {"metric": "diagonal"}, {"batch_size": 3}, {"class_mean": 0.1}):
        odd = PassiveAggressiveClassifier(**axes).partial_fit(csr, labels)
        plain = PassiveAggressiveClassifier(**axes).partial_fit(dense, labels)
        np.testing.assert_allclose(odd.coef_, plain.coef_, atol=1e-12)
        np.testing.assert_allclose(
            odd.decision_function(csr), plain.decision_function(dense), atol=1e-12
        )
    assert csr.nnz == 18  # the caller's matrix is unchanged


def test_failed_fit_leaves_the_old_model():
    model = PassiveAggressiveClassifier(warm_start=True, max_iter=2, tol=None).fit(X, y)
    before = fingerprint(model)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(put(np.nan), y)
    assert fingerprint(model) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ValueError, match="coef_init"):
            model.fit(X, y, coef_init=np.zeros(3))
    assert fingerprint(model) == before
