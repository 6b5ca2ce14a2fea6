"""A small problem for the tests on a cluster."""

import numpy as np


def problem(count, features):
    random = np.random.default_rng(0)
    X = random.normal(size=(count, features))
    y = (X @ random.normal(size=features) + 0.3 * random.normal(size=count) > 0).astype(int)
    return X, y
