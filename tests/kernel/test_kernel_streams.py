"""Streams of kernel models: chunks, storage, saving, interrupts and new classes."""

import pickle
import signal
import threading
import time

import numpy as np
import pytest
from kernel_helpers import STRATEGIES, data, estimator, scores
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

import aggro

KINDS = [
    {},
    {"average": True},
    {"batch_size": 5},
    *({"budget": 8, "budget_strategy": s} for s in STRATEGIES),
    {"budget": 8, "budget_strategy": "projection", "average": True},
]


def user_kernel(A, B):
    return np.exp(-0.2 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def sparse_kernel(A, B):
    return A @ B.T


def learn(model, X, y, cuts):
    for some in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[some], y[some], classes=np.arange(4))
    return model


@pytest.mark.parametrize("params", KINDS)
def test_saved_stream_continues_identically(params):
    X, y = data("multiclass", n=100, seed=1)
    whole = learn(estimator("multiclass", gamma=0.2, **params), X, y, [50])
    half = estimator("multiclass", gamma=0.2, **params)
    half.partial_fit(X[:50], y[:50], classes=np.arange(4))
    half = pickle.loads(pickle.dumps(half))
    half.partial_fit(X[50:], y[50:])
    np.testing.assert_array_equal(half.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(half.support_, whole.support_)
    np.testing.assert_array_equal(half.decision_function(X), whole.decision_function(X))
    assert half.n_mistakes_ == whole.n_mistakes_ and half.t_ == whole.t_


@pytest.mark.parametrize("params", [p for p in KINDS if "batch_size" not in p])
def test_result_does_not_depend_on_the_size_of_calls(params):
    X, y = data("multiclass", n=90, seed=2)
    whole = learn(estimator("multiclass", gamma=0.2, **params), X, y, [])
    for cuts in ([1], [10, 11, 40], list(range(1, 90))):
        cut = learn(estimator("multiclass", gamma=0.2, **params), X, y, cuts)
        np.testing.assert_allclose(
            cut.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("d", [6, 700])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("params", [{}, {"budget": 8, "budget_strategy": "projection"}])
def test_sparse_rows_equal_dense_rows(d, kernel, params):
    X, y = data("multiclass", n=70, d=d, seed=3)
    X[np.random.default_rng(0).random(X.shape) < 0.8] = 0
    params = {**params, "gamma": 3 / d, "kernel": kernel, "C": 0.1}
    dense = learn(estimator("multiclass", **params), X, y, [30])
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for sparse in (csr_matrix(X), wide):
        model = learn(estimator("multiclass", **params), sparse, y, [30])
        expected = dense.decision_function(X)
        atol = 1e-9 * max(1, np.abs(expected).max())
        np.testing.assert_allclose(model.decision_function(sparse), expected, atol=atol)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=atol)
        vectors = model.support_vectors_
        vectors = vectors.toarray() if d == 700 else vectors
        np.testing.assert_array_equal(vectors, X[model.support_])
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(
            again.decision_function(sparse), model.decision_function(sparse)
        )
    mixed = estimator("multiclass", **params)
    mixed.partial_fit(csr_matrix(X[:30]), y[:30], classes=np.arange(4)).partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(mixed.decision_function(X), dense.decision_function(X), atol=1e-8)


def test_unsorted_and_repeated_indices():
    X, y = data("binary", n=20, d=600, seed=4)
    X[:, 3:] = 0
    doubled = csr_matrix(
        (np.repeat(X[:, :3].ravel() / 2, 2), np.tile([2, 0, 1, 1, 0, 2], 20), np.arange(21) * 6),
        shape=(20, 600),
    )
    doubled.data = np.stack([X[:, 2], X[:, 0], X[:, 1] / 2, X[:, 1] / 2, 0 * y, 0 * y], 1).ravel()
    plain = estimator("binary", gamma=0.3).partial_fit(csr_matrix(X), y, classes=[0, 1])
    model = estimator("binary", gamma=0.3).partial_fit(doubled, y, classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("params", KINDS)
def test_precomputed_and_callable_kernels_equal_rbf(task, params):
    X, y = data(task, n=60, seed=5)
    params = {"max_iter": 3, "tol": None, "random_state": 0, "gamma": 0.2, **params}
    rbf = estimator(task, **params).fit(X, y)
    K = user_kernel(X, X)
    matrix = estimator(task, kernel="precomputed", **params).fit(K, y)
    function = estimator(task, kernel=user_kernel, **params).fit(X, y)
    for model, given in ((matrix, K), (function, X)):
        np.testing.assert_allclose(scores(model, given), scores(rbf, X), atol=1e-9)
        np.testing.assert_array_equal(np.sort(model.support_), np.sort(rbf.support_))
    np.testing.assert_array_equal(function.support_vectors_, X[function.support_])
    assert matrix.support_vectors_.size == 0
    again = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(scores(again, X), scores(function, X))


def test_callable_kernels_learn_streams():
    X, y = data("multiclass", n=60, seed=6)
    whole = learn(estimator("multiclass", kernel=user_kernel, budget=9), X, y, [])
    cut = estimator("multiclass", kernel=user_kernel, budget=9)
    for k in range(0, 60, 7):
        cut.partial_fit(X[k : k + 7], y[k : k + 7], classes=np.arange(4))
        cut = pickle.loads(pickle.dumps(cut))
    np.testing.assert_allclose(cut.decision_function(X), whole.decision_function(X), atol=1e-10)
    sparse = estimator("multiclass", kernel=sparse_kernel, C=0.1)
    learn(sparse, csr_matrix(X), y, [20])
    linear = learn(estimator("multiclass", kernel="linear", C=0.1), X, y, [20])
    np.testing.assert_allclose(
        sparse.decision_function(csr_matrix(X)), linear.decision_function(X), atol=1e-9
    )


def test_float32_rows_are_not_converted():
    X, y = data("binary", seed=7)
    X = X.astype(np.float32)
    one = estimator("binary", gamma=0.2).partial_fit(X, y, classes=[0, 1])
    two = estimator("binary", gamma=0.2).partial_fit(X.astype(np.float64), y, classes=[0, 1])
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_repeated_row_adds_to_its_coefficient():
    X, y = data("binary", n=30, seed=8)
    params = {"gamma": 0.1, "C": 0.05, "max_iter": 20, "tol": None, "shuffle": False}
    model = estimator("binary", **params).fit(X, y)
    assert model.n_updates_ > 30 >= model.n_support_ == len(set(model.support_))
    stream = estimator("binary", gamma=0.1, C=0.05)
    for _ in range(20):
        stream.partial_fit(X, y, classes=[0, 1])
    assert stream.n_support_ == model.n_updates_
    np.testing.assert_allclose(stream.decision_function(X), model.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_several_passes_keep_the_budget(strategy):
    X, y = data("multiclass", n=50, seed=9)
    params = {"budget": 10, "budget_strategy": strategy, "gamma": 0.2, "batch_size": 4}
    model = estimator("multiclass", max_iter=8, tol=None, random_state=0, **params).fit(X, y)
    assert model.n_support_ == len(set(model.support_)) <= 10
    K = np.exp(-0.2 * ((X[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2))
    expected = K @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-10)


def test_repeated_rows_equal_a_weight():
    X, y = data("binary", n=25, seed=10)
    once = estimator("binary", gamma=0.2, C=0.3)
    once.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(25, 3.0))
    copies = estimator("binary", gamma=0.2, C=0.3)
    copies.partial_fit(np.repeat(X, 3, axis=0), np.repeat(y, 3), classes=[0, 1])
    np.testing.assert_allclose(copies.decision_function(X), once.decision_function(X), atol=1e-10)
    weighted = estimator("binary", gamma=0.2, C=0.3, class_weight={0: 3.0, 1: 3.0})
    weighted.partial_fit(X, y, classes=[0, 1])
    np.testing.assert_array_equal(weighted.decision_function(X), once.decision_function(X))


def test_new_classes_are_learned():
    X, y = data("multiclass", n=60, seed=11)
    order = np.argsort(y > 1, kind="stable")
    X, y = X[order], y[order]
    for params in ({}, {"multiclass": "ovr"}, {"budget": 10}, {"average": True}):
        model = estimator("multiclass", gamma=0.2, **params)
        for row, label in zip(X, y, strict=True):
            known = getattr(model, "classes_", np.array([], dtype=int))
            if label in known:
                model.partial_fit(row[None], [label])
                continue
            before = model.predict(X) if len(known) > 1 else None
            model.partial_fit(row[None], [label])
            assert label in model.classes_ and len(model.classes_) == len(known) + 1
            assert before is None or model.decision_function(X[:2]).shape[1] == len(known) + 1
        assert list(model.classes_) == [0, 1, 2, 3] and model.t_ == 61


def test_prediction_changes_nothing():
    X, y = data("multiclass", seed=12)
    model = learn(estimator("multiclass", budget=10, budget_strategy="nearest"), X, y, [])
    before = {k: v.copy() for k, v in model._learner.model.state().items()}
    model.predict(X), model.decision_function(X), model.score(X, y)
    after = model._learner.model.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_clone_and_fit_start_again():
    X, y = data("multiclass", seed=13)
    model = estimator("multiclass", gamma=0.2, random_state=3, max_iter=3, tol=None).fit(X, y)
    first = model.decision_function(X)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), first)
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X), first)


