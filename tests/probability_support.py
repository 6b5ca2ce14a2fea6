"""Helpers for tests of probabilities: settings, and data with known probabilities."""

import numpy as np

ONE_PASS = {"max_iter": 1, "tol": None, "random_state": 0}
STEADY = {"C": 0.01, "average": True}
RECOMMENDED = {"C": "auto", "metric": "diagonal", "average": "auto"}


def updated(calibrator, outcomes, weights, scores, centres):
    """Return a calibrator updated with the scores of rows and of their reference rows."""
    return calibrator.update(np.stack([scores, centres], axis=1), outcomes, weights)


def softmax(margins):
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def log_loss(P, y):
    return -np.log(P[np.arange(len(y)), y]).mean()


def known_truth(rows=6000, classes=2, seed=0):
    """Return rows, labels drawn from a softmax of linear scores, and the true probabilities."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 8))
    truth = softmax(1.5 * X @ random.normal(size=(8, classes)))
    y = (truth.cumsum(axis=1) < random.random((rows, 1))).sum(axis=1)
    return X, np.minimum(y, classes - 1), truth


def same_state(one, other):
    """Return True if the states of two learners are bitwise equal."""
    if hasattr(one, "learners"):
        return all(map(same_state, one.learners, other.learners))
    return all(
        np.array_equal(a, b)
        for a, b in zip(one.state().values(), other.state().values(), strict=True)
    )
