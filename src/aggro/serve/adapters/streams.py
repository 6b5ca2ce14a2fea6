"""The adapter for models that read dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from aggro.persistence.record import Record
from aggro.persistence.store import record_of
from aggro.serve.adapters.base import Adapter, Decomposition, Output, Probabilities, text_of
from aggro.serve.config import Limits

FEW = 300  # examples after which the map is no longer fitted at every prediction


class StreamAdapter(Adapter):
    """Dicts of names to numbers or texts: ``StreamClassifier`` and ``StreamRegressor``."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        predicted = getattr(model, "probability", False)
        self._probabilities = Probabilities(model._record.calibrator) if predicted else None

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        name = Annotated[str, Meta(max_length=limits.name)]
        return Annotated[dict[name, float | bool | name], Meta(max_length=limits.features)]

    def predict(self, x: Any) -> Output:
        """Predict one example."""
        if self.regression:
            return Output(self.model.predict_one(x))
        if self._probabilities is not None:
            return Output(self.model.predict_one(x), None, self._calibrated(x, self._probabilities))
        classes, margins = self.model._margins(x)
        return Output(_winner(classes, margins), _named(classes, margins))

    def _calibrated(self, x: Any, probabilities: Probabilities) -> dict[str, float]:
        """Return the probability of each class."""
        record, unit = self.model._recorded(), self.model._margin_unit()
        classes, margins = self.model._margins(x)
        margins = [margin / unit for margin in margins]
        if len(classes) < 2:
            return {text_of(label): 1.0 for label in classes}
        if record.met < FEW:
            record.fit_map()
        centre = np.array(self.model._margins(record.typical)[1]) / unit
        found = probabilities.of(record.calibrator, margins, centre)
        return dict(zip(map(text_of, classes), found, strict=True))

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        return self.model.predict_one(x)

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.learn_one(x, label, weight)

    def explain(self, x: Any) -> Decomposition:
        """Return weight × value of each feature; the intercept is the score of no features."""
        label = None if self.regression else self.model.predict_one(x)
        column, sign = 0, 1.0
        if not self.regression and len(classes := self.classes()) > 0:
            place = classes.index(label)
            if len(classes) == 2:  # one output, for the second class
                sign = 1.0 if place == 1 else -1.0
            else:
                column = place
        added = (sign * self.model._contributions(x)[:, column]).tolist()
        parts = list(zip(x, x.values(), added, strict=True))
        return Decomposition(label, self._score(x, label), self._score({}, label), parts)

    def _score(self, x: Any, label: Any) -> float:
        if self.regression:
            return float(self.model.predict_one(x))
        return _named(*self.model._margins(x)).get(text_of(label), 0.0)

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights."""
        names, classes = self.model._names(), self.classes()
        weights, _ = self.model._coefficients()
        if self.model._buckets or not len(names):  # hashed features have no names
            return []
        owners = classes[1:] if len(classes) == 2 else classes
        owners = [""] if self.regression else list(map(text_of, owners))
        table = weights[: len(names), : len(owners)]
        best = np.argsort(-np.abs(table), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(best, table.shape), strict=True)
        return [(text_of(names[j]), owners[k], float(table[j, k])) for j, k in places]

    def freeze(self) -> Callable[[], Record]:
        """Copy the parts of a stream now; combining them takes longer and can be done later."""
        make, parts, attributes = self.model.__reduce__()

        def record() -> Record:
            copied = make(*parts)
            vars(copied).update(attributes)
            return record_of(copied)

        return record

    def classes(self) -> list[Any]:
        """Return the classes seen so far."""
        return [] if self.regression else list(self.model.classes_)

    def facts(self) -> dict[str, Any]:
        """Return facts about the model."""
        model = self.model
        found = {
            "algorithm": model.algorithm or type(model).__name__,
            "features": model.n_features_in_,
            "mistakes": model.n_mistakes_,
            "updates": model.n_updates_,
            "C": model.C_ if model._selection is None or model.examples else None,
        }
        if model._selection is not None and model.examples:
            found["candidates"] = model.candidates_
        return found


def _named(classes: list[Any], margins: list[float]) -> dict[str, float]:
    """Return the score of each class; for two classes, the margin is that of the second."""
    if len(classes) == 2:
        margins = [-margins[0], margins[0]]
    return {text_of(label): margin for label, margin in zip(classes, margins, strict=False)}


def _winner(classes: list[Any], margins: list[float]) -> Any:
    """Return the class that ``predict_one`` returns."""
    if len(classes) == 2:
        return classes[margins[0] > 0]
    return classes[margins.index(max(margins))] if classes else None
