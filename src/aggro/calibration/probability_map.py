"""From margins to probabilities: softmax(a_k z(s_k − c_k) + e c_k + b_k), fitted to margins.

s is the score of a row, c the score of the reference row by the same model at the same moment: a
model with large steps shifts all its scores, and c measures the shift. z is linear for usual
differences and logarithmic for large ones, so that a few extreme rows do not dominate the fit. All
a are at least zero: the probability does not decrease with the margin. For two classes and usual
margins of a stable model this is Platt's sigmoid with his smoothed targets. If the margins contain
no information, the result is the share of each class: the strength of the ridge penalty, which
draws the parameters to that, is the one with the highest marginal likelihood (MacKay, Bayesian
Interpolation, Neural Computation 4, 1992).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Ridge penalties in units of one example, for parameters that the margins do not determine.
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
RIDGE_UNLIKE = 10.0  # in addition, of differences between the slopes of classes
LARGEST = 1e30  # of a score
USUAL = 2.0  # times the median difference: where z becomes logarithmic


def softmax(margins: Array) -> Array:
    """Return the probability of each class: for two classes from their one margin, against zero.

    >>> softmax(np.array([[0.0], [np.log(3.0)]])).round(6).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    margins = paired(margins)
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def softmax_of_one(margins: list[float]) -> list[float]:
    """Return the same for one row as a list, which is faster than with arrays."""
    margins = margins if len(margins) > 1 else [0.0, *margins]
    highest = max(margins)
    powers = [math.exp(margin - highest) for margin in margins]
    total = sum(powers)
    return [power / total for power in powers]


def uncalibrated(scores: Array, classes: int, multilabel: bool) -> Array:
    """Return the softmax of scores, or the same for each label against its absence.

    >>> uncalibrated(np.array([[0.0, np.log(3.0)]]), 2, multilabel=True).round(6).tolist()
    [[0.5, 0.75]]
    """
    if multilabel:
        columns = [softmax(column[:, None])[:, 1] for column in bounded(scores).T[:classes]]
        return np.column_stack(columns) if columns else np.empty((len(scores), 0))
    return np.ones((len(scores), 1)) if classes == 1 else softmax(bounded(scores))


def paired(scores: Array) -> Array:
    """Return one column per class: for two classes zero and their score."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def bounded(scores: npt.ArrayLike) -> Array:
    """Return finite scores: huge rows have infinite scores, or NaN."""
    return np.nan_to_num(np.clip(np.asarray(scores, np.float64), -LARGEST, LARGEST), nan=0.0)


def apply(parameters: Array, scores: Array, centre: Array, shares: Array) -> Array:
    """Return the probabilities, given the share of each class.

    A centre outside the recorded range is replaced by the nearest recorded one.
    """
    a, b, lowest, highest, mean = parameters[:-2].reshape(5, -1)
    e, usual = parameters[-2:]
    c = np.clip(paired(bounded(centre[None]))[0], lowest, highest)
    bent = _bent(paired(bounded(scores)) - c, usual)
    return softmax(a * bent + e * (c - mean) + b + np.log(shares))


def _bent(differences: Array, usual: float) -> Array:
    return np.asarray(usual * np.arcsinh(differences / usual))


def fit(scores: Array, centres: Array, labels: Array, weights: Array, shares: Array) -> Array:
    """Return a, b, the lowest, highest and mean centre of each class, e, and the usual margin.

    ``shares`` is the share of each class, the result without information; b is added to its
    logarithm.
    """
    classes = len(shares)
    if not weights.any():
        return np.array([0.0] * (5 * classes + 1) + [1.0])
    scores, centres = paired(scores), paired(centres)
    mean = centres.mean(axis=0)
    z, v = scores - centres, centres - mean
    usual = USUAL * float(np.median(np.abs(z).max(axis=1))) or 1.0
    z = _bent(z, usual)
    unit = float(np.sqrt((z**2).mean())) or 1.0
    z, v = z / unit, v / unit
    a, b, e = _most_likely(z, v, np.log(shares), _targets(labels, weights, classes), weights)
    spread = [centres.min(axis=0), centres.max(axis=0), mean]
    return np.concatenate([a / unit, b, *spread, [e / unit, usual]])


def _targets(labels: Array, weights: Array, classes: int) -> Array:
    """Return Platt's targets: (N + 1) / (N + 2) for the class, the rest for the others."""
    counts = np.bincount(labels, weights, minlength=classes)
    rest = 1.0 / (counts[labels] + 2.0)
    targets = np.repeat(rest[:, None] / (classes - 1), classes, axis=1)
    targets[np.arange(len(labels)), labels] = 1.0 - rest
    return targets


