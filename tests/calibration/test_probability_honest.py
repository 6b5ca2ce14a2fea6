"""Probabilities are calibrated: close to known ones, and uninformative for noise."""

import numpy as np
import pytest
from closeness import assert_close
from probability_support import ONE_PASS, RECOMMENDED, STEADY, known_truth, log_loss
from scipy.sparse import csr_matrix
from sklearn.base import clone

from aggro import (
    KernelPassiveAggressiveClassifier,
    PassiveAggressiveClassifier,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "params",
    [{**RECOMMENDED, **ONE_PASS}, {**STEADY, **ONE_PASS}, {**STEADY, "random_state": 0}],
    ids=["auto", "one pass", "passes"],
)
def test_probabilities_are_close_to_known_ones(classes, params):
    X, y, truth = known_truth(rows=12000, classes=classes)
    model = PassiveAggressiveClassifier(probability=True, **params).fit(X[:4000], y[:4000])
    P = model.predict_proba(X[4000:])
    assert_close(P.sum(axis=1), 1.0)
    assert log_loss(P, y[4000:]) < log_loss(truth[4000:], y[4000:]) * 1.08
    for low in np.arange(0.0, 1.0, 0.2):  # frequencies agree with predicted probabilities
        said = (P[:, 1] >= low) & (P[:, 1] < low + 0.2)
        happened = (y[4000:][said] == 1).mean()
        assert abs(P[said, 1].mean() - happened) < 0.05 + 1.5 / np.sqrt(said.sum())


@pytest.mark.parametrize(
    "model",
    [
        PassiveAggressiveClassifier(probability=True, loss="hard", random_state=0),
        PassiveAggressiveClassifier(probability=True, loss="hard", **ONE_PASS),
        PassiveAggressiveClassifier(probability=True, C="auto", average="auto", random_state=0),
        KernelPassiveAggressiveClassifier(probability=True, gamma=1.0, C=10, random_state=0),
    ],
    ids=["passes", "one pass", "selection", "kernel"],
)
def test_overfitted_noise_has_uninformative_probabilities(model):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1000, 1500)), random.integers(2, size=1000)
    model.fit(X, y)
    fresh = random.normal(size=(500, 1500))
    for rows in (X, fresh):
        assert log_loss(model.predict_proba(rows), random.integers(2, size=len(rows))) < 0.75
    if model.max_iter > 1:
        assert model.score(X, y) > 0.95  # the model has fitted the noise
        assert np.abs(model.predict_proba(X)[:, 1] - 0.5).mean() < 0.2


def test_class_weights_do_not_bias_probabilities():
    random = np.random.default_rng(1)
    X = random.normal(size=(6000, 3))
    chance = 1 / (1 + np.exp(3.0 - X[:, 0]))
    y = (random.random(6000) < chance).astype(int)
    model = PassiveAggressiveClassifier(
        C=0.01, class_weight="balanced", probability=True, **ONE_PASS
    )
    model.fit(X[:4000], y[:4000])
    assert abs(model.predict_proba(X[4000:])[:, 1].mean() - chance[4000:].mean()) < 0.02


def test_storage_and_precision_do_not_change_probabilities():
    X, y, _ = known_truth(rows=800, classes=3)
    X[np.abs(X) < 0.7] = 0
    model = PassiveAggressiveClassifier(C=0.05, probability=True, **ONE_PASS)
    P = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        clone(model).fit(csr_matrix(X), y).predict_proba(csr_matrix(X)), P, atol=1e-6
    )
    single = X.astype(np.float32)
    np.testing.assert_allclose(clone(model).fit(single, y).predict_proba(single), P, atol=1e-2)


def test_several_labels_per_row_are_supported():
    random = np.random.default_rng(0)
    X = random.normal(size=(5000, 8))
    truth = 1 / (1 + np.exp(-X @ random.normal(size=(8, 3)) - [0, 1, -2]))
    Y = (random.random(truth.shape) < truth).astype(int)
    model = PassiveAggressiveClassifier(probability=True, **STEADY, **ONE_PASS)
    P = model.fit(X[:3000], Y[:3000]).predict_proba(X[3000:])
    assert P.shape == (2000, 3)
    for said, true, y in zip(P.T, truth[3000:].T, Y[3000:].T, strict=True):
        both = [log_loss(np.stack([1 - p, p], axis=1), y) for p in (said, true)]
        assert both[0] < both[1] * 1.05
