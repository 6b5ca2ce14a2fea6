"""Storage, chunks and the order of features do not change the model."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_strategies import close, variants
from linear_support import same_state, stored, train

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import rows_of


@given(variants())
def test_dense_and_sparse_rows_give_the_same_model(v):
    dense = v.trained()
    for storage in ("csr32", "csr64"):
        close(v.trained(stored(v.X, storage)), dense)


@given(variants(), st.sampled_from(["dense", "csr32"]))
def test_chunks_of_any_length_give_the_same_model(v, storage):
    """One call, calls of any length and single rows give bitwise equal models."""
    X, B = stored(v.X, storage), v.settings.batch_size
    whole = v.trained(X)
    for marks in (v.rng.choice(len(v.y), 4, replace=False), range(len(v.y))):
        cuts = sorted({0, len(v.y), *(int(mark) // B * B for mark in marks)})
        parts = v.learner()
        for start, end in itertools.pairwise(cuts):
            train(parts, X[start:end], v.y[start:end])
        if v.settings.metric == "full":  # pending changes of the matrix are applied at other rows
            close(parts, whole)
        else:
            assert same_state(parts, whole)


@given(variants())
def test_rows_are_learned_in_the_given_order(v):
    order = v.rng.permutation(len(v.y))
    by_order = train(v.learner(), v.X, v.y, order=order.astype(np.int64))
    assert same_state(by_order, v.trained(v.X[order], v.y[order]))


@given(variants(cases=["binary", "support", "ovr", "regression"], losses=range(3), average=False))
def test_partial_fit_keeps_the_order(v):
    """``shuffle`` affects ``fit`` only."""
    s = v.settings
    names = ["C", "loss", "fit_intercept", "intercept_scaling", "metric", "queue", "batch_size"]
    common = {name: getattr(s, name) for name in names}
    common |= {"shuffle": True, "random_state": 0, "average": False}
    if s.task == "regression":
        model = PassiveAggressiveRegressor(epsilon=s.epsilon, **common)
        model.partial_fit(v.X, v.y[:, 0])
    else:
        axes = {name: getattr(s, name) for name in ("multiclass", "class_mean", "trigger")}
        model = PassiveAggressiveClassifier(**common, **axes)
        model.partial_fit(v.X, v.y, classes=range(max(2, v.outputs)))
    straight = v.trained(trigger="loss") if s.task == "regression" else v.trained()
    if s.metric == "full":
        close(model._learner, straight)
    else:
        assert np.array_equal(model._learner.coef(), straight.coef())
        assert np.array_equal(model.intercept_, straight.intercept())


@given(variants())
def test_permuting_features_permutes_the_weights(v):
    order = v.rng.permutation(v.X.shape[1])
    a, b = v.trained(), v.trained(np.ascontiguousarray(v.X[:, order]))
    scale = 1e-9 * (1 + np.abs(a.coef()).max())
    np.testing.assert_allclose(b.coef(), a.coef()[:, order], rtol=0, atol=scale)
    np.testing.assert_allclose(b.intercept(), a.intercept(), rtol=0, atol=scale)


@given(variants())
def test_pickled_model_continues_identically(v):
    """Learning continues from a pickle as without it."""
    half = len(v.y) // 2 // v.settings.batch_size * v.settings.batch_size
    whole = train(v.trained(v.X[:half], v.y[:half]), v.X[half:], v.y[half:])
    first = v.trained(v.X[:half], v.y[:half])
    again = train(pickle.loads(pickle.dumps(first)), v.X[half:], v.y[half:])
    if v.settings.metric == "full":
        close(again, whole)
    else:
        assert same_state(again, whole)
    assert again.progress.updates == whole.progress.updates
    assert again.progress.mistakes == whole.progress.mistakes


@given(variants(), st.sampled_from(["dense", "csr32"]))
def test_predicting_changes_nothing(v, storage):
    learner = v.trained()
    before = learner.state()
    first = learner.scores(rows_of(stored(v.X, storage)))
    assert np.array_equal(first, learner.scores(rows_of(stored(v.X, storage))))
    after = learner.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@given(variants())
def test_scores_equal_those_of_coef_and_intercept(v):
    learner = v.trained()
    expected = v.X @ np.array(learner.coef()).T + learner.intercept()
    scale = 1e-9 * (1 + np.abs(expected).max())
    for storage in ("dense", "csr32", "csr64"):
        scores = learner.scores(rows_of(stored(v.X, storage)))
        np.testing.assert_allclose(scores, expected, rtol=0, atol=scale)


@given(variants(average=False))
def test_single_precision_is_close_to_double(v):
    X = v.X.astype(np.float32)
    close(v.trained(X, dtype=np.float32), v.trained(X.astype(np.float64)), 2e-2)


@given(variants())
def test_rows_of_single_precision_are_converted_exactly(v):
    """A double-precision model gets the exact values of single-precision rows."""
    X = v.X.astype(np.float32)
    for storage in ("dense", "csr32"):
        doubles = v.trained(stored(X.astype(np.float64), storage))
        assert same_state(v.trained(stored(X, storage, np.float32)), doubles)


@settings(max_examples=8)
@given(st.lists(variants(n=60), min_size=4, max_size=4))
def test_learners_in_separate_threads_do_not_interfere(many):
    sequential = [v.trained() for v in many]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda v: v.trained(), many))
    for v, a, b in zip(many, threaded, sequential, strict=True):
        if v.settings.metric == "full":  # its sums depend on the alignment of memory
            close(a, b)
        else:
            assert same_state(a, b)
