"""Rows of every length around the SIMD widths: no entry is skipped."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.reference import ReferenceLearner

LENGTHS = range(1, 36)  # all remainders of four vectors of eight
TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}


def rows_of(length, count, dtype):
    """Return rows of ``length`` entries at random positions of twice as many columns."""
    rng = np.random.default_rng(length)
    X = np.zeros((count, 2 * length))
    for row in X:
        row[rng.permutation(2 * length)[:length]] = rng.normal(size=length)
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("outputs", [1, 3, 5])
@pytest.mark.parametrize("how", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_scores_include_all_entries(how, outputs, dtype):
    for length in LENGTHS:
        X = rows_of(length, 6, dtype)
        rng = np.random.default_rng(0)
        y = rng.normal(size=(6, outputs)) if outputs > 1 else rng.normal(size=6)
        model = PassiveAggressiveRegressor(average=False).partial_fit(how(X), y)
        expected = X.astype(float) @ np.atleast_2d(model.coef_).T + model.intercept_
        scores = np.reshape(model.predict(how(X)), expected.shape)
        np.testing.assert_allclose(
            scores, expected, atol=20 * TOLERANCE[dtype], err_msg=f"{length}"
        )


@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("how", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_steps_change_the_weights_of_all_entries(how, classes, metric):
    for length in LENGTHS:
        X = rows_of(length, 8, np.float64)
        y = np.arange(8) % classes
        model = PassiveAggressiveClassifier(C=0.5, average=False, metric=metric, multiclass="ovr")
        model.partial_fit(how(X), y, classes=np.arange(classes))
        task = "binary" if classes == 2 else "multiclass"
        reference = ReferenceLearner(
            task, X.shape[1], 1 if classes == 2 else classes,
            loss="hinge", C=0.5, metric=metric, multiclass="ovr",
            intercept_scaling=model.intercept_scaling,
        )  # fmt: skip
        reference.learn_stream(X, 2 * y - 1 if classes == 2 else y)
        np.testing.assert_allclose(
            model.coef_, reference.W, atol=1e-11, err_msg=f"{length} entries"
        )
        np.testing.assert_allclose(model.intercept_, reference.b, atol=1e-11, err_msg=f"{length}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "adagrad"])
@pytest.mark.parametrize("classes", [2, 7])
@pytest.mark.parametrize("how", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_scores_do_not_depend_on_the_number_of_rows(how, classes, metric, dtype):
    """Calls with many rows make a table of the predicting weights."""
    for length in (1, 3, 7, 20):
        X = how(rows_of(length, 200, dtype))
        for average in (True, "auto", False):
            model = PassiveAggressiveClassifier(
                average=average, metric=metric, tol=None, max_iter=1
            )
            model.fit(X, np.arange(200) % classes)
            together = model.decision_function(X)
            alone = [model.decision_function(X[i : i + 1])[0] for i in range(200)]
            np.testing.assert_array_equal(together, alone)
