"""The second-order relatives and the Perceptron: their twins, and scikit-learn's own checks."""

from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

import aggro
from aggro.reference import ReferenceLearner

ORDER = "repeated rows are met at other times in a shuffled stream"
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}
HARD = {
    "check_class_weight_classifiers": "a hard constraint has no price that a weight could raise"
}


def expected_failures(estimator):
    hard = isinstance(estimator, aggro.ConfidenceWeightedClassifier)
    return {**WEIGHTS, **HARD} if hard else WEIGHTS


ESTIMATORS = [
    aggro.Perceptron(),
    aggro.AROWClassifier(),
    aggro.AROWRegressor(),
    aggro.ConfidenceWeightedClassifier(),
    aggro.SoftConfidenceWeightedClassifier(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


TWINS = [
    (aggro.Perceptron(multiclass="ovr"), {"rule": "perceptron"}),
    *(
        (model, {"metric": metric, **twin})
        for metric in ("diagonal", "full")
        for model, twin in (
            (aggro.AROWClassifier(r=0.7, metric=metric), {"rule": "arow", "r": 0.7}),
            (aggro.ConfidenceWeightedClassifier(metric=metric), {"rule": "cw"}),
            (aggro.ConfidenceWeightedClassifier(form="stdev", metric=metric), {"rule": "cw-stdev"}),
            (
                aggro.SoftConfidenceWeightedClassifier(C=0.4, metric=metric),
                {"rule": "scw-i", "C": 0.4},
            ),
            (
                aggro.SoftConfidenceWeightedClassifier(C=0.4, kind="II", metric=metric),
                {"rule": "scw-ii", "C": 0.4},
            ),
        )
    ),
]


@pytest.mark.parametrize(("model", "twin"), TWINS, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("classes", [2, 3])
def test_twin(model, twin, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = (X @ rng.normal(size=(6, classes))).argmax(axis=1)
    weights = rng.integers(0, 3, 80).astype(float)
    task = "binary" if classes == 2 else "multiclass"
    phi = NormalDist().inv_cdf(0.9)
    reference = ReferenceLearner(
        task, 6, 1 if classes == 2 else classes, multiclass="ovr", phi=phi, **twin
    )
    reference.learn_stream(X, 2 * y - 1 if classes == 2 else y, weights)
    model.partial_fit(X, y, classes=np.arange(classes), sample_weight=weights)
    assert_allclose(model.coef_, reference.W, rtol=1e-9, atol=1e-12)
    assert_allclose(model.intercept_, reference.b, rtol=1e-9, atol=1e-12)
    assert model.n_updates_ == reference.n_updates
    model.__dict__.pop("_learner")


def test_pam_ii_with_half_a_price_is_arow():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 5))
    y = (X[:, 0] > 0).astype(int)
    for metric in ("diagonal", "full"):
        arow = aggro.AROWClassifier(r=1.0, metric=metric).partial_fit(X, y)
        pam = aggro.from_name("PAM-II", C=0.5, metric=metric).partial_fit(X, y)
        assert_allclose(arow.coef_, pam.coef_, rtol=1e-12)
