"""Invalid input raises a helpful error and leaves the model unchanged."""

import numpy as np
import pytest
from kernel_helpers import data
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from aggro.estimators.kernel import KernelPassiveAggressiveClassifier as Classifier
from aggro.estimators.kernel import KernelPassiveAggressiveRegressor as Regressor

X, Y = data("multiclass", n=30)
K = X @ X.T
NAN = np.where(np.arange(30)[:, None] == 4, np.nan, X)

PARAMETERS = [
    ({"C": 0.0}, "C=0.0"),
    ({"C": -1}, "greater than 0"),
    ({"C": "big"}, "C='big'"),
    ({"budget": 0}, "budget=0"),
    ({"budget": 2.5}, "budget=2.5"),
    ({"budget": 3, "batch_size": 4}, "at least one mini-batch"),
    ({"budget_strategy": "newest"}, "'simple', 'nearest', 'projection', 'oldest'"),
    ({"kernel": "gauss"}, "'rbf', 'poly', 'linear', 'sigmoid', 'precomputed'"),
    ({"kernel": "rfb"}, "Did you mean 'rbf'"),
    ({"gamma": "wide"}, "'scale', 'auto'"),
    ({"gamma": -0.5}, "gamma=-0.5"),
    ({"degree": -1}, "degree=-1"),
    ({"degree": 2.5}, "degree=2.5"),
    ({"coef0": np.nan}, "coef0=nan"),
    ({"loss": "huber"}, "'hinge'"),
    ({"multiclass": "all"}, "'support', 'top', 'ovr'"),
    ({"loss": "least_squares"}, "multiclass='ovr' or 'top'"),
    ({"batch_size": 0}, "batch_size=0"),
    ({"max_iter": 0}, "max_iter=0"),
    ({"tol": "small"}, "tol='small'"),
    ({"n_iter_no_change": 0}, "n_iter_no_change=0"),
    ({"average": 10}, "True or False"),
    ({"average": True, "budget": 5}, "'projection' or 'nearest'"),
    ({"class_weight": "even"}, "'balanced'"),
    ({"class_weight": {0: -1.0}}, "at least 0"),
]


@pytest.mark.parametrize(("params", "message"), PARAMETERS)
def test_invalid_parameters_are_rejected(params, message):
    with pytest.raises(ValueError, match=message):
        Classifier(**params).fit(X, Y)


DATA = [
    (NAN, Y, {}, "NaN"),
    (np.where(np.isnan(NAN), np.inf, NAN), Y, {}, "infinity"),
    (X, Y[:-1], {}, "30 rows but y has 29"),
    (X, np.zeros(30), {}, "greater than one"),
    (X, None, {}, "requires y"),
    (X, np.linspace(0, 1, 30), {}, "continuous"),
    (X[0], Y[:1], {}, "2D array"),
    (X, Y, {"sample_weight": -np.ones(30)}, "negative weight"),
    (X, Y, {"sample_weight": np.ones(3)}, "one for each row"),
    (X, Y, {"sample_weight": np.full(30, np.nan)}, "NaN"),
    (X, Y, {"sample_weight": np.zeros(30)}, "weights of all rows are zero"),
]


@pytest.mark.parametrize(("rows", "y", "more", "message"), DATA)
def test_invalid_fit_arguments_are_rejected(rows, y, more, message):
    model = Classifier(max_iter=2, tol=None).fit(X, Y)
    before, known = model.decision_function(X), dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, y, **more)
    assert model.__dict__ == known
    np.testing.assert_array_equal(model.decision_function(X), before)


STREAM = [
    (NAN, Y, {}, "NaN"),
    (X[:, :3], Y, {}, "3 features"),
    (X, Y[:-1], {}, "30 rows but y has 29"),
    (X, np.full(30, 9), {}, "9"),
    (X, Y, {"classes": [0, 1]}, "not the same"),
    (X, Y, {"sample_weight": -np.ones(30)}, "negative weight"),
]


@pytest.mark.parametrize("params", [{}, {"budget": 6, "budget_strategy": "nearest"}])
@pytest.mark.parametrize(("rows", "y", "more", "message"), STREAM)
def test_invalid_partial_fit_arguments_are_rejected(params, rows, y, more, message):
    model = Classifier(**params).partial_fit(X, Y, classes=[0, 1, 2, 3])
    before, counts = model.decision_function(X), (model.t_, model.n_mistakes_, model.n_support_)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(rows, y, **more)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert (model.t_, model.n_mistakes_, model.n_support_) == counts


KERNEL_MATRICES = [
    (K[:, :20], "square"),
    (K + np.triu(np.ones_like(K)), "symmetric"),
    (np.where(K[3, 4] == K, np.nan, K), "NaN"),
]


