"""Second-order rules and the Perceptron: NumPy references and scikit-learn's checks."""

from statistics import NormalDist

import numpy as np
import pytest
from closeness import assert_close
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import aggro
from aggro.learner import Learner, rows_of
from aggro.reference import ReferenceLearner
from aggro.settings import Settings

ORDER = "repeated rows are met at other times in a shuffled stream"
WEIGHTS = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}
HARD = {"check_class_weight_classifiers": "sample weights do not affect hard constraints"}


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


REFERENCES = [
    (aggro.Perceptron(multiclass="ovr"), {"rule": "perceptron"}),
    *(
        (model, {"metric": metric, **rule})
        for metric in ("diagonal", "full")
        for model, rule in (
            (aggro.AROWClassifier(r=0.7, metric=metric), {"rule": "arow", "r": 0.7}),
            (aggro.ConfidenceWeightedClassifier(metric=metric), {"rule": "cw"}),
            (
                aggro.ConfidenceWeightedClassifier(loss="cw_stdev", metric=metric),
                {"rule": "cw-stdev"},
            ),
            (
                aggro.SoftConfidenceWeightedClassifier(C=0.4, metric=metric),
                {"rule": "scw-i", "C": 0.4},
            ),
            (
                aggro.SoftConfidenceWeightedClassifier(C=0.4, loss="scw2", metric=metric),
                {"rule": "scw-ii", "C": 0.4},
            ),
        )
    ),
]


@pytest.mark.parametrize(("model", "rule"), REFERENCES, ids=lambda value: str(value)[:60])
@pytest.mark.parametrize("classes", [2, 3])
def test_second_order_classifier_equals_its_reference(model, rule, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = (X @ rng.normal(size=(6, classes))).argmax(axis=1)
    weights = rng.integers(0, 3, 80).astype(float)
    task = "binary" if classes == 2 else "multiclass"
    phi = NormalDist().inv_cdf(0.9)
    reference = ReferenceLearner(
        task, 6, 1 if classes == 2 else classes, multiclass="ovr", phi=phi,
        intercept_scaling=getattr(model, "intercept_scaling", 1.0), **rule,
    )  # fmt: skip
    reference.learn_stream(X, 2 * y - 1 if classes == 2 else y, weights)
    model = clone(model).partial_fit(X, y, classes=np.arange(classes), sample_weight=weights)
    assert_allclose(model.coef_, reference.W, rtol=1e-9, atol=1e-12)
    assert_allclose(model.intercept_, reference.b, rtol=1e-9, atol=1e-12)
    assert model.n_updates_ == reference.n_updates


def test_pam_ii_with_C_of_one_half_is_arow():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 5))
    y = (X[:, 0] > 0).astype(int)
    for metric in ("diagonal", "full"):
        arow = aggro.AROWClassifier(r=1.0, metric=metric).partial_fit(X, y)
        pam = aggro.from_name("PAM-II", C=0.5, metric=metric).partial_fit(X, y)
        assert_close(arow.coef_, pam.coef_, rtol=1e-12)


@pytest.mark.parametrize("metric", ["diagonal", "full"])
@pytest.mark.parametrize("class_mean", [0.0, 0.3])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_arow_in_batches_agrees_with_the_reference(metric, class_mean, classes, batch_size):
    """The weight of an example multiplies its precision, also within a batch."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = (X @ rng.normal(size=(5, classes)) + 0.5 * rng.normal(size=(60, classes))).argmax(axis=1)
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], 60)
    task, outputs = ("binary", 1) if classes == 2 else ("multiclass", 3)
    axes = {"class_mean": class_mean, "batch_size": batch_size, "metric": metric, "r": 0.6}
    reference = ReferenceLearner(task, 5, outputs, multiclass="ovr", rule="arow", **axes)
    reference.learn_stream(X, 2 * y - 1 if classes == 2 else y, weights)
    learner = Learner(Settings(task=task, loss="arow", multiclass="ovr", **axes), 5, classes)
    learner.learn(rows_of(X), labels=y.astype(np.int64), weights=weights)
    assert_allclose(learner.coef(), reference.W, rtol=1e-8, atol=1e-10)
    assert_allclose(learner.intercept(), reference.b, rtol=1e-8, atol=1e-10)
    plain = Learner(learner.settings, 5, classes)
    plain.learn(rows_of(X), labels=y.astype(np.int64), weights=(weights > 0).astype(float))
    assert not np.allclose(plain.coef(), reference.W, rtol=1e-3)


@pytest.mark.parametrize("loss", ["cw", "cw_stdev"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("task", "outputs"), [("binary", 2), ("multilabel", 3)])
def test_tiny_variances_do_not_overflow(task, outputs, dtype, loss):
    """Contradictions shrink variances towards zero; later steps stay finite."""
    settings = Settings(task, loss=loss, metric="diagonal", fit_intercept=False)
    answer = {"labels": np.array([0])} if task == "binary" else {"values": -np.ones((1, outputs))}
    smallest = int(np.log10(float(np.finfo(dtype).tiny)))
    for power in range(0, 2 * smallest - 20, -1):
        for weight in (1.0, 30.0):
            learner = Learner(settings, 2, outputs, dtype)
            state = learner.state()
            table = state["weights"].reshape(2, 2, -1)  # for each feature weights, then variances
            table[:, 0], table[0, 1], table[1, 1] = weight, 0.0, dtype(10.0 ** (power / 2))
            learner.load_state(state)
            learner.learn(rows_of(np.array([[20.0, 20.0]], dtype)), **answer)
            assert all(np.isfinite(array).all() for array in learner.state().values())


@pytest.mark.parametrize("length", [0.9, 1.1, 1.9])
def test_core_and_reference_agree_on_variances_that_count_as_zero(length):
    """The variance of a row is just below or above the least one with a finite inverse square."""
    least = 2.0**-510
    X = np.array([[np.sqrt(length * least)]])
    axes = {"metric": "diagonal", "fit_intercept": False}
    settings = Settings("binary", loss="cw_stdev", eta=0.95, **axes)
    learner = Learner(settings, 1, 2)
    learner.learn(rows_of(X), labels=np.array([1]))
    phi = NormalDist().inv_cdf(settings.eta)
    reference = ReferenceLearner(
        "binary", n_features=1, n_outputs=1, rule="cw-stdev", phi=phi, **axes
    )
    reference.learn(X, np.array([1.0]))
    assert learner.progress.updates == reference.n_updates == int(length > 1)
