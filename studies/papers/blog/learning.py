"""The two examples of the blog post, learned by aggro and by the loop it prints."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import aggro
from studies.papers.experiment import Cell, Outcome, Values

C, EPSILON = 0.01, 0.1  # as in the post
C_VALUES = (100.0, 10.0, 1.0, 0.1, 0.01)  # suggested by the post
NOISE = 0.2  # share of training labels that are flipped
SOFT = {"loss": "squared_hinge", "fit_intercept": False, "average": False}
TUBE = {"loss": "squared_epsilon_insensitive", "fit_intercept": False, "average": False}


def run(cell: Cell) -> Outcome:
    """Run one example for one seed."""
    return {"classification": classification, "regression": regression, "drift": drift}[
        cell["example"]
    ](cell["seed"])


def two_classes(seed: int) -> tuple[Any, ...]:
    """Return the training and test data of the first program."""
    random = np.random.RandomState(seed)  # the generator behind numpy.random.seed
    X, y = make_classification(
        n_samples=5000,
        n_features=4,
        n_informative=2,
        n_redundant=0,
        n_repeated=0,
        n_classes=2,
        n_clusters_per_class=2,
        random_state=random,
    )
    X, X_test, y, y_test = train_test_split(X, 2 * y - 1, test_size=0.35, random_state=seed)
    return X, y, X_test, y_test


def classification(seed: int) -> Outcome:
    """Learn one pass with the C of the post, other values, label noise, and other methods."""
    X, y, X_test, y_test = two_classes(seed)
    flips = np.random.default_rng(seed).random(len(y)) < NOISE
    noisy = np.where(flips, -y, y)

    def accuracy(model: Any, labels: Any = y) -> float:
        return float(model.partial_fit(X, labels, classes=[-1, 1]).score(X_test, y_test))

    ours = aggro.PassiveAggressiveClassifier(C=C, **SOFT)
    by_hand, moved_though_right, loss_gap = _loop(X, y)
    score = accuracy(ours)
    return {
        "logistic": float(LogisticRegression().fit(X, y).score(X_test, y_test)),
        "accuracy": score,
        "accuracy_by_hand": float(np.mean(np.sign(X_test @ by_hand) == y_test)),
        "weights_apart": float(np.abs(ours.coef_[0] - by_hand).max()),
        "updates": ours.n_updates_,
        "moved_though_right": moved_though_right,
        "loss_gap": loss_gap,
        "perceptron": accuracy(aggro.Perceptron(fit_intercept=False)),
        "clean": [accuracy(aggro.PassiveAggressiveClassifier(C=c, **SOFT)) for c in C_VALUES],
        "noisy": [
            accuracy(aggro.PassiveAggressiveClassifier(C=c, **SOFT), noisy) for c in C_VALUES
        ],
    }


def _loop(X: Values, y: Values) -> tuple[Values, int, float]:
    """Return the weights, the updates on correct rows, and the largest error of loss = τ/2C."""
    w, right, gap = np.zeros(X.shape[1]), 0, 0.0
    for x, label in zip(X, y, strict=True):
        margin = label * (w @ x)
        tau = max(0.0, 1 - margin) / (x @ x + 1 / (2 * C))
        right += bool(0 < margin < 1)
        w += tau * label * x
        if tau > 0:
            gap = max(gap, float(abs(1 - label * (w @ x) - tau / (2 * C))))
    return w, right, gap


def numbers(seed: int) -> tuple[Values, Values]:
    """Return the regression data of the post."""
    return make_regression(n_samples=500, n_features=4, random_state=np.random.RandomState(seed))


def regression(seed: int) -> Outcome:
    """Learn one pass; return the absolute error of each row before it is learned."""
    X, y = numbers(seed)
    w, by_hand = np.zeros(X.shape[1]), []
    for x, target in zip(X, y, strict=True):
        error = target - w @ x
        by_hand.append(abs(error))
        w += np.sign(error) * max(0.0, abs(error) - EPSILON) / (x @ x + 1 / (2 * C)) * x
    errors = {f"C={c:g}": _errors(X, y, c, EPSILON) for c in C_VALUES}
    errors |= {f"epsilon={e:g}": _errors(X, y, C, e) for e in (1.0, 10.0)}
    return {
        "errors": errors,
        "apart": float(np.abs(np.array(by_hand) - errors[f"C={C:g}"]).max()),
        "size": float(np.abs(y).mean()),
    }


def _errors(X: Values, y: Values, C: float, epsilon: float) -> list[float]:
    model = aggro.PassiveAggressiveRegressor(C=C, epsilon=epsilon, **TUBE)
    errors = [abs(float(y[0]))]  # a new model predicts zero
    for now in range(1, len(y)):
        model.partial_fit(X[now - 1 : now], y[now - 1 : now])
        errors.append(abs(float(y[now] - model.predict(X[now : now + 1])[0])))
    return errors


def drift(seed: int) -> Outcome:
    """Learn one problem, then another; return the accuracy on both after every 100 rows."""
    first, second = two_classes(seed), two_classes(seed + 10_000)
    model = aggro.PassiveAggressiveClassifier(C=C, **SOFT)
    old, new = [], []
    for X, y, _, _ in (first, second):
        for start in range(0, len(y), 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[-1, 1])
            old.append(float(model.score(first[2], first[3])))
            new.append(float(model.score(second[2], second[3])))
    return {"old": old, "new": new}