@pytest.mark.parametrize(("matrix", "message"), KERNEL_MATRICES)
def test_precomputed_kernel_equals_the_linear_one(matrix, message):
    with pytest.raises(ValueError, match=message):
        Classifier(kernel="precomputed").fit(matrix, Y)


def test_precomputed_prediction_needs_all_columns():
    model = Classifier(kernel="precomputed", max_iter=2, tol=None).fit(K, Y)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(K[:, :7])
    with pytest.raises(ValueError, match="use fit"):
        model.partial_fit(K, Y)


FUNCTIONS = [
    (lambda A, B: np.ones((1, 1)), "expected"),
    (lambda A, B: A @ B.T * np.nan, "NaN"),
]


@pytest.mark.parametrize(("function", "message"), FUNCTIONS)
def test_invalid_kernel_functions_are_rejected(function, message):
    with pytest.raises(ValueError, match=message):
        Classifier(kernel=function).fit(X, Y)


def test_a_kernel_that_fails_half_way_changes_nothing():
    calls = []

    def moody(A, B):
        calls.append(1)
        if len(calls) == 7:
            raise RuntimeError("not today")
        return A @ B.T

    model = Classifier(kernel=moody, C=0.1).partial_fit(X, Y, classes=[0, 1, 2, 3])
    before, known = model.dual_coef_, model.support_vectors_
    many = np.tile(X, (10, 1))
    with pytest.raises(RuntimeError, match="not today"):
        model.partial_fit(many, np.tile(Y, 10))
    np.testing.assert_array_equal(model.dual_coef_, before)
    np.testing.assert_array_equal(model.support_vectors_, known)


@pytest.mark.parametrize("params", [{"kernel": "poly", "degree": 9}, {"kernel": "linear"}])
def test_overflow_changes_nothing(params):
    model = Classifier(gamma=1.0, **params).partial_fit(X, Y, classes=[0, 1, 2, 3])
    before = model._learner.model.state()
    with pytest.raises(ValueError, match="row 29: its kernel values overflow"):
        model.partial_fit(np.vstack([X[:-1], X[-1:] * 1e200]), Y)
    after = model._learner.model.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_kernel_cannot_change_in_a_stream():
    model = Classifier().partial_fit(X, Y, classes=[0, 1, 2, 3])
    model.set_params(gamma=3.0)
    with pytest.raises(ValueError, match="cannot change"):
        model.partial_fit(X, Y)
    model.set_params(gamma="scale", C=0.25)  # C may change
    model.partial_fit(X, Y)
    assert np.abs(model.dual_coef_).max() <= 1.25 + 1e-12


def test_unfitted_kernel_model_raises():
    with pytest.raises(NotFittedError):
        Classifier().predict(X)
    with pytest.raises(AttributeError, match="before fit"):
        Regressor().dual_coef_  # noqa: B018
    with pytest.raises(AttributeError, match="linear"):
        Classifier().fit(X, Y).coef_  # noqa: B018


def test_invalid_regression_targets_are_rejected():
    model = Regressor(max_iter=2, tol=None).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="columns"):
        model.partial_fit(X, X[:, :2])
    with pytest.raises(ValueError, match="finite"):
        model.partial_fit(X, NAN[:, 0])
    two = Regressor(max_iter=20, tol=None, C=10.0).fit(X, X[:, :2])
    assert two.predict(X).shape == (30, 2) and two.dual_coef_.shape[0] == 2
    assert two.score(X, X[:, :2]) > 0.9


def test_gamma_scale_and_auto_follow_their_formulas():
    for name, value in (("scale", 1 / (5 * X.var())), ("auto", 1 / 5)):
        one = Classifier(gamma=name).partial_fit(X, Y, classes=[0, 1, 2, 3])
        two = Classifier(gamma=value).partial_fit(X, Y, classes=[0, 1, 2, 3])
        np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-12)


def test_several_labels_per_row_are_supported():
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)
    model = Classifier(max_iter=30, tol=None, C=10.0, random_state=0).fit(X, labels)
    assert model.predict(X).shape == (30, 3) and model.score(X, labels) > 0.8


def test_passes_end_without_improvement_or_warn():
    model = Classifier(random_state=0).fit(X, Y)
    assert 5 < model.n_iter_ < 1000 and model.t_ == 1 + 30 * model.n_iter_
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        Classifier(max_iter=2, random_state=0).fit(X, Y)


def test_verbose_reports_each_pass(capsys):
    Classifier(max_iter=3, tol=None, verbose=1).fit(X, Y)
    assert capsys.readouterr().out.count("-- Epoch") == 3
