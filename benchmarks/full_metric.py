"""The full metric: every update reads and writes a matrix."""

from __future__ import annotations

import numpy as np

from benchmarks.data import measurements
from benchmarks.linear import fit
from benchmarks.work import Work


def works(effort):
    """Yield 500 features; the floor is NumPy with the two passes over the matrix per update."""
    X, y = measurements(effort.rows(4_000), 500)
    updates = fit(X, y, metric="full").n_updates_

    def floor():
        S = np.eye(501)
        x = np.ones(501)
        for row in X[:updates]:
            x[:500] = row
            g = S @ x
            S -= np.outer(g, g / (1 + x @ g))
        return S

    yield Work(
        "PA-I, full metric, 500 features",
        len(y),
        lambda: fit(X, y, metric="full"),
        floor=floor,
        floor_name="S @ x, S -= g g'",
        at_most=1.0,
        memory=True,
    )
