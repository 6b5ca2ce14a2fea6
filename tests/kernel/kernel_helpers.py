"""Data, and pairs of compiled learners and NumPy references."""

import numpy as np

from aggro.estimators.kernel import (
    KernelPassiveAggressiveClassifier,
    KernelPassiveAggressiveRegressor,
)
from aggro.reference import ReferenceKernelLearner

STRATEGIES = ("simple", "nearest", "projection", "oldest")
REGRESSOR_LOSS = {
    "hinge": "epsilon_insensitive",
    "squared_hinge": "squared_epsilon_insensitive",
    "hard": "hard",
}


def data(task, n=60, d=5, seed=0, classes=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if task == "regression":
        return X, np.sin(X @ rng.normal(size=d)) * 2 + rng.normal(size=n) * 0.1
    return X, rng.integers(0, 2 if task == "binary" else classes, n)


def estimator(task, **params):
    if task == "regression":
        loss = REGRESSOR_LOSS[params.pop("loss", "hinge")]
        params.pop("multiclass", None)
        return KernelPassiveAggressiveRegressor(loss=loss, **params)
    return KernelPassiveAggressiveClassifier(**params)


def reference(task, d, classes=4, **params):
    """Return the NumPy learner for parameters of the estimator."""
    params.setdefault("coef0", 0.0)
    params["maintenance"] = params.pop("budget_strategy", "simple")
    outputs = classes if task == "multiclass" else 1
    return ReferenceKernelLearner(task, d, n_outputs=outputs, **params)


def both(task, X, y, weights=None, **params):
    """Learn a stream twice: the estimator and its reference."""
    model = estimator(task, **params)
    if task == "regression":
        model.partial_fit(X, y, sample_weight=weights)
    else:
        model.partial_fit(X, y, classes=np.unique(y), sample_weight=weights)
    control = reference(task, X.shape[1], len(np.unique(y)), **params)
    control.learn_stream(X, 2.0 * y - 1 if task == "binary" else y, weights)
    return model, control


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def assert_same(model, control, X, tolerance=1e-10):
    expected = control.scores(X)
    expected = expected.ravel() if expected.shape[1] == 1 else expected
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(scores(model, X), expected, rtol=0, atol=tolerance * scale)
    assert model.n_mistakes_ == control.n_mistakes
    assert model.cumulative_loss_ == np.float64(control.cumulative_loss).round(12) or np.isclose(
        model.cumulative_loss_, control.cumulative_loss, rtol=1e-9
    )
