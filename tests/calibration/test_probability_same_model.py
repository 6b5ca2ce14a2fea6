"""probability=True does not change the model, and passes scikit-learn's checks."""

import numpy as np
import pytest
from closeness import assert_close
from estimator_support import CLASSIFIERS
from probability_support import ONE_PASS, RECOMMENDED, known_truth, same_state
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import (
    AROWClassifier,
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
)
from aggro.calibration.calibrator import LATE, RING

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("several", [False, True])
def test_every_classifier_learns_the_same_model(kind, several):
    X, y, _ = known_truth(rows=300, classes=3)
    params = {"random_state": 0} if several else ONE_PASS
    plain, asked = kind(**params).fit(X, y), kind(probability=True, **params).fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), asked.decision_function(X))
    assert plain.n_mistakes_ == asked.n_mistakes_
    assert asked.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize(
    "params",
    [
        RECOMMENDED,
        {**RECOMMENDED, "batch_size": 10},
        {"C": "auto"},
        {"average": "reservoir"},
        {"batch_size": 7},
        {"queue": 3, "class_mean": 0.1},
        {"metric": "full"},
        {"multiclass": "ovr"},
    ],
    ids=str,
)
@pytest.mark.parametrize("calls", [1, 3, 60])
def test_pieces_do_not_change_the_model(params, calls):
    X, y, _ = known_truth(rows=5500, classes=3)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], size=len(y))
    plain = PassiveAggressiveClassifier(random_state=0, **params)
    asked = PassiveAggressiveClassifier(random_state=0, probability=True, **params)
    for rows in np.array_split(np.arange(len(y)), calls):
        for model in (plain, asked):
            model.partial_fit(X[rows], y[rows], [0, 1, 2], sample_weight=weights[rows])
    assert same_state(plain._learner, asked._learner)
    assert (
        len(asked._fitted.record.calibrator.weights)
        == 5500 - params.get("batch_size", 1)
        < RING + LATE
    )


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_recording_does_not_change_fit(warm_start, early_stopping):
    X, y, _ = known_truth(rows=600, classes=3)
    models = [
        PassiveAggressiveClassifier(
            C=0.1,
            probability=probability,
            random_state=np.random.RandomState(0),
            warm_start=warm_start,
            early_stopping=early_stopping,
        )
        for probability in (False, True)
    ]
    for _ in range(2):
        for model in models:
            model.fit(X, y)
        assert same_state(*(model._learner for model in models))


def test_predict_proba_exists_only_with_probability():
    X, y, _ = known_truth(rows=200)
    for kind in CLASSIFIERS:
        model = kind(random_state=0).fit(X, y)
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_log_proba")
        model.set_params(probability=True)
        with pytest.raises(NotFittedError, match="without probability=True"):
            model.predict_proba(X)
        model.partial_fit(X, y)
        assert_close(model.predict_log_proba(X), np.log(model.predict_proba(X)))
        with pytest.raises(ValueError, match="probability='yes'"):
            model.set_params(probability="yes").fit(X, y)


def reasons(estimator):
    order = "an online learner depends on the order of its rows"
    border = "predict follows the margins; close to the border another class may be more probable"
    kernel = isinstance(estimator, KernelPassiveAggressiveClassifier)  # far from the boundary here
    return ({} if kernel else {"check_classifiers_train": border}) | {
        "check_sample_weight_equivalence_on_dense_data": order,
        "check_sample_weight_equivalence_on_sparse_data": order,
    }


@parametrize_with_checks(
    [
        PassiveAggressiveClassifier(probability=True),
        PassiveAggressiveClassifier(probability=True, multiclass="ovr"),
        AROWClassifier(probability=True),
        KernelPassiveAggressiveClassifier(probability=True),
    ],
    expected_failed_checks=reasons,
)
def test_checks(estimator, check):
    check(estimator)
