"""From margins to probabilities: softmax(a_k z(s_k − c_k) + e c_k + b_k), fitted to fresh margins.

s is the score of a row, c the score of a typical row by the same model at the same moment: a model
that steps far moves all its scores together, and c tells by how much. z leaves usual differences as
they are and bends large ones, so that a few extreme rows do not rule the fit. For two classes and
usual margins of a steady model this is Platt's sigmoid, fitted to his smoothed targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RING = 5000  # the most recent margins, which are remembered
CELLS = 2**20  # less of them where there are many classes
# Ridges in units of one example: they keep what the margins do not tell at zero, or alike.
RIDGE = 0.1
RIDGE_UNLIKE = 10.0  # of the slopes of different classes
LARGEST = 1e30  # of a score
USUAL = 2.0  # times the median: where differences begin to bend


def capacity(outputs: int) -> int:
    """Return how many margins are remembered for this many outputs.

    >>> capacity(1), capacity(1000)
    (5000, 1048)
    """
    return max(500, min(RING, CELLS // outputs))


@dataclass
class Calibrator:
    """Margins and labels of recent examples, each scored before it was learned. Never changed.

    ``labels`` holds the number of the class, or for several labels a row of zeros and ones.
    ``seen`` counts the examples of the model's life, recorded or not.
    """

    classes: int
    multilabel: bool
    scores: Array
    centres: Array
    labels: Array
    weights: Array
    seen: int = 0
    fitted_at: int = -1
    parameters: Array | None = None

    @staticmethod
    def empty(classes: int, multilabel: bool = False, seen: int = 0) -> Calibrator:
        """Return a calibrator without margins, of a model that has seen some examples."""
        outputs = 1 if classes == 2 and not multilabel else classes
        scores = np.empty((0, outputs), np.float32)
        labels = np.empty((0, classes) if multilabel else 0, np.int32)
        weights = np.empty(0, np.float32)
        return Calibrator(classes, multilabel, scores, scores, labels, weights, seen)

    def plus(self, scores: Array, centres: Array, labels: Array, weights: Array) -> Calibrator:
        """Return the calibrator that has also seen these rows."""
        most = capacity(self.scores.shape[1])
        new = {
            "scores": np.clip(scores, -LARGEST, LARGEST).astype(np.float32),
            "centres": np.clip(centres, -LARGEST, LARGEST).astype(np.float32),
            "labels": labels.astype(np.int32),
            "weights": weights.astype(np.float32),
        }
        kept: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), rows])[-most:] for name, rows in new.items()
        }
        return replace(self, **kept, seen=self.seen + len(labels))

    def grown(self, change: Array, position: Array, classes: int) -> Calibrator:
        """Return the calibrator of more classes; ``change`` turns old scores into new ones."""
        return replace(
            self,
            classes=classes,
            scores=(self.scores @ change.T).astype(np.float32),
            centres=(self.centres @ change.T).astype(np.float32),
            labels=position[self.labels].astype(np.int32),
            parameters=None,
        )

    def probabilities(self, scores: Array, centre: Array, slack: float = 0.0) -> Array:
        """Return the probability of each class, or of each label.

        The map is fitted anew when more than the part ``slack`` of the remembered margins is new.
        """
        if self.classes == 1 and not self.multilabel:
            return np.ones((len(scores), 1))
        fresh = self.seen - self.fitted_at
        if self.parameters is None or fresh > slack * len(self.weights):
            self.parameters, self.fitted_at = self._fit(), self.seen
        scores = np.clip(scores, -LARGEST, LARGEST).astype(np.float64)
        if not self.multilabel:
            return _apply(self.parameters[0], _paired(scores), _paired(centre[None])[0])
        columns = [
            _apply(p, _paired(scores[:, [k]]), _paired(centre[None, [k]])[0])[:, 1]
            for k, p in enumerate(self.parameters)
        ]
        return np.column_stack(columns)

    def _fit(self) -> Array:
        """Return one row of parameters; for several labels, one for each.

        The first quarter of a life is left out: a beginner's margins are not those of today.
        """
        first = max(0, self.seen // 4 - (self.seen - len(self.weights)))
        parts = (self.scores, self.centres, self.weights)
        s, c, w = (part[first:].astype(np.float64) for part in parts)
        y = self.labels[first:]
        if not self.multilabel:
            return fit(_paired(s), _paired(c), y, w)[None]
        each = range(self.classes)
        rows = [fit(_paired(s[:, [k]]), _paired(c[:, [k]]), y[:, k], w) for k in each]
        return np.stack(rows)


def _paired(scores: Array) -> Array:
    """Return one column per class: the single score of two classes against zero."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def _apply(parameters: Array, scores: Array, centre: Array) -> Array:
    """Return the softmax; a centre outside of what was seen is taken for the nearest seen."""
    a, b, lowest, highest, mean = parameters[:-2].reshape(5, -1)
    e, usual = parameters[-2:]
    c = np.clip(centre, lowest, highest)
    return _softmax(a * _bent(scores - c, usual) + e * (c - mean) + b)


