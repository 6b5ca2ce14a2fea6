"""Feature scaling inside the model: properties of the estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_sklearn_checks import reasons

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

SCALED = ("online", "standard")
OTHERS = (
    {},
    {"metric": "diagonal"},
    {"metric": "full"},
    {"average": True},
    {"multiclass": "ovr"},
    {"class_mean": 0.1},
    {"queue": 3},
    {"batch_size": 4},
)
every_scale = pytest.mark.parametrize("scale", SCALED)


def rows(n=200, d=6, classes=3, seed=0, spread=2):
    """Return rows with many zeros and columns of very different scales, and noisy classes."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) + 0.5) * (rng.random((n, d)) < 0.7)
    y = (X @ rng.normal(size=(d, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1)
    return X * 10.0 ** rng.uniform(-spread, spread, d), y


def learned(X, y, kind=PassiveAggressiveClassifier, **params):
    return kind(**{"C": 0.1, "random_state": 0, **params}).partial_fit(X, y)


def same(one, two):
    """Assert that two models are equal."""
    states = one._learner.state(), two._learner.state()
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        assert array.tobytes() == states[1][name].tobytes(), name


@every_scale
@pytest.mark.parametrize("params", OTHERS, ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_coef_refers_to_unscaled_features(scale, params, classes):
    X, y = rows(classes=classes)
    model = learned(X, y, scale=scale, **params)
    scores = X @ model.coef_.T + model.intercept_
    shown = scores.ravel() if classes == 2 else scores
    assert_allclose(model.decision_function(X), shown, rtol=1e-8, atol=1e-8)
    assert model.score(X, y) > 0.5
    numbers = learned(X, y * 3.0, PassiveAggressiveRegressor, scale=scale)
    assert_close(numbers.predict(X), X @ numbers.coef_ + numbers.intercept_, rtol=1e-8)


@every_scale
@pytest.mark.parametrize("params", OTHERS, ids=str)
def test_dense_and_sparse_rows_give_the_same_model(scale, params):
    X, y = rows()
    dense = learned(X, y, scale=scale, **params)
    sparse = learned(sp.csr_matrix(X), y, scale=scale, **params)
    assert_allclose(dense.coef_, sparse.coef_, rtol=1e-9, atol=1e-12)
    assert_close(dense.decision_function(X), sparse.decision_function(sp.csr_array(X)), 1e-8)


@every_scale
def test_single_precision_is_close_to_double(scale):
    X, y = rows()
    double, single = learned(X, y, scale=scale), learned(X.astype(np.float32), y, scale=scale)
    assert single.coef_.dtype == np.float32
    agree = double.predict(X) == single.predict(X.astype(np.float32))
    assert agree.mean() > 0.97


@every_scale
@pytest.mark.parametrize("params", OTHERS[:-1], ids=str)  # a mini-batch ends with its call
def test_chunks_give_the_model_of_one_call(scale, params):
    X, y = rows()
    params = {**params, "scale": scale, "random_state": 0}
    whole, pieces = (PassiveAggressiveClassifier(**params) for _ in range(2))
    whole.partial_fit(X, y, classes=[0, 1, 2])
    for start in range(0, len(y), 13):
        pieces.partial_fit(X[start : start + 13], y[start : start + 13], classes=[0, 1, 2])
    if params.get("metric") == "full":  # its matrix is rewritten at the end of each call
        assert_close(whole.coef_, pieces.coef_, rtol=1e-12)
    else:
        same(whole, pieces)


@every_scale
@pytest.mark.parametrize("params", OTHERS, ids=str)
def test_copies_and_saved_models_continue_identically(scale, params, tmp_path):
    X, y = rows()
    model = learned(X[:120], y[:120], scale=scale, **params)
    aggro.save(model, tmp_path / "model.aggro")
    copies = [pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")]
    model.partial_fit(X[120:], y[120:])
    for copy in copies:
        same(model, copy.partial_fit(X[120:], y[120:]))


@every_scale
@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("power", [10, -10, 400, -400])
def test_model_is_invariant_to_the_unit_of_a_feature(scale, metric, power):
    X, y = rows()
    other = X.copy()
    other[:, 2] *= 2.0**power  # exact
    one, two = (learned(each, y, scale=scale, metric=metric) for each in (X, other))
    assert one.n_mistakes_ == two.n_mistakes_
    assert_array_equal(one.predict(X), two.predict(other))
    assert_allclose(one.decision_function(X), two.decision_function(other), rtol=1e-9, atol=1e-9)
    assert_close(one.coef_[:, 2], two.coef_[:, 2] * 2.0**power, rtol=1e-12)
    other[:, 2] = X[:, 2] * 1000.0
    assert_array_equal(learned(other, y, scale=scale, metric=metric).predict(other), one.predict(X))


def test_unscaled_model_depends_on_the_unit_of_a_feature():
    X, y = rows()
    other = X * np.where(np.arange(6) == 2, 1024.0, 1.0)
    one, two = learned(X, y), learned(other, y)
    assert np.any(one.predict(X) != two.predict(other))


@every_scale
def test_value_too_large_to_scale_changes_nothing(scale):
    X, y = rows()
    model = learned(X, y, scale=scale)
    copied = pickle.loads(pickle.dumps(model))
    for wrong in (1e200, np.nan, np.inf):
        bad = X[:9].copy()
        bad[7, 1] = wrong
        with pytest.raises(ValueError, match="row 7"):
            model.partial_fit(bad, y[:9])
        same(model, copied)


def test_constant_column_is_ignored_by_standard_scaling():
    X, y = rows()
    X[:, 3] = 7.25
    assert_array_equal(learned(X, y, scale="standard").coef_[:, 3], 0)  # no variance
    online = learned(X, y, scale="online")
    assert np.isfinite(online.coef_).all() and np.any(online.coef_[:, 3])  # a second intercept


@every_scale
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_column_of_zeros_has_no_weight(scale, storage):
    X, y = rows()
    X[:, [1, 4]] = 0
    model = learned(storage(X), y, scale=scale)
    assert_array_equal(model.coef_[:, [1, 4]], 0)
    assert np.all(np.any(model.coef_ != 0, axis=0) == [1, 0, 1, 1, 0, 1])


def test_online_scaling_ignores_zeros():
    X, y = rows()
    model = learned(sp.csr_matrix(X), y, scale="online")
    few, many = X[:, 0][X[:, 0] != 0], np.count_nonzero(X, axis=0)
    state = model._learner.state()
    assert_array_equal(state["scale_seen"], many)
    assert_close(state["scale_square"][0], np.sum(few**2))


@every_scale
def test_initial_weights_are_rejected(scale):
    X, y = rows(classes=2)
    model = PassiveAggressiveClassifier(scale=scale)
    with pytest.raises(ValueError, match="scale='none' to give coef_init"):
        model.fit(X, y, coef_init=np.ones((1, 6)))
    with pytest.raises(ValueError, match="scale='none' to give coef_init"):
        model.fit(X, y, intercept_init=np.ones(1))
    model.partial_fit(X, y)
    with pytest.raises(ValueError, match="to set coef_"):
        model.coef_ = np.ones((1, 6))
    with pytest.raises(ValueError, match="scale cannot change"):
        model.set_params(scale="none").partial_fit(X, y)


@every_scale
@pytest.mark.parametrize("multiclass", ["support", "ovr"])
def test_new_classes_keep_the_feature_scales(scale, multiclass):
    X, y = rows(classes=4)
    order = np.argsort(y, kind="stable")  # sorted by class
    X, y = X[order], y[order]
    model = PassiveAggressiveClassifier(scale=scale, multiclass=multiclass)
    for start in range(0, len(y), 20):
        model.partial_fit(X[start : start + 20], y[start : start + 20])
    whole = PassiveAggressiveClassifier(scale=scale, multiclass=multiclass)
    whole.partial_fit(X, y, classes=range(4))
    grown, straight = model._learner.state(), whole._learner.state()
    assert_array_equal(model.classes_, np.arange(4))
    names = [name for name in grown if name.startswith("scale_")]
    assert names and all(grown[name].tobytes() == straight[name].tobytes() for name in names)
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), scores, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        kind(scale=scale)
        for kind in (PassiveAggressiveClassifier, PassiveAggressiveRegressor)
        for scale in SCALED
    ],
    expected_failed_checks=reasons,
)
def test_checks(estimator, check):
    check(estimator)
