"""Helpers of the tests of readers."""

import numpy as np

import aggro


def collect(path, **settings):
    """All rows of a file as (dense X, y, weights)."""
    batches = list(aggro.io.read(path, **settings))
    width = max((batch.X.shape[1] for batch in batches), default=0)
    dense = [batch.X if isinstance(batch.X, np.ndarray) else batch.X.toarray() for batch in batches]
    X = (
        np.vstack([np.pad(x, ((0, 0), (0, width - x.shape[1]))) for x in dense])
        if dense
        else np.empty((0, 0))
    )
    y = [label for batch in batches if batch.y is not None for label in batch.y]
    weights = (
        None
        if not batches or batches[0].weights is None
        else np.concatenate([b.weights for b in batches])
    )
    return X, y, weights


def random_svmlight(rows, seed=0, width=200, first=1):
    """A file of random lines, and nothing unusual in it."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        columns = np.unique(random.integers(first, width, random.poisson(8)))
        features = " ".join(
            f"{column}:{random.normal():.{random.integers(1, 18)}g}" for column in columns
        )
        lines.append(f"{random.integers(-2, 3)} {features}\n")
    return "".join(lines).encode()
