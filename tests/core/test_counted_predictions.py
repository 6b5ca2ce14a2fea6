"""``n_mistakes_`` counts the errors of ``predict`` before each row or batch of rows."""

import copy

import numpy as np
import pytest

import aggro
from aggro import PassiveAggressiveClassifier
from aggro.selection.search_space import INTERVAL


def stream(seed, n, outputs, change):
    """Return rows with features of several sizes; the classes are swapped at ``change``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    scores = X @ rng.normal(size=(6, outputs)) + 0.3 * rng.normal(size=(n, outputs))
    scores[change:] *= -1
    labels = scores.argmax(axis=1) if outputs > 1 else scores[:, 0] > 0
    return X * 3.0 ** rng.integers(-2, 3, 6), labels.astype(int)


def miscounted(model, X, y, first, batch=1, weights=None):
    """Return the rows from ``first`` on where the count disagrees with ``predict``."""
    weights = np.ones(len(y)) if weights is None else weights
    some = slice(0, first)
    model.partial_fit(X[some], y[some], classes=np.unique(y), sample_weight=weights[some])
    found = []
    for start in range(first, len(y), batch):
        some = slice(start, start + batch)
        wrong = (model.predict(X[some]) != y[some]) & (weights[some] > 0)
        before = model.n_mistakes_
        model.partial_fit(X[some], y[some], sample_weight=weights[some])
        if model.n_mistakes_ - before != wrong.sum():
            found.append(start)
    return found


@pytest.mark.parametrize("params", [{}, {"class_weight": "balanced"}, {"multiclass": "ovr"}])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("batch", [1, 4])
def test_counts_agree_before_and_after_the_ensemble_phase(params, outputs, batch):
    X, y = stream(1, 1100, outputs, 1100)
    model = PassiveAggressiveClassifier(C="auto", metric="auto", batch_size=batch, **params)
    assert miscounted(model, X, y, batch, batch) == []


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_agree_when_the_grid_moves(weighted):
    X, y = stream(2, 700, 1, 700)
    X *= np.geomspace(1e-3, 1e3, 700)[:, None]
    weights = np.random.default_rng(3).integers(0, 4, 700).astype(float) if weighted else None
    model = PassiveAggressiveClassifier(C="auto", metric="auto")
    assert miscounted(model, X, y, 1, weights=weights) == []


@pytest.mark.parametrize("average", ["auto", True, False])
@pytest.mark.parametrize("batch", [1, 4])
def test_counts_agree_when_a_selection_restarts(average, batch):
    restarts, found = 0, []
    for seed in range(1, 28, 2):
        X, y = stream(seed, 3200, 3, 2700)
        model = PassiveAggressiveClassifier(
            C="auto", metric="auto", loss="squared_hinge", average=average, batch_size=batch
        )
        found += miscounted(model, X, y, 3 * INTERVAL - 12, batch)
        restarts += model._learner.drift.start > 0
    assert found == [] and restarts > 5


def test_counts_of_texts_agree_when_a_selection_restarts():
    rng = np.random.default_rng(1)
    words = rng.integers(0, 500, (3200, 8))
    scores = rng.normal(size=(500, 3))[words].sum(axis=1) + rng.normal(size=(3200, 3))
    scores[2700:] *= -1
    y = scores.argmax(axis=1)
    texts = np.array([" ".join(f"w{word}" for word in row) for row in words], dtype=object)
    model = aggro.TextClassifier(idf=False)
    assert miscounted(model, texts, y, 3 * INTERVAL - 12) == []
    assert model._learner.selection.drift.start


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("outputs", [1, 3])
def test_candidate_chosen_by_fit_predicts_the_next_row(outputs, step):
    """It does so even if another candidate has a lower progressive error."""
    X, y = stream(4, 1300, outputs, 1300)
    model = PassiveAggressiveClassifier(
        C="auto", metric="auto", max_iter=3, tol=None, random_state=0
    )
    model.fit(X[:900], y[:900])
    selection = model._learner
    best, candidate = selection.best
    before = model.predict(X[900:])
    selection.choose((best, (candidate + step) % selection.learners[best].models))
    differ = (model.predict(X[900:]) != before).sum()
    for i in range(900, 1300):
        copied = copy.deepcopy(model)
        wrong = model.predict(X[i : i + 1])[0] != y[i]
        copied.partial_fit(X[i : i + 1], y[i : i + 1])
        assert copied.n_mistakes_ - model.n_mistakes_ == wrong
        assert copied._learner.fixed is None
    assert differ > 0
