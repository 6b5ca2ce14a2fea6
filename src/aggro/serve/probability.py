"""Probabilities without a wait: the map from margins to probabilities is fitted in another thread.

A model fits its map when it is asked, after every few hundred examples, which takes up to a second
where there are many classes. Here a copy is fitted, and predictions use the last map that is ready.
Only small maps are fitted at once. Until the first map of some classes is ready, their margins are
turned into probabilities by a softmax.
"""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import bounded, softmax

QUICK = 4000  # margins times squared classes: a map of these is fitted in some milliseconds
EVERY = 256  # examples from one fit to the next


class Probabilities:
    """The maps of one model."""

    def __init__(self, calibrator: Calibrator | None = None) -> None:
        self._fitted = None if calibrator is None else _fit(calibrator)
        self._under_way: Future[Calibrator] | None = None
        self._thread = ThreadPoolExecutor(1, "calibration")

    def of(self, calibrator: Calibrator, scores: Any, centre: Any) -> list[float]:
        """Return the probability of each class for the scores of one example.

        ``centre`` are the scores of the reference row.
        """
        ready, row = self._ready(calibrator), np.array([scores])
        found = softmax(bounded(row)) if ready is None else ready.probabilities(row, centre)
        shares: list[float] = found[0].tolist()
        return shares

    def _ready(self, calibrator: Calibrator) -> Calibrator | None:
        """Return a calibrator of the same classes whose map costs little; None if there is none."""
        if len(calibrator.weights) * calibrator.classes**2 <= QUICK or calibrator.classes == 1:
            self._fitted = calibrator
            return calibrator
        if self._under_way is not None and self._under_way.done():
            self._fitted, self._under_way = self._under_way.result(), None
        fitted = self._fitted
        if fitted is not None and fitted.classes != calibrator.classes:
            fitted = None
        if self._under_way is None and (
            fitted is None or calibrator.recorded - fitted.recorded >= EVERY
        ):
            self._under_way = self._thread.submit(_fit, calibrator)
        return fitted


def _fit(calibrator: Calibrator) -> Calibrator:
    """Return a copy of a calibrator with its map, which the first question makes."""
    fitted = copy.copy(calibrator)
    zero = np.zeros((1, calibrator.scores.shape[1]))
    fitted.probabilities(zero, zero[0])
    return fitted
