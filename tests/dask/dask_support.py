"""Small problems for the tests on a cluster."""

import dask.array as da
import numpy as np

from aggro.dask import PassiveAggressiveClassifier
from aggro.persistence.record import bytes_of
from aggro.persistence.store import record_of

ONCE = {"max_iter": 1, "tol": None, "random_state": 0}


def problem(count, features):
    random = np.random.default_rng(0)
    X = random.normal(size=(count, features))
    y = (X @ random.normal(size=features) + 0.3 * random.normal(size=count) > 0).astype(int)
    return X, y


X, Y = problem(800, 10)


def arrays(chunk=200, classes=Y):
    return da.from_array(X, chunks=(chunk, -1)), da.from_array(classes, chunks=chunk)


def pa(**more):
    return PassiveAggressiveClassifier(**{"C": 0.1, "rounds": 2, **ONCE, **more})


def content(model):
    """Everything that a model has learned, as a hash."""
    return bytes_of(record_of(model.to_local()))


def same(one, other):
    assert content(one) == content(other)