def _most_likely(
    z: Array, v: Array, prior: Array, targets: Array, weights: Array
) -> tuple[Array, Array, float]:
    """Return a, b and e for the strength of the ridge with the highest marginal likelihood.

    The strength is raised for as long as that increases the likelihood.
    """
    k = z.shape[1]
    x, best = np.zeros(2 * k + 1), -math.inf
    for strength in RIDGES:
        ridge = strength * np.eye(2 * k + 1)
        ridge[:k, :k] += RIDGE_UNLIKE * (np.eye(k) - 1.0 / k)
        found, likelihood = _newton(x, z, v, prior, targets, weights, ridge)
        if likelihood <= best:
            break
        x, best = found, likelihood
    return x[:k], x[k : 2 * k], float(x[-1])


def _newton(
    x: Array, z: Array, v: Array, prior: Array, targets: Array, weights: Array, ridge: Array
) -> tuple[Array, float]:
    """Minimise the weighted log loss plus ridge penalties over a ≥ 0 and b of each class, and e.

    An a at zero that would become negative is excluded from the step. Returns the parameters, from
    a start ``x``, and the logarithm of their marginal likelihood (Laplace's approximation).
    """
    k = z.shape[1]
    lowest = np.array([0.0] * k + [-np.inf] * (k + 1))
    w = weights[:, None]

    def margins(x: Array) -> Array:
        return np.asarray(x[:k] * z + prior + x[k : 2 * k] + x[-1] * v)

    def loss(x: Array) -> float:
        m = margins(x)
        top = m.max(axis=1, keepdims=True)
        total = np.log(np.exp(m - top).sum(axis=1, keepdims=True)) + top
        return float((w * targets * (total - m)).sum() + x @ ridge @ x / 2)

    now = loss(x)
    for _ in range(100):
        p = softmax(margins(x))
        gradient = _slopes(w * (p - targets), z, v) + ridge @ x
        free = (x > lowest) | (gradient < 0)
        curvature = (_curvature(p, z, v, w) + ridge)[np.ix_(free, free)]
        step = np.zeros(len(x))
        step[free] = np.linalg.solve(curvature, gradient[free])
        length = 1.0
        while (then := loss(np.maximum(x - length * step, lowest))) > now and length > 1e-6:
            length /= 2
        if now - then <= 1e-9 * (1.0 + abs(now)):
            break
        x, now = np.maximum(x - length * step, lowest), then
    penalty = np.linalg.slogdet(ridge[np.ix_(free, free)])[1]
    return x, (penalty - np.linalg.slogdet(curvature)[1]) / 2 - now


def _slopes(d: Array, z: Array, v: Array) -> Array:
    """Return the gradient by a, b and e, of the derivatives d by the margins."""
    return np.concatenate([(d * z).sum(axis=0), d.sum(axis=0), [(d * v).sum()]])


def _curvature(p: Array, z: Array, v: Array, w: Array) -> Array:
    """Return Σ w J'(diag p − p p')J, where J is the derivative of the margins of a row."""
    k = z.shape[1]
    pz, pv = p * z, (p * v).sum(axis=1, keepdims=True)
    both = np.concatenate([pz, p, pv], axis=1)
    h = -(w * both).T @ both
    spots = np.arange(k)
    h[spots, spots] += (w * pz * z).sum(axis=0)
    h[spots, spots + k] += (w * pz).sum(axis=0)
    h[spots + k, spots] += (w * pz).sum(axis=0)
    h[spots + k, spots + k] += (w * p).sum(axis=0)
    h[-1, :k] += (w * pz * v).sum(axis=0)
    h[-1, k : 2 * k] += (w * p * v).sum(axis=0)
    h[:-1, -1] = h[-1, :-1]
    h[-1, -1] += (w * p * v * v).sum()
    return np.asarray(h)
