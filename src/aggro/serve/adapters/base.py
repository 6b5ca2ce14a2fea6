"""The interface between the server and a model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import bounded, softmax
from aggro.persistence.record import Record
from aggro.persistence.store import record_of
from aggro.serve.config import Limits

Contribution = tuple[str, Any, float]  # feature, value, contribution to the score


class Output(Struct, frozen=True):
    """The prediction for an example."""

    prediction: Any
    scores: dict[str, float] | None = None
    probabilities: dict[str, float] | None = None

    @property
    def confidence(self) -> float | None:
        """The probability of the predicted class; None without probabilities."""
        return self.probabilities.get(text_of(self.prediction)) if self.probabilities else None


@dataclass(frozen=True)
class Decomposition:
    """A score, or a predicted number, as a sum of contributions of features."""

    label: Any
    score: float
    intercept: float
    contributions: list[Contribution]


class Adapter:
    """Base of the adapters: a model, and whether it predicts numbers."""

    field: ClassVar[str] = "features"  # the name of the input in a request

    def __init__(self, model: Any) -> None:
        self.model = model
        self.regression = type(model).__name__.endswith("Regressor")

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        raise NotImplementedError

    def predict(self, x: Any) -> Output:
        """Predict one example."""
        raise NotImplementedError

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        return self.predict(x).prediction

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example; if it is invalid, raise ValueError or TypeError and change nothing."""
        raise NotImplementedError

    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each feature to the score."""
        raise NotImplementedError

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights: feature, class, weight."""
        return []

    def classes(self) -> list[Any]:
        """Return the classes seen so far."""
        found = getattr(self.model, "classes_", None)
        return [] if found is None else list(found.tolist())

    def facts(self) -> dict[str, Any]:
        """Return facts about the model and its training."""
        return {}

    def freeze(self) -> Callable[[], Record]:
        """Copy the model; return a function that serialises the copy, in any thread."""
        copied = copy.deepcopy(self.model)
        return lambda: record_of(copied)


def text_of(name: Any) -> str:
    """Return a class or a feature as a JSON key: a text value v of k is ``k=v``."""
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, tuple):
        return "=".join(map(text_of, name))
    return str(name)


QUICK = 4000  # margins × squared classes: up to this a map is fitted within milliseconds
EVERY = 256  # examples between two fits


class Probabilities:
    """Calibrated probabilities of one model, without delays.

    A calibration map is fitted again every few hundred examples, which takes up to a second if
    there are many classes. Large maps are therefore fitted in another thread, and predictions use
    the last map that is ready. Until the first one is, margins become probabilities by a softmax.
    """

    def __init__(self, calibrator: Calibrator | None = None) -> None:
        self._fitted = None if calibrator is None else _fit(calibrator)
        self._running: Future[Calibrator] | None = None
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
        """Return a calibrator of the same classes whose map is ready; None if there is none."""
        if len(calibrator.weights) * calibrator.classes**2 <= QUICK or calibrator.classes == 1:
            self._fitted = calibrator
            return calibrator
        if self._running is not None and self._running.done():
            self._fitted, self._running = self._running.result(), None
        fitted = self._fitted
        if fitted is not None and fitted.classes != calibrator.classes:
            fitted = None
        if self._running is None and (
            fitted is None or calibrator.recorded - fitted.recorded >= EVERY
        ):
            self._running = self._thread.submit(_fit, calibrator)
        return fitted


def _fit(calibrator: Calibrator) -> Calibrator:
    """Return a copy of a calibrator with a fitted map."""
    fitted = copy.copy(calibrator)
    zero = np.zeros((1, calibrator.scores.shape[1]))
    fitted.probabilities(zero, zero[0])
    return fitted