def _bent(differences: Array, usual: float) -> Array:
    return np.asarray(usual * np.arcsinh(differences / usual))


def _softmax(margins: Array) -> Array:
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def fit(scores: Array, centres: Array, labels: Array, weights: Array) -> Array:
    """Return a, b, the lowest, highest and mean centre of each class, e, and the usual margin."""
    classes = scores.shape[1]
    if len(labels) == 0:
        return np.array([0.0] * (5 * classes + 1) + [1.0])
    mean = centres.mean(axis=0)
    z, v = scores - centres, centres - mean
    usual = USUAL * float(np.median(np.abs(z).max(axis=1))) or 1.0
    z = _bent(z, usual)
    unit = float(np.sqrt((z**2).mean())) or 1.0
    z, v = z / unit, v / unit
    a, b, e = _newton(z, v, _targets(labels, weights, classes), weights)
    spread = [centres.min(axis=0), centres.max(axis=0), mean]
    return np.concatenate([a / unit, b, *spread, [e / unit, usual]])


def _targets(labels: Array, weights: Array, classes: int) -> Array:
    """Return Platt's targets: (N + 1) / (N + 2) for the class, the rest shared by the others."""
    counts = np.bincount(labels, weights, minlength=classes)
    rest = 1.0 / (counts[labels] + 2.0)
    targets = np.repeat(rest[:, None] / (classes - 1), classes, axis=1)
    targets[np.arange(len(labels)), labels] = 1.0 - rest
    return targets


def _newton(z: Array, v: Array, targets: Array, weights: Array) -> tuple[Array, Array, float]:
    """Minimise the weighted log loss plus ridges over a, b (one for each class) and e."""
    k = z.shape[1]
    ridge = np.zeros((2 * k + 1, 2 * k + 1))
    ridge[:k, :k] = RIDGE_UNLIKE * (np.eye(k) - 1.0 / k)
    ridge += RIDGE * np.eye(2 * k + 1)
    w = weights[:, None]

    def margins(x: Array) -> Array:
        return np.asarray(x[:k] * z + x[k : 2 * k] + x[-1] * v)

    def loss(x: Array) -> float:
        m = margins(x)
        top = m.max(axis=1, keepdims=True)
        total = np.log(np.exp(m - top).sum(axis=1, keepdims=True)) + top
        return float((w * targets * (total - m)).sum() + x @ ridge @ x / 2)

    x, now = np.zeros(2 * k + 1), np.inf
    now = loss(x)
    for _ in range(100):
        p = _softmax(margins(x))
        gradient = _slopes(w * (p - targets), z, v) + ridge @ x
        step = np.linalg.solve(_curvature(p, z, v, w) + ridge, gradient)
        length = 1.0
        while (then := loss(x - length * step)) > now and length > 1e-6:
            length /= 2
        if now - then <= 1e-9 * (1.0 + abs(now)):
            break
        x, now = x - length * step, then
    return x[:k], x[k : 2 * k], float(x[-1])


def _slopes(d: Array, z: Array, v: Array) -> Array:
    """Return the sums of d over the rows, seen by a, by b and by e."""
    return np.concatenate([(d * z).sum(axis=0), d.sum(axis=0), [(d * v).sum()]])


def _curvature(p: Array, z: Array, v: Array, w: Array) -> Array:
    """Return Σ w J'(diag p − p p')J, J being the derivative of a row's margins."""
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
