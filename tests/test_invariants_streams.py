"""The same examples in another form, cut or order of features give the same model."""

import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_strategies import close, variants
from linear_support import same_state, stored, teach

from aggro import PassiveAggressiveClassifier, PassiveAggressiveRegressor
from aggro.learner import rows_of


@given(variants())
def test_dense_is_sparse(v):
    dense = v.taught()
    for storage in ("csr32", "csr64"):
        close(v.taught(stored(v.X, storage)), dense)


@given(variants(), st.sampled_from(["dense", "csr32"]))
def test_any_cut_of_the_stream(v, storage):
    """Bit for bit: one call, calls of any length, one row at a time."""
    X, B = stored(v.X, storage), v.settings.batch_size
    whole = v.taught(X)
    for marks in (v.rng.choice(len(v.y), 4, replace=False), range(len(v.y))):
        cuts = sorted({0, len(v.y), *(int(mark) // B * B for mark in marks)})
        parts = v.learner()
        for start, end in itertools.pairwise(cuts):
            teach(parts, X[start:end], v.y[start:end])
        if v.settings.metric == "full":  # a pending change of the matrix is written elsewhere
            close(parts, whole)
        else:
            assert same_state(parts, whole)


@given(variants())
def test_order_is_the_one_given(v):
    order = v.rng.permutation(len(v.y))
    by_order = teach(v.learner(), v.X, v.y, order=order.astype(np.int64))
    assert same_state(by_order, v.taught(v.X[order], v.y[order]))


@given(variants(cases=["binary", "support", "ovr", "regression"], losses=range(3), average=False))
def test_partial_fit_keeps_the_order(v):
    """shuffle is for fit: partial_fit learns the rows as they come."""
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
    straight = v.taught(trigger="loss") if s.task == "regression" else v.taught()
    if s.metric == "full":
        close(model._learner, straight)
    else:
        assert np.array_equal(model._learner.coef(), straight.coef())
        assert np.array_equal(model.intercept_, straight.intercept())


@given(variants())
def test_permuted_features(v):
    order = v.rng.permutation(v.X.shape[1])
    a, b = v.taught(), v.taught(np.ascontiguousarray(v.X[:, order]))
    scale = 1e-9 * (1 + np.abs(a.coef()).max())
    np.testing.assert_allclose(b.coef(), a.coef()[:, order], rtol=0, atol=scale)
    np.testing.assert_allclose(b.intercept(), a.intercept(), rtol=0, atol=scale)


@given(variants())
def test_pickle_in_the_middle(v):
    """A model that was put away and taken out again continues as if nothing had happened."""
    half = len(v.y) // 2 // v.settings.batch_size * v.settings.batch_size
    whole = teach(v.taught(v.X[:half], v.y[:half]), v.X[half:], v.y[half:])
    first = v.taught(v.X[:half], v.y[:half])
    again = teach(pickle.loads(pickle.dumps(first)), v.X[half:], v.y[half:])
    if v.settings.metric == "full":
        close(again, whole)
    else:
        assert same_state(again, whole)
    assert again.progress.updates == whole.progress.updates
    assert again.progress.mistakes == whole.progress.mistakes


@given(variants(), st.sampled_from(["dense", "csr32"]))
def test_predicting_changes_nothing(v, storage):
    learner = v.taught()
    before = learner.state()
    first = learner.scores(rows_of(stored(v.X, storage)))
    assert np.array_equal(first, learner.scores(rows_of(stored(v.X, storage))))
    after = learner.state()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


@given(variants())
def test_scores_are_those_of_the_shown_weights(v):
    learner = v.taught()
    expected = v.X @ np.array(learner.coef()).T + learner.intercept()
    scale = 1e-9 * (1 + np.abs(expected).max())
    for storage in ("dense", "csr32", "csr64"):
        scores = learner.scores(rows_of(stored(v.X, storage)))
        np.testing.assert_allclose(scores, expected, rtol=0, atol=scale)


@given(variants(average=False))
def test_single_precision_is_close(v):
    X = v.X.astype(np.float32)
    close(v.taught(X, dtype=np.float32), v.taught(X.astype(np.float64)), 2e-2)


@given(variants())
def test_rows_of_another_precision(v):
    """A model in double reads single rows as the doubles they are."""
    X = v.X.astype(np.float32)
    for storage in ("dense", "csr32"):
        doubles = v.taught(stored(X.astype(np.float64), storage))
        assert same_state(v.taught(stored(X, storage, np.float32)), doubles)


@settings(max_examples=8)
@given(st.lists(variants(n=60), min_size=4, max_size=4))
def test_threads_with_their_own_learners(many):
    sequential = [v.taught() for v in many]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda v: v.taught(), many))
    for v, a, b in zip(many, threaded, sequential, strict=True):
        if v.settings.metric == "full":  # its sums depend on where memory is aligned
            close(a, b)
        else:
            assert same_state(a, b)
