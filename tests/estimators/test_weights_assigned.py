"""coef_ and intercept_ are read-only, and assigned ones are used for predictions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from estimator_support import CLASSES, KERNELS, ROWS, VALUES, knowledge
from linear_support import reference_of, train_reference

import aggro
from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor

KINDS = [
    {"average": average, "class_mean": mean, "queue": queue, "metric": metric}
    for average, mean, queue, metric in itertools.product(
        (False, True, 10, "reservoir"), (0.0, 0.3), (1, 3), ("euclidean", "diagonal", "full")
    )
]


def trained(two=False, dtype=np.float64, **axes):
    y = CLASSES > 0 if two else CLASSES
    return PassiveAggressiveClassifier(C=0.3, **axes).partial_fit(ROWS.astype(dtype), y)


def every_kind():
    for axes in ({}, {"average": True}, {"class_mean": 0.2}, {"scale": "online"}, {"C": "auto"}):
        yield PassiveAggressiveClassifier(**axes).partial_fit(ROWS, CLASSES)
    yield PassiveAggressiveRegressor().partial_fit(ROWS, VALUES)
    yield aggro.AROWClassifier().partial_fit(ROWS, CLASSES)
    for cls in KERNELS:
        y = VALUES if cls is aggro.KernelPassiveAggressiveRegressor else CLASSES
        yield cls(kernel="linear").partial_fit(ROWS, y)


def test_fitted_arrays_are_read_only():
    for model in every_kind():
        names = ["coef_", "intercept_"]
        names += ["dual_coef_", "support_vectors_", "support_"] * (type(model) in KERNELS)
        before = knowledge(model)
        for name in names:
            with pytest.raises(ValueError, match="read-only"):
                getattr(model, name)[...] = 0
        assert knowledge(model) == before


def test_sparse_and_callable_kernels_show_read_only_rows():
    def product(A, B):
        return A @ B.T

    sparse = sp.csr_matrix(np.hstack([ROWS, np.zeros((120, 600))]))
    for rows, kernel in ((ROWS, product), (sparse, "rbf"), (sparse, product)):
        model = aggro.KernelPassiveAggressiveClassifier(kernel=kernel).partial_fit(rows, CLASSES)
        shown = model.support_vectors_
        with pytest.raises(ValueError, match="read-only"):
            (shown.data if sp.issparse(shown) else shown)[...] = 0
        model.partial_fit(rows, CLASSES)


def test_sparsified_weights_cannot_be_written_to():
    model = trained().sparsify()
    with pytest.raises(ValueError, match="read-only"):
        model.coef_.data[:] = 0
    model.coef_ = model.coef_ * 2  # as a sparse matrix, too
    assert isinstance(model.coef_, np.ndarray)


@pytest.mark.parametrize("two", [True, False])
@pytest.mark.parametrize("axes", KINDS, ids=lambda axes: "-".join(map(str, axes.values())))
def test_assigned_weights_predict(axes, two):
    """This holds for all predictors; the other attribute stays."""
    model = trained(two, **axes)
    W, b = np.ones(model.coef_.shape) * 0.5, model.intercept_.copy()
    model.coef_ = W
    np.testing.assert_array_equal(model.coef_, W)
    assert_close(model.intercept_, b, rtol=1e-12)
    scores = model.decision_function(ROWS).reshape(120, -1)
    assert_close(scores, ROWS @ W.T + b, rtol=1e-12)
    model.intercept_ = b + 2
    np.testing.assert_array_equal(model.coef_, W)
    scores = model.decision_function(ROWS).reshape(120, -1)
    assert_close(scores, ROWS @ W.T + b + 2, rtol=1e-12)
    model.partial_fit(ROWS, CLASSES > 0 if two else CLASSES)
    assert np.isfinite(model.coef_).all()
    assert not np.array_equal(model.coef_, W)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("queue", [1, 3])
def test_learning_continues_from_assigned_weights(average, queue):
    """The model equals a new one that starts from the weights."""
    X, y = ROWS, (CLASSES > 0).astype(int)
    W, b = np.array([[0.5, -1.0, 2.0, 0.0]]), np.array([0.25])
    model = trained(two=True, average=average, queue=queue)
    model.coef_, model.intercept_ = W, b
    model.partial_fit(X, y)
    fresh = PassiveAggressiveClassifier(
        C=0.3, average=average, queue=queue, max_iter=1, tol=None, shuffle=False
    )
    fresh.fit(X, y, coef_init=W, intercept_init=b)
    assert_close(model.coef_, fresh.coef_, rtol=1e-12)
    assert_close(model.intercept_, fresh.intercept_, rtol=1e-12)
    if not average and queue == 1:
        reference = reference_of(fresh._learner.settings, 4, 1)
        reference.groups[0].W = np.hstack([W, b[None]])
        train_reference(reference, X, y, np.ones(len(y)))
        np.testing.assert_allclose(model.coef_, reference.W, atol=1e-10)


def test_class_means_still_pull_after_an_assignment():
    model = trained(two=True, class_mean=0.3)
    counts = model._learner.state()["class_weight_seen"]
    model.coef_ = np.zeros((1, 4))
    assert np.array_equal(model._learner.state()["class_weight_seen"], counts)


def test_reservoir_restarts_after_an_assignment():
    """Assigned weights have not survived any example yet."""
    model = PassiveAggressiveClassifier(average="reservoir", reservoir_size=2, random_state=0)
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    model.partial_fit(X, y)
    for _ in range(200):
        model.partial_fit(X, y)  # all margins are satisfied: the classifier survives
    model.coef_, model.intercept_ = [[5.0]], [0.0]
    model.partial_fit(-X, y)  # wrong predictions change it
    assert model._learner.state()["pool_fill"].max() <= 1
    assert model.coef_[0, 0] < 5.0


def test_invalid_weights_are_rejected():
    for model in (trained(), trained(average=True), trained(dtype=np.float32)):
        before = knowledge(model)
        for value, words in (
            (np.zeros((4, 3)), r"coef_ has shape \(4, 3\).*expected \(3, 4\)"),
            (np.zeros(12), r"shape \(12,\)"),
            (np.full((3, 4), np.nan), "coef_ contains NaN"),
        ):
            with pytest.raises(ValueError, match=words):
                model.coef_ = value
        with pytest.raises(ValueError, match=r"intercept_ has shape \(2,\).*\(3,\)"):
            model.intercept_ = [1.0, 2.0]
        with pytest.raises(ValueError, match="intercept_ contains NaN"):
            model.intercept_ = np.inf
        assert knowledge(model) == before
    with pytest.raises(ValueError, match="too large for float32"):
        trained(dtype=np.float32).coef_ = np.full((3, 4), 1e300)
    with pytest.raises(ValueError, match="scale='online'"):
        trained(scale="online").coef_ = np.zeros((3, 4))
    with pytest.raises(ValueError, match="cannot be given weights"):
        PassiveAggressiveClassifier(C="auto").partial_fit(ROWS, CLASSES).intercept_ = 0.0
    with pytest.raises(AttributeError, match="no coef_ before fit"):
        PassiveAggressiveClassifier().coef_ = np.zeros((1, 4))


def test_one_output_accepts_a_flat_array():
    model, two = PassiveAggressiveRegressor().partial_fit(ROWS, VALUES), trained(two=True)
    for each in (model, two):
        each.coef_, each.intercept_ = np.arange(4.0), 0.5
        assert np.array_equal(np.ravel(each.coef_), np.arange(4.0))
    np.testing.assert_allclose(model.predict(ROWS), ROWS @ np.arange(4.0) + 0.5, atol=1e-12)
    several = trained()
    several.intercept_ = 2.0  # of every output
    assert several.intercept_.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("average", [False, True])
def test_an_intercept_that_is_not_learned_is_used(average):
    model = trained(two=True, fit_intercept=False, average=average)
    model.intercept_ = 3.0
    assert_close(model.decision_function(ROWS), ROWS @ model.coef_[0] + 3.0)
    model.partial_fit(ROWS, CLASSES > 0)
    np.testing.assert_allclose(
        model.decision_function(ROWS), ROWS @ model.coef_[0] + model.intercept_[0], atol=1e-12
    )
