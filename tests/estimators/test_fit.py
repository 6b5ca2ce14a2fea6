"""fit: passes, stopping, initial weights, sample weights, set_params."""

import warnings

import numpy as np
import pytest
from closeness import assert_close
from linear_support import make_problem
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

rng = np.random.default_rng(23)
X, y = make_problem("binary", 1, rng, 120, 6)
X3, y3 = make_problem("multiclass", 4, rng, 120, 6)
ONE_PASS = {"max_iter": 1, "tol": None, "shuffle": False}


def test_fit_of_one_pass_is_partial_fit():
    for model, target in (
        (PassiveAggressiveClassifier, y),
        (PassiveAggressiveRegressor, X @ np.arange(6)),
    ):
        fitted = model(**ONE_PASS).fit(X, target)
        streamed = model().partial_fit(X, target)
        assert np.array_equal(fitted.coef_, streamed.coef_)
        assert fitted.t_ == streamed.t_ == 121
        assert fitted.n_iter_ == streamed.n_iter_ == 1


def test_set_params_takes_effect_in_the_next_call():
    model = PassiveAggressiveClassifier(C=1e-3)
    model.partial_fit(X[:60], y[:60])
    model.set_params(C=10.0).partial_fit(X[60:], y[60:])
    other = PassiveAggressiveClassifier(C=1e-3).partial_fit(X[:60], y[:60])
    start = np.array(other.coef_)
    other.C = 10.0
    other.partial_fit(X[60:61], y[60:61])
    loss = 1 - (2 * y[60] - 1) * (X[60] @ start[0] + model.intercept_[0] * 0)
    assert np.linalg.norm(other.coef_ - start) > 1e-2 * loss * np.linalg.norm(X[60])
    for k in range(61, 120):
        other.partial_fit(X[k : k + 1], y[k : k + 1])
    assert np.array_equal(model.coef_, other.coef_)


@pytest.mark.parametrize(
    "change",
    [{"loss": "squared_hinge"}, {"fit_intercept": True}, {"class_mean": 0.5, "C": 2.0}],
)
def test_parameters_change_or_raise_with_a_reason(change):
    """Parameters are never silently ignored."""
    model = PassiveAggressiveClassifier(fit_intercept="fit_intercept" not in change, C=0.3)
    model.partial_fit(X[:60], y[:60])
    unchanged = PassiveAggressiveClassifier(**model.get_params()).partial_fit(X[:60], y[:60])
    unchanged.partial_fit(X[60:], y[60:])
    try:
        model.set_params(**change).partial_fit(X[60:], y[60:])
    except ValueError as error:
        assert any(name in str(error) for name in change)
    else:
        assert not np.allclose(model.coef_, unchanged.coef_)
        assert np.isfinite(model.coef_).all()


def test_grid_search_varies_C():
    grid = {"C": [1e-4, 1e-2, 1.0]}
    search = GridSearchCV(
        PassiveAggressiveRegressor(random_state=0, tol=None, max_iter=3), grid, cv=3
    )
    search.fit(X, X @ np.arange(6.0))
    assert len(set(search.cv_results_["mean_test_score"].round(12))) == 3
    one = PassiveAggressiveClassifier(C=1e-3, **ONE_PASS)
    two = one.__class__(**one.get_params()).set_params(C=1.0)
    assert not np.allclose(one.fit(X, y).coef_, two.fit(X, y).coef_)


def test_tol_stops_and_max_iter_warns():
    model = PassiveAggressiveClassifier(random_state=0, n_iter_no_change=2).fit(X, y)
    assert 2 < model.n_iter_ < 1000
    assert model.t_ == 120 * model.n_iter_ + 1
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        PassiveAggressiveClassifier(max_iter=1).fit(X, y)
    fixed = PassiveAggressiveClassifier(max_iter=7, tol=None).fit(X, y)
    assert fixed.n_iter_ == 7


def test_separable_data_end_without_updates():
    u = rng.standard_normal(6)
    Z = X[np.abs(X @ u) > 0.5]
    model = PassiveAggressiveClassifier(loss="hard", random_state=1, tol=1e-9).fit(Z, Z @ u > 0)
    assert model.score(Z, Z @ u > 0) == 1.0
    updates = model.n_updates_
    assert model.partial_fit(Z, Z @ u > 0).n_updates_ <= updates + 3


@pytest.mark.parametrize("target", [y, y3])
def test_early_stopping_ends_fit(target):
    model = PassiveAggressiveClassifier(
        early_stopping=True, validation_fraction=0.25, n_iter_no_change=3, random_state=0
    ).fit(X, target)
    assert 3 < model.n_iter_ < 1000
    assert model.t_ == 90 * model.n_iter_ + 1
    with pytest.raises(ValueError, match="early_stopping"):
        model.partial_fit(X, target)


def test_early_stopping_ends_fit_of_regressors_and_multilabel():
    numbers = X @ np.arange(6.0)
    model = PassiveAggressiveRegressor(early_stopping=True, random_state=0).fit(X, numbers)
    assert model.t_ == 108 * model.n_iter_ + 1
    assert model.score(X, numbers) > 0.9
    labels = np.column_stack([y, 1 - y])
    many = PassiveAggressiveClassifier(early_stopping=True, random_state=0).fit(X, labels)
    assert many.t_ == 108 * many.n_iter_ + 1


