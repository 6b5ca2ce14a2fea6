"""Probabilities that nobody waits for: the map from margins to them is fitted in another thread.

A stream fits its map when it is asked, after every 256 examples or so, which takes some tens of
milliseconds. Here a copy is fitted, and predictions use the last one that is ready.
"""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

YOUNG = 300  # examples whose map is fitted in a moment
EVERY = 256  # examples from one fit to the next


class Probabilities:
    """What a ``StreamClassifier(probability=True)`` says, without a wait."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._fitted: Any = None  # a calibrator whose map is ready
        self._fitted_at = 0
        self._under_way: Future[Any] | None = None
        self._thread = ThreadPoolExecutor(1, "calibration")

    def predict(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class."""
        record = self.model._record
        if record.met < YOUNG or len(record.classes) < 2:
            known: dict[Any, float] = self.model.predict_proba_one(x)
            return known
        self._refresh(record)
        classes, margins = self.model._margins(x)
        if self._fitted.classes != len(classes):  # a class has just come
            self._fit_now(record)
        centre = self.model._margins(record.typical)[1]
        row = self._fitted.probabilities(np.array([margins]), np.array(centre))[0]
        return dict(zip(classes, row.tolist(), strict=True))

    def _refresh(self, record: Any) -> None:
        if self._fitted is None:
            self._fit_now(record)
        if self._under_way is not None and self._under_way.done():
            self._fitted, self._under_way = self._under_way.result(), None
        if self._under_way is None and record.met - self._fitted_at >= EVERY:
            self._fitted_at = record.met
            self._under_way = self._thread.submit(_fit, _copy_of(record))

    def _fit_now(self, record: Any) -> None:
        self._fitted, self._fitted_at = _fit(_copy_of(record)), record.met
        self._under_way = None


def _copy_of(record: Any) -> Any:
    record.settle()
    return copy.copy(record.calibrator)


def _fit(calibrator: Any) -> Any:
    """Return the calibrator with its map: it is made by the first question."""
    zero = np.zeros((1, calibrator.scores.shape[1]))
    calibrator.probabilities(zero, zero[0])
    return calibrator
