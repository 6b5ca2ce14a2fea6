"""Confidence-weighted learning as printed beside PAM, and the loss bound of PAM-II."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from aggro.reference import cw_stdev
from studies.papers.errata.streams import Array, Labels, own_error
from studies.papers.experiment import Outcome

ETA = 0.9
PHI = NormalDist().inv_cdf(ETA)
C = 0.5


def confidence(X: Array, y: Labels, printed: bool) -> Outcome:
    """E1.2: (4) asks for M >= phi sqrt(V); (5), (6) solve M >= phi V, without a lower bound."""
    mean, S = np.zeros(X.shape[1]), np.eye(X.shape[1])
    wrong = back = broken = 0
    for x, label in zip(X, y.tolist(), strict=True):
        wrong += (mean @ x > 0) != (label > 0)
        g = S @ x
        M, V = label * (mean @ x), float(x @ g)
        if printed:
            B = 1 + 2 * PHI * M
            alpha = (-B + sqrt(B * B - 8 * PHI * (M - PHI * V))) / (4 * PHI * V)
            kappa = 2 * alpha * PHI
        else:
            alpha, kappa = cw_stdev(M, V, PHI)
        back += alpha < 0
        mean, S = mean + alpha * label * g, S - kappa / (1 + kappa * V) * np.outer(g, g)
        broken += label * (mean @ x) < PHI * sqrt(max(0.0, x @ S @ x)) - 1e-9
    shares = {"back": 100 * back / len(y), "broken": 100 * broken / len(y)}
    own = own_error(X, y, loss="cw_stdev", eta=ETA, metric="full")
    return {"error": 100 * wrong / len(y), **shares, "own": own}


def loss_bound(X: Array, y: Labels, printed: bool) -> Outcome:
    """E1.7: Theorem 3 for u = 0, whose loss is 1 on every example, after each T examples."""
    w, S = np.zeros(X.shape[1]), np.eye(X.shape[1])
    total, largest, updates, wrong, broken = 0.0, 0.0, 0, 0, 0
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), start=1):
        wrong += (w @ x > 0) != (label > 0)
        g = S @ x
        loss, v = max(0.0, 1 - label * (w @ x)), float(x @ g)
        if loss > 0:
            total, largest, updates = total + loss**2, max(largest, v), updates + 1
            w, S = w + loss / (v + 1 / (2 * C)) * label * g, S - np.outer(g, g) / (1 + v)
        bound = C * t if printed else (largest + 1 / (2 * C)) * 2 * C * updates
        broken += total > bound
    own = own_error(X, y, loss="squared_hinge", C=C, metric="full")
    shares = {"error": 100 * wrong / len(y), "broken": 100 * broken / len(y)}
    return {**shares, "own": own}