def test_interrupted_learning_leaves_a_consistent_model():
    X = np.random.default_rng(0).normal(size=(4000, 200))
    y = np.random.default_rng(1).integers(0, 2, 4000)
    model = estimator("binary", gamma=0.01).partial_fit(X[:50], y[:50], classes=[0, 1])
    timer = threading.Timer(0.15, lambda: signal.raise_signal(signal.SIGINT))
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(200):
            model.partial_fit(X, y)
    timer.join()
    assert time.perf_counter() - begun < 5
    assert np.isfinite(model.decision_function(X[:10])).all()
    model.partial_fit(X[:10], y[:10])


class InterruptedCore:
    """A core that is interrupted after five rows of the next call."""

    def __init__(self, core):
        self.core = core

    def __getattr__(self, name):
        return getattr(self.core, name)

    def learn(self, rows, labels, values, weights, order, *rest):
        present = np.arange(rows.count) if weights is None else np.flatnonzero(weights > 0)
        self.core.learn(rows, labels, values, weights, present[:5], *rest)
        raise KeyboardInterrupt


@pytest.mark.parametrize("weighted", [False, True])
def test_interrupted_call_numbers_examples_as_if_it_had_been_two(weighted):
    X, y = data("multiclass", n=40, classes=3)
    weights = np.tile([0.0, 1.0], 20) if weighted else np.ones(40)
    whole, model = (estimator("multiclass", C=10.0) for _ in range(2))
    whole.partial_fit(X, y, classes=range(3), sample_weight=weights)
    model.partial_fit(X[:10], y[:10], classes=range(3), sample_weight=weights[:10])
    core = model._learner.model
    model._learner.model = InterruptedCore(core)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[10:], y[10:], sample_weight=weights[10:])
    model._learner.model = core
    rest = 20 if weighted else 15
    model.partial_fit(X[rest:], y[rest:], sample_weight=weights[rest:])
    np.testing.assert_array_equal(model.support_, whole.support_)


def test_threads_learn_concurrently():
    X, y = data("multiclass", n=300, seed=14)
    alone = learn(estimator("multiclass", gamma=0.2), X, y, [])
    models = [estimator("multiclass", gamma=0.2) for _ in range(3)]
    threads = [threading.Thread(target=learn, args=(m, X, y, [])) for m in models]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for model in models:
        np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_changed_C_is_kept_by_copies_and_files(tmp_path):
    X, y = data("multiclass", 120, classes=3)
    model = estimator("multiclass", C=1.0).partial_fit(X[:40], y[:40], classes=range(3))
    model.set_params(C=1e-3).partial_fit(X[40:80], y[40:80])
    aggro.save(model, tmp_path / "model.aggro")
    copies = [pickle.loads(pickle.dumps(model)), aggro.load(tmp_path / "model.aggro")]
    for each in (model, *copies):
        assert each._learner.settings.C == 1e-3
        each.partial_fit(X[80:], y[80:])
    for each in copies:
        np.testing.assert_array_equal(scores(each, X), scores(model, X))