def test_same_seed_gives_the_same_model():
    one, two, three = (
        PassiveAggressiveClassifier(random_state=seed, max_iter=3, tol=None).fit(X, y)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(one.coef_, two.coef_)
    assert not np.array_equal(one.coef_, three.coef_)


@pytest.mark.parametrize("target", [y, y3])
def test_warm_start_continues(target):
    last = {**ONE_PASS, "average": False}  # averages count the rows of the second fit as new
    warm = PassiveAggressiveClassifier(warm_start=True, **last).fit(X, target)
    warm.fit(X, target)
    twice = PassiveAggressiveClassifier(**{**last, "max_iter": 2}).fit(X, target)
    assert np.array_equal(warm.coef_, twice.coef_)
    assert warm.t_ == twice.t_ == 241
    cold = PassiveAggressiveClassifier(**ONE_PASS).fit(X, target)
    first = np.array(cold.coef_)
    assert np.array_equal(cold.fit(X, target).coef_, first)
    with pytest.raises(ValueError, match="warm_start"):
        warm.fit(X, rng.integers(0, 7, 120))


def test_initial_weights_are_used():
    """Initial weights that satisfy all margins do not change; the intercept is used too."""
    u = rng.standard_normal(6)
    Z = X[np.abs(X @ u) > 0.2]
    labels = (Z @ u > 0).astype(int)
    model = PassiveAggressiveClassifier(**ONE_PASS).fit(Z, labels, coef_init=10 * u)
    assert_close(model.coef_, [10 * u], rtol=1e-14)
    model.fit(Z, labels, coef_init=10 * u[None], intercept_init=[0.25])
    assert_close(model.intercept_, [0.25], rtol=1e-14)
    assert model.n_updates_ == 0
    W, b = rng.standard_normal((4, 6)), rng.standard_normal(4)
    several = PassiveAggressiveClassifier(C=1e-12, **ONE_PASS)
    several.fit(X3, y3, coef_init=W, intercept_init=b)
    np.testing.assert_allclose(several.coef_, W, atol=1e-9)
    np.testing.assert_allclose(several.intercept_, b, atol=1e-9)
    with pytest.raises(ValueError, match=r"coef_init.*\(4, 6\)"):
        several.fit(X3, y3, coef_init=np.zeros((3, 6)))
    with pytest.raises(ValueError, match=r"intercept_init.*4"):
        several.fit(X3, y3, intercept_init=[1.0])


def test_class_weight_is_a_sample_weight():
    """As dict or "balanced", in fit and in partial_fit (from the counts so far)."""
    table = {0: 0.2, 1: 3.0}
    for axes in ({"loss": "hinge", "C": 0.05}, {"loss": "squared_hinge"}):
        a = PassiveAggressiveClassifier(class_weight=table, **axes, **ONE_PASS).fit(X, y)
        plain = PassiveAggressiveClassifier(**axes, **ONE_PASS)
        b = plain.fit(X, y, sample_weight=np.where(y == 1, 3.0, 0.2))
        assert np.array_equal(a.coef_, b.coef_)
        both = PassiveAggressiveClassifier(class_weight=table, **axes, **ONE_PASS)
        c = both.fit(X, y, sample_weight=np.full(120, 2.0))
        d = plain.fit(X, y, sample_weight=np.where(y == 1, 6.0, 0.4))
        assert np.array_equal(c.coef_, d.coef_)
    counts = np.bincount(y)
    e = PassiveAggressiveClassifier(class_weight="balanced", C=0.05, **ONE_PASS).fit(X, y)
    f = PassiveAggressiveClassifier(C=0.05, **ONE_PASS)
    f.fit(X, y, sample_weight=(120 / (2 * counts))[y])
    assert_close(e.coef_, f.coef_, rtol=1e-12)


def test_balanced_class_weights_follow_a_stream():
    balanced = PassiveAggressiveClassifier(class_weight="balanced", C=0.05)
    plain = PassiveAggressiveClassifier(C=0.05)
    seen = np.zeros(2)
    for start in range(0, 120, 20):
        some = slice(start, start + 20)
        seen = seen + np.bincount(y[some], minlength=2)
        balanced.partial_fit(X[some], y[some], classes=[0, 1])
        weights = (seen.sum() / (np.count_nonzero(seen) * seen))[y[some]]
        plain.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=weights)
        assert_close(balanced.coef_, plain.coef_, rtol=1e-12)


def test_verbose_prints_each_pass(capsys):
    PassiveAggressiveClassifier(verbose=1, max_iter=3, tol=None).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("loss" in line and f"{k}" in line for k, line in enumerate(lines, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        PassiveAggressiveClassifier(max_iter=3).fit(X, y)
    assert capsys.readouterr().out == ""


def test_class_means_are_frozen_within_fit_only():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.2], [0.1, 1.0]])
    y = np.array([0, 1, 0, 1])
    model = PassiveAggressiveClassifier(class_mean=0.5, max_iter=3, tol=None, shuffle=False)
    model.fit(X, y)
    assert model._learner.state()["class_total"][0] == len(y)
    model.partial_fit(X, y)
    assert model._learner.state()["class_total"][0] == 2 * len(y)
