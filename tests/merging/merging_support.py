"""Learners that learned apart, for the tests of merging."""

import copy

import numpy as np

from aggro.learner import Learner, rows_of
from aggro.settings import DIAGONAL, Settings


def settings_of(metric="euclidean", classes=2, **more):
    task = "binary" if classes == 2 else "multiclass"
    return Settings(task=task, metric=metric, mergeable=True, **more)


def rows(seed, count, features, classes, sparse=0.5):
    """Rows of which each has some features only, and their classes."""
    random = np.random.default_rng(seed)
    truth = random.normal(size=(features, classes))
    X = random.normal(size=(count, features)) * (random.random((count, features)) > sparse)
    y = (X @ truth + 0.3 * random.normal(size=(count, classes))).argmax(axis=1)
    return np.ascontiguousarray(X), y.astype(np.int64)


def learned(settings, X, y, classes=2, dtype=np.float64, start=None):
    learner = (
        Learner(settings, X.shape[1], classes, dtype) if start is None else copy.deepcopy(start)
    )
    if len(X):
        learner.learn(rows_of(X.astype(dtype)), labels=y)
    return learner


def weights_of(learner):
    """The last weights, features x outputs, and what they are weighed by."""
    state, k = learner.state(), learner.outputs * learner.models
    table = state["weights"].reshape(learner.features, -1)
    found = {"weights": table[:, :k], "bias": state["bias"]}
    if "update_counts" in state:
        found["update_counts"] = state["update_counts"].reshape(learner.features, -1)[:, :k]
        found["bias_update_counts"] = state["bias_update_counts"]
    if power := DIAGONAL.get(learner.settings.metric):
        first = learner.model.columns
        found["precision"] = table[:, first : first + k] ** -power
        found["bias_precision"] = state["bias_variance"] ** -power
    return found


def same_state(one, other, exact=True):
    first, second = one.state(), other.state()
    assert first.keys() == second.keys()
    for name in first:
        if exact:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        else:
            np.testing.assert_allclose(
                first[name], second[name], rtol=1e-6, atol=1e-9, err_msg=name
            )
