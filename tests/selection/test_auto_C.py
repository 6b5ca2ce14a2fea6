"""C="auto": the candidate with the lowest progressive error predicts."""

import pickle

import numpy as np
import pytest
from closeness import assert_close
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

import aggro


def stream(name="cancer", seed=0):
    load = {"cancer": load_breast_cancer, "digits": load_digits}[name]
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


@pytest.mark.parametrize("metric", ["euclidean", "diagonal"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_auto_is_near_the_best_fixed_C_at_any_scale(metric, scale):
    X, y = stream("digits")
    auto = aggro.PassiveAggressiveClassifier(C="auto", metric=metric).partial_fit(X * scale, y)
    best = min(candidate["mistakes"] for candidate in auto.candidates_)
    assert auto.n_mistakes_ <= best + 0.02 * len(y)
    assert auto.C_ in [candidate["C"] for candidate in auto.candidates_]
    assert sum(candidate["chosen"] for candidate in auto.candidates_) == 1


def test_the_best_candidate_is_the_same_model_learned_alone():
    X, y = stream()
    auto = aggro.PassiveAggressiveClassifier(C="auto", metric="diagonal").partial_fit(X, y)
    alone = aggro.PassiveAggressiveClassifier(C=auto.C_, metric="diagonal").partial_fit(X, y)
    assert_close(auto.coef_, alone.coef_, rtol=1e-10)
    assert_array_equal(auto.predict(X), alone.predict(X))


def test_a_given_C_never_changes():
    X, y = stream("digits")
    fixed = aggro.PassiveAggressiveClassifier(C=0.1, metric="auto")
    for _ in range(3):
        fixed.partial_fit(X, y)
    assert {candidate["C"] for candidate in fixed.candidates_} == {0.1}
    assert {candidate["metric"] for candidate in fixed.candidates_} <= {
        "euclidean",
        "diagonal",
        "adagrad",
    }


def test_fit_selects_C_in_the_first_pass():
    X, y = stream()
    model = aggro.PassiveAggressiveClassifier(
        C="auto", metric="diagonal", max_iter=4, tol=None, shuffle=False
    ).fit(X, y)
    first = aggro.PassiveAggressiveClassifier(C="auto", metric="diagonal").partial_fit(X, y)
    assert model.C_ == first.C_
    assert model.score(X, y) > 0.9


def test_regressors_choose_the_candidate_of_the_lowest_error():
    X, y = load_diabetes(return_X_y=True)
    model = aggro.PassiveAggressiveRegressor(C="auto", metric="diagonal").partial_fit(X, y)
    least = min(model.candidates_, key=lambda candidate: candidate["recent_loss"])
    assert least["chosen"]


def test_the_grid_moves_when_its_edge_is_best():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = X[:, 0].copy()
    y[500:] *= 1e9  # only steps far beyond the grid can follow
    model = aggro.PassiveAggressiveRegressor(C="auto", fit_intercept=False, epsilon=0.0)
    before = None
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
        before = before or max(candidate["C"] for candidate in model.candidates_)
    assert max(candidate["C"] for candidate in model.candidates_) > before


def test_classes_may_appear_during_selection():
    X, y = stream("digits")
    model = aggro.PassiveAggressiveClassifier(C="auto", metric="diagonal", average="auto")
    for start in range(0, len(y), 150):
        model.partial_fit(X[start : start + 150], np.minimum(y[start : start + 150], start // 150))
    assert_array_equal(model.classes_, np.arange(10))
    assert model.score(X, y) > 0.8


def test_pickling_and_a_rejected_row_leave_the_selection_unchanged():
    X, y = stream()
    model = aggro.PassiveAggressiveClassifier(C="auto").partial_fit(X[:300], y[:300])
    copy = pickle.loads(pickle.dumps(model))
    bad = X[300:].copy()
    bad[100, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[300:])
    for one in (model, copy):
        one.partial_fit(X[300:], y[300:])
    assert_array_equal(model.coef_, copy.coef_)
    assert model.n_mistakes_ == copy.n_mistakes_ and model.C_ == copy.C_


def test_nothing_is_selected_if_C_is_a_number():
    X, y = stream()
    model = aggro.PassiveAggressiveClassifier(C=0.5).partial_fit(X, y)
    assert model.C_ == 0.5
    with pytest.raises(AttributeError, match="auto"):
        _ = model.candidates_


def test_selection_after_fit_continues_from_the_first_pass():
    X, y = stream()
    model = aggro.PassiveAggressiveClassifier(C="auto", max_iter=3, tol=None, shuffle=False)
    model.fit(X, y)
    chosen, mistakes = model.C_, [candidate["mistakes"] for candidate in model.candidates_]
    once = aggro.PassiveAggressiveClassifier(C="auto").partial_fit(X, y)
    assert chosen == once.C_ and mistakes == [
        candidate["mistakes"] for candidate in once.candidates_
    ]
    model.partial_fit(X[:50], y[:50])
    assert [candidate["mistakes"] for candidate in model.candidates_] != mistakes
