"""Sparse rows with unsorted or repeated feature indices, as text vectorizers make them."""

import numpy as np
import pytest
import scipy.sparse as sp
from closeness import assert_close
from linear_support import CASES, make_learner, make_problem, train

from aggro import (
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
)
from aggro.settings import Settings
from aggro.training_batch import TrainingBatch

rng = np.random.default_rng(8)
DENSE = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.3)
LABELS = (DENSE @ rng.normal(size=30) > 0).astype(int) + (DENSE[:, 0] > 0.5)


def shuffled(X, repeats=False, wide=False):
    """Return the rows with shuffled feature indices; ``repeats`` splits each value in two."""
    csr = sp.csr_array(X)
    data, indices, starts = [], [], [0]
    for start, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        values, features = csr.data[start:end], csr.indices[start:end]
        if repeats:
            values, features = np.tile(values / 2, 2), np.tile(features, 2)
        order = rng.permutation(len(values))
        data.append(values[order])
        indices.append(features[order])
        starts.append(starts[-1] + len(order))
    kind = np.int64 if wide else np.int32
    parts = (np.concatenate(data), np.concatenate(indices).astype(kind), np.array(starts, kind))
    return sp.csr_array(parts, shape=X.shape)


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_order_of_features_does_not_change_the_model(case, batch_size, wide, repeats):
    task, outputs, multiclass = CASES[case]
    X, y = make_problem(task, outputs, rng)
    loss = "epsilon_insensitive" if task == "regression" else "hinge"
    settings = Settings(task, loss=loss, multiclass=multiclass, batch_size=batch_size)
    sorted_one = train(make_learner(settings, X.shape[1], outputs), sp.csr_array(X), y)
    other = train(make_learner(settings, X.shape[1], outputs), shuffled(X, repeats, wide), y)
    np.testing.assert_allclose(other.coef(), sorted_one.coef(), atol=1e-10)
    np.testing.assert_allclose(other.intercept(), sorted_one.intercept(), atol=1e-10)


@pytest.mark.parametrize("max_iter", [1, 4])
@pytest.mark.parametrize(
    "kind",
    [PassiveAggressiveClassifier, PassiveAggressiveRegressor, KernelPassiveAggressiveClassifier],
)
def test_estimators_do_not_modify_the_matrix(kind, max_iter):
    X = shuffled(DENSE)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    params = {"max_iter": max_iter, "tol": None, "random_state": 0}
    model, plain = kind(**params).fit(X, LABELS), kind(**params).fit(DENSE, LABELS)
    for kept, now in zip(before, (X.data, X.indices, X.indptr), strict=True):
        assert kept.tobytes() == now.tobytes()
    np.testing.assert_allclose(model.predict(X), plain.predict(DENSE), atol=1e-9)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
def test_rows_validated_once_give_the_same_model(repeats, wide):
    """Later passes skip the check for repeated features."""
    settings = Settings("multiclass", C=0.1)
    parts = {"labels": LABELS.astype(np.int64)}
    rows, plain = TrainingBatch(shuffled(DENSE, repeats, wide), parts), TrainingBatch(DENSE, parts)
    learner, expected = (make_learner(settings, DENSE.shape[1], 3) for _ in range(2))
    for again in (False, True, True):
        rows.train(learner, again=again)
        plain.train(expected, again=again)
    np.testing.assert_allclose(learner.coef(), expected.coef(), atol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 4])
@pytest.mark.parametrize("wrong", [-1, 30, 2**30, 2**32 + 3, -(2**32) + 3])
def test_error_names_an_index_out_of_range(wrong, max_iter):
    X = shuffled(DENSE)
    if abs(wrong) > 2**31:  # truncated to 32 bits it would be valid
        X.indices = X.indices.astype(np.int64)
    X.indices[7] = wrong
    with pytest.raises(ValueError, match=f"feature index {wrong} is outside a matrix of 30 feat"):
        PassiveAggressiveClassifier(max_iter=max_iter, tol=None).fit(X, LABELS)
    model = PassiveAggressiveClassifier().fit(DENSE, LABELS)
    with pytest.raises(ValueError, match=f"feature index {wrong} is outside a matrix of 30 feat"):
        model.predict(X)


@pytest.mark.parametrize("scale", ["none", "online"])
@pytest.mark.parametrize("repeats", [False, True])
def test_initial_grid_does_not_depend_on_the_storage_of_a_row(repeats, scale):
    """The grid of C depends on the norm of the first row only."""
    for i in range(20):
        models = [
            PassiveAggressiveClassifier(C="auto", scale=scale).partial_fit(
                X, LABELS[i : i + 1], classes=[0, 1, 2]
            )
            for X in (sp.csr_array(DENSE[i : i + 1]), shuffled(DENSE[i : i + 1], repeats))
        ]
        grids = [[candidate["C"] for candidate in model.candidates_] for model in models]
        assert grids[0] == grids[1]
        units = [each._learner.learners[0].model.unit for each in models]
        assert_close(*units, rtol=1e-12)


@pytest.mark.parametrize("repeats", [False, True])
def test_gamma_does_not_depend_on_the_order_of_features(repeats):
    gammas = [
        KernelPassiveAggressiveClassifier(gamma="scale").fit(X, LABELS)._learner.gamma
        for X in (DENSE, sp.csr_array(DENSE), shuffled(DENSE, repeats))
    ]
    assert_close(gammas, gammas[0], rtol=1e-12)
