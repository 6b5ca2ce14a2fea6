"""Scores equal coef_ @ x + intercept_ for every estimator."""

import numpy as np
import pytest
from linear_support import cover, make_problem, settings_of, stored, trained

import aggro
from aggro.learner import rows_of

COVER = cover()


def assert_shown(scores, X, coef, intercept):
    """Compare with a tolerance for cancellation of terms, also of averages in float32."""
    coef, intercept = np.atleast_2d(coef).astype(np.float64), np.ravel(intercept)
    expected = X @ coef.T + intercept
    size = np.abs(X) @ np.abs(coef).T + np.abs(intercept)
    close = 1e-10 if scores.dtype == np.float64 else 5e-4
    found = scores.reshape(expected.shape)
    assert np.all(np.abs(found - expected) <= close * (1 + size))


@pytest.mark.parametrize("seed", range(len(COVER)))
def test_scores_equal_those_of_coef(seed):
    row = COVER[seed]
    settings, outputs = settings_of(row)
    X, y = make_problem(settings.task, outputs, np.random.default_rng(seed))
    X = X.astype(np.float32).astype(np.float64)
    dtype = np.dtype(row["dtype"])
    learner = trained(X, y, outputs, None, row["storage"], dtype, **vars(settings))
    for storage in ("dense", "csr32"):
        scores = learner.scores(rows_of(stored(X, storage, dtype)))
        assert (np.ptp(scores) > 0) == np.any(learner.coef())
        assert_shown(scores, X, learner.coef(), learner.intercept())


PASSIVE_AGGRESSIVE = [
    {},
    {"average": True},
    {"average": "reservoir"},
    {"class_mean": 0.2, "average": "reservoir"},
    {"class_mean": 0.2, "average": True, "forgetting": 0.01},
    {"class_mean": 0.2, "queue": 3, "average": "reservoir"},
    {"class_mean": 0.2, "batch_size": 4, "average": "reservoir", "scale": "standard"},
    {"metric": "diagonal", "average": "reservoir", "scale": "online"},
    {"metric": "full", "class_mean": 0.2, "average": "reservoir"},
    {"C": "auto", "average": "auto"},
]
REGRESSION = [axes for axes in PASSIVE_AGGRESSIVE if "class_mean" not in axes]
SECOND_ORDER = [
    aggro.Perceptron(),
    aggro.AROWClassifier(),
    aggro.AROWClassifier(metric="full"),
    aggro.ConfidenceWeightedClassifier(),
    aggro.ConfidenceWeightedClassifier(loss="cw_stdev"),
    aggro.SoftConfidenceWeightedClassifier(),
]
CLASSIFIERS = [aggro.PassiveAggressiveClassifier(**axes) for axes in PASSIVE_AGGRESSIVE]
REGRESSORS = [aggro.PassiveAggressiveRegressor(**axes) for axes in REGRESSION]


def learned(model, task, outputs, dtype, storage):
    X, y = make_problem(task, outputs, np.random.default_rng(3), 80, 6)
    X = X.astype(np.float32).astype(np.float64)
    if task == "multilabel":
        y = (y > 0).astype(int)
    elif task == "regression" and outputs == 1:
        y = y.ravel()
    given = stored(X, storage, dtype)
    return model.partial_fit(given, y), X, given


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("task", ["binary", "multiclass", "multilabel"])
@pytest.mark.parametrize("model", CLASSIFIERS + SECOND_ORDER, ids=str)
def test_classifier_scores_are_linear_in_coef(model, task, dtype, storage):
    outputs = 1 if task == "binary" else 3
    fitted, X, given = learned(model.__class__(**model.get_params()), task, outputs, dtype, storage)
    assert_shown(fitted.decision_function(given), X, fitted.coef_, fitted.intercept_)


@pytest.mark.parametrize("storage", ["dense", "csr32"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("model", [*REGRESSORS, aggro.AROWRegressor()], ids=str)
def test_regressor_predictions_are_linear_in_coef(model, outputs, dtype, storage):
    fresh = model.__class__(**model.get_params())
    fitted, X, given = learned(fresh, "regression", outputs, dtype, storage)
    assert_shown(fitted.predict(given), X, fitted.coef_, fitted.intercept_)
