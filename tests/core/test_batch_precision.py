"""Mini-batches of linearly dependent rows: single precision agrees with double precision."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro import PassiveAggressiveClassifier


def rows(features, seed):
    """Return batches with more rows than features, and contradictory labels."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, 400)
    X = random.normal(size=(400, features))
    return X.astype(np.float32), y


@pytest.mark.parametrize("size", [4, 16])  # pairwise products, and a board
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "adagrad", "full"])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_hard_batches_of_dependent_rows_agree_with_double_precision(kind, metric, features, size):
    params = {"loss": "hard", "batch_size": size, "metric": metric, "fit_intercept": False}
    params |= {"shuffle": False, "max_iter": 1, "tol": None, "average": False}
    for seed in range(5):
        X, y = rows(features, seed)
        model, expected = (
            PassiveAggressiveClassifier(**params).fit(kind(X.astype(dtype)), y)
            for dtype in (np.float32, np.float64)
        )
        assert model.coef_.dtype == np.float32
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3)


@pytest.mark.parametrize("loss", ["hard", "least_squares"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("multiclass", ["support", "ovr"])
def test_consistent_dependent_rows_are_satisfied(loss, classes, multiclass):
    """Rounding errors of the scores are not mistaken for contradictory constraints."""
    if (loss, multiclass) == ("least_squares", "support") and classes > 2:
        pytest.skip("support classes have no least squares")
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 3)).astype(np.float32)
        labels = rng.integers(0, classes, 32)
        model = PassiveAggressiveClassifier(
            loss=loss, C=np.inf, batch_size=8, average=False, multiclass=multiclass
        )
        model.partial_fit(X[:32], labels, classes=np.arange(classes))
        model.partial_fit(X[32:], np.zeros(8, int))  # an intercept alone satisfies all of them
        scores = model.decision_function(X[32:]).reshape(8, -1)
        if classes == 2:
            margins = -scores
        elif multiclass == "ovr":
            margins = scores * [1, -1, -1]
        else:
            margins = scores[:, :1] - scores[:, 1:]
        missed = np.abs(1 - margins) if loss == "least_squares" else np.maximum(0, 1 - margins)
        assert missed.max() < 1e-3 * (1 + np.abs(model.coef_).max()), seed


@pytest.mark.parametrize("apart", [1.0, 0.1, 1e-2, 1e-3, 1e-4])
def test_nearly_contradictory_rows_are_satisfied(apart):
    """Large steps that cancel leave rounding errors in the scores, but no contradiction."""
    y = np.array([1, 0, 3, 2, 1, 2, 3, 0])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.ones((8, 9))
        X[:, 1:] = rng.standard_normal((8, 8)) * (rng.random((8, 8)) < 0.4)
        X[:3, 1:] = 0.0
        X[:3, 1] = 0.0, apart, -0.236  # on one line, separable by class
        X[3:, 2] += 1.0  # the others are not on it
        model = PassiveAggressiveClassifier(loss="hard", batch_size=8, average=False)
        scores = model.partial_fit(X, y).decision_function(X)
        own = scores[np.arange(8), y].copy()
        scores[np.arange(8), y] = -np.inf
        assert (own - scores.max(axis=1)).min() > 1 - 1e-6, seed
