"""Mini-batches in single precision whose rows depend on each other: as in double precision."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro import PassiveAggressiveClassifier


def rows(features, seed):
    """More rows than features in each batch, and labels that contradict each other."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, 400)
    X = random.normal(size=(400, features))
    return X.astype(np.float32), y


@pytest.mark.parametrize("size", [4, 16])  # in pairs, and on a board
@pytest.mark.parametrize("features", [1, 2, 3])
@pytest.mark.parametrize("metric", ["euclidean", "diagonal", "root", "full"])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_hard_batches_of_dependent_rows(kind, metric, features, size):
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
