"""scikit-learn's tools, pandas and polars; copies, views and representations."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from linear_support import fingerprint, make_problem
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(31)
X, y = make_problem("multiclass", 3, rng, 90, 4)
NAMES = ["a", "b", "c", "d"]
VARIANTS = [
    PassiveAggressiveClassifier(),
    PassiveAggressiveClassifier(metric="full", class_mean=0.1),
    PassiveAggressiveClassifier(multiclass="ovr", metric="diagonal", average=True, queue=3),
    PassiveAggressiveClassifier(average="reservoir", batch_size=4, random_state=1),
    PassiveAggressiveRegressor(metric="diagonal"),
]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names_of_data_frames_are_kept(frame):
    table = frame({name: X[:, k] for k, name in enumerate(NAMES)})
    model = PassiveAggressiveClassifier().partial_fit(table, y)
    assert model.feature_names_in_.tolist() == NAMES
    plain = PassiveAggressiveClassifier().partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-12)
    np.testing.assert_array_equal(model.predict(table), plain.predict(X))
    before = fingerprint(model)
    wrong = frame({name: X[:, k] for k, name in enumerate(["a", "b", "x", "d"])})
    turned = table[["b", "a", "c", "d"]]
    for strange in (wrong, turned):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(strange)
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(strange, y)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    assert fingerprint(model) == before


def test_series_are_valid_targets():
    labels = pd.Series(np.array(["u", "v", "w"])[y], index=range(1000, 1090))
    model = PassiveAggressiveClassifier(random_state=0).fit(X, labels)
    assert set(model.predict(X)) <= {"u", "v", "w"}
    weights = pd.Series(np.ones(90), index=labels.index)
    same = PassiveAggressiveClassifier(random_state=0).fit(X, labels, sample_weight=weights)
    assert np.array_equal(same.coef_, model.coef_)
    category = PassiveAggressiveClassifier(random_state=0).fit(X, labels.astype("category"))
    assert np.array_equal(category.coef_, model.coef_)


@pytest.mark.parametrize("model", VARIANTS, ids=str)
def test_copies_are_independent(model, tmp_path):
    fitted = clone(model).partial_fit(X, y)
    assert not hasattr(clone(fitted), "coef_")
    assert clone(fitted).get_params() == model.get_params()
    joblib.dump(fitted, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model")):
        assert fingerprint(again) == fingerprint(fitted)
        again.partial_fit(X, y)
        straight = clone(model).partial_fit(X, y).partial_fit(X, y)
        np.testing.assert_allclose(again.coef_, straight.coef_, atol=1e-10)
        assert again.t_ == straight.t_ == 181
    assert fitted.t_ == 91  # the copy has its own memory


def test_pipelines_and_parallel_folds():
    pipe = make_pipeline(StandardScaler(), PassiveAggressiveClassifier(random_state=0))
    scores = cross_val_score(pipe, X, y, cv=3, n_jobs=2)
    assert scores.mean() > 0.6
    text = make_pipeline(
        HashingVectorizer(n_features=2**12), PassiveAggressiveClassifier(random_state=0)
    )
    words = ["good great fine", "bad awful poor", "great good", "poor bad"] * 5
    assert text.fit(words, [1, 0, 1, 0] * 5).score(words, [1, 0, 1, 0] * 5) == 1.0
    calibrated = CalibratedClassifierCV(PassiveAggressiveClassifier(random_state=0), cv=3)
    assert calibrated.fit(X, y).predict_proba(X).shape == (90, 3)


def test_transform_output_of_pandas():
    table = pd.DataFrame(X, columns=NAMES)
    with sklearn.config_context(transform_output="pandas"):
        pipe = make_pipeline(StandardScaler(), PassiveAggressiveClassifier()).fit(table, y)
    assert pipe[-1].feature_names_in_.tolist() == NAMES


def test_representation_shows_changed_parameters():
    model = PassiveAggressiveClassifier(C=0.25, metric="diagonal")
    assert "C=0.25" in repr(model)
    assert "PassiveAggressiveClassifier" in model._repr_html_()
    assert "PassiveAggressiveClassifier" in model.fit(X, y)._repr_html_()


def test_routing_of_sample_weight():
    weights = rng.uniform(0.1, 2, 90)
    axes = {"max_iter": 2, "tol": None, "shuffle": False}
    with sklearn.config_context(enable_metadata_routing=True):
        model = PassiveAggressiveClassifier(**axes).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipe.fit(X, y, sample_weight=weights)
        direct = clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
        np.testing.assert_allclose(pipe[-1].coef_, direct.coef_, atol=1e-12)
        scored = model.set_score_request(sample_weight=True)
        search = GridSearchCV(scored, {"C": [0.01, 1.0]}, cv=3)
        search.fit(X, y, sample_weight=weights)
        best = clone(search.best_estimator_).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(search.best_estimator_.coef_, best.coef_, atol=1e-12)
        silent = make_pipeline(StandardScaler(), PassiveAggressiveClassifier())
        with pytest.raises(ValueError, match=r"sample_weight.*not explicitly set"):
            silent.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("cls", [PassiveAggressiveClassifier, PassiveAggressiveRegressor])
def test_sparsified_weights_equal_dense_ones(cls):
    model = cls(random_state=0)
    with pytest.raises(NotFittedError):
        model.sparsify()
    model.fit(X, y)
    scores, dense = model.predict(X), np.array(model.coef_)
    assert model.sparsify() is model
    assert hasattr(model.coef_, "toarray")
    np.testing.assert_array_equal(np.ravel(model.coef_.toarray()), np.ravel(dense))
    np.testing.assert_array_equal(model.predict(X), scores)
    with pytest.raises(ValueError, match="densify"):
        model.partial_fit(X, y)
    assert np.array_equal(model.densify().coef_, dense)
    model.partial_fit(X, y)


def test_coef_is_a_view_that_stays_valid():
    model = PassiveAggressiveClassifier(C=0.01, average=False).partial_fit(X[:30], y[:30])
    view, frozen = model.coef_, np.array(model.coef_)
    model.partial_fit(X[30:], y[30:])
    assert np.array_equal(view, model.coef_)
    assert not np.array_equal(view, frozen)
    assert np.shares_memory(view, model.coef_)
    model.partial_fit(X[:1], [9])  # a new class: a new table; the old one is kept alive
    assert view.shape == (3, 4)
    assert np.isfinite(view).all()
    del model
    assert np.isfinite(view).all()


def test_assigned_weights_are_used():
    model = PassiveAggressiveClassifier().partial_fit(X, y)
    W, b = rng.standard_normal((3, 4)), rng.standard_normal(3)
    model.coef_, model.intercept_ = W, b
    np.testing.assert_allclose(model.decision_function(X), X @ W.T + b, atol=1e-12)


def test_fitted_attributes_raise_before_fit():
    for model in (PassiveAggressiveClassifier(), PassiveAggressiveRegressor()):
        with pytest.raises(NotFittedError):
            model.predict(X)
        for name in ("coef_", "intercept_", "t_", "n_mistakes_", "cumulative_loss_"):
            with pytest.raises(AttributeError, match=name):
                getattr(model, name)


@pytest.mark.parametrize("axes", [{}, {"multiclass": "ovr"}, {"batch_size": 5}])
def test_counts_are_progressive(axes):
    """n_mistakes_ and cumulative_loss_ are those of predict and the hinge loss before each call."""
    model = PassiveAggressiveClassifier(**axes)
    wrong, step = 0, axes.get("batch_size", 1)
    model.partial_fit(X[:step], y[:step], classes=[0, 1, 2])
    start = model.n_mistakes_
    for k in range(step, 90, step):
        wrong += int(np.sum(model.predict(X[k : k + step]) != y[k : k + step]))
        model.partial_fit(X[k : k + step], y[k : k + step])
    assert model.n_mistakes_ == start + wrong
    assert model.n_updates_ > 0
    assert model.cumulative_loss_ >= model.n_mistakes_ * (0 if "multiclass" in axes else 1)
