"""Streams to learn from, and what two models must agree on."""

import numpy as np

from aggro.variants import LINEAR, ROWS

CLASSIFIERS = [
    row.name for row in ROWS if row.estimator in LINEAR and not LINEAR[row.estimator].regression
]
REGRESSORS = [
    row.name for row in ROWS if row.estimator in LINEAR and LINEAR[row.estimator].regression
]
AXES = [
    {"average": True},
    {"average": 5},
    {"average": "reservoir", "reservoir_size": 3},
    {"metric": "diagonal", "class_mean": 0.3},
    {"metric": "full", "queue": 3},
    {"class_mean": 0.2, "trigger": "always", "average": True},
    {"multiclass": "ovr", "class_mean": 0.5},
    {"multiclass": "predicted"},
    {"multiclass": "support", "metric": "diagonal", "batch_size": 4},
    {"fit_intercept": False, "loss": "squared_hinge"},
]


def sparse_stream(rows=120, features=12, classes=4, seed=0):
    """Return a matrix with many zeros, labels that follow it with noise, and weights."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, features)) * (random.random((rows, features)) < 0.4)
    labels = (X @ random.normal(size=(features, classes))).argmax(axis=1)
    flipped = random.random(rows) < 0.1
    labels[flipped] = random.integers(classes, size=flipped.sum())
    weights = random.choice([0.0, 0.5, 1.0, 3.0], size=rows)
    return X, labels, weights


def as_dict(row):
    """Return the non-zeros of a row by the names of its columns."""
    return {f"f{j}": float(row[j]) for j in np.flatnonzero(row)}


def teach(model, X, y, weights=None):
    """Learn all rows as dicts."""
    for i, row in enumerate(X):
        model.learn_one(as_dict(row), y[i], 1.0 if weights is None else weights[i])
    return model


def everything(model):
    """Return all that a model knows, to compare."""
    description, arrays = model.state()
    return description, {name: array.tolist() for name, array in arrays.items()}
