"""The face of models that read dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from aggro.persistence.record import Record
from aggro.persistence.store import record_of
from aggro.serve.faces.base import Face, Said, Why, text_of
from aggro.serve.limits import Limits
from aggro.serve.probability import Probabilities

YOUNG = 300  # examples whose margins are recorded one by one


class StreamFace(Face):
    """Dicts of names to numbers or texts: ``StreamClassifier`` and ``StreamRegressor``."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        told = getattr(model, "probability", False)
        self._probabilities = Probabilities(model._record.calibrator) if told else None

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """As msgspec reads it."""
        name = Annotated[str, Meta(max_length=limits.name)]
        return Annotated[dict[name, float | bool | name], Meta(max_length=limits.features)]

    def predict(self, x: Any) -> Said:
        """Predict one example."""
        if self.regression:
            return Said(self.model.predict_one(x))
        if self._probabilities is not None:
            return Said(self.model.predict_one(x), None, self._told(x, self._probabilities))
        classes, margins = self.model._margins(x)
        return Said(_winner(classes, margins), _named(classes, margins))

    def _told(self, x: Any, probabilities: Probabilities) -> dict[str, float]:
        """Return the probability of each class."""
        record = self.model._recorded()
        classes, margins = self.model._margins(x)
        if len(classes) < 2:
            return {text_of(label): 1.0 for label in classes}
        if record.met < YOUNG:
            record.fit_map()
        centre = np.array(self.model._margins(record.typical)[1])
        found = probabilities.of(record.calibrator, margins, centre)
        return dict(zip(map(text_of, classes), found, strict=True))

    def guess(self, x: Any) -> Any:
        """Predict one example, and nothing more."""
        return self.model.predict_one(x)

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.learn_one(x, label, weight)

    def explain(self, x: Any) -> Why:
        """Return weight x value of each feature, and the score of no feature as the intercept."""
        label = None if self.regression else self.model.predict_one(x)
        column, sign = 0, 1.0
        if not self.regression and len(classes := self.classes()) > 0:
            place = classes.index(label)
            if len(classes) == 2:  # one output, which is that of the second class
                sign = 1.0 if place == 1 else -1.0
            else:
                column = place
        added = (sign * self.model._contributions(x)[:, column]).tolist()
        parts = list(zip(x, x.values(), added, strict=True))
        return Why(label, self._score(x, label), self._score({}, label), parts)

    def _score(self, x: Any, label: Any) -> float:
        if self.regression:
            return float(self.model.predict_one(x))
        return _named(*self.model._margins(x)).get(text_of(label), 0.0)

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """The features with the largest weights."""
        names, classes, weights, _ = self.model._weights()
        if self.model._buckets or not len(names):  # hashed features have no names
            return []
        owners = classes[1:] if len(classes) == 2 else classes
        owners = [""] if self.regression else list(map(text_of, owners))
        table = weights[: len(names), : len(owners)]
        best = np.argsort(-np.abs(table), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(best, table.shape), strict=True)
        return [(text_of(names[j]), owners[k], float(table[j, k])) for j, k in places]

    def freeze(self) -> Callable[[], Record]:
        """The pieces of a stream are copied in a moment; putting them together takes longer."""
        make, parts, attributes = self.model.__reduce__()

        def record() -> Record:
            twin = make(*parts)
            vars(twin).update(attributes)
            return record_of(twin)

        return record

    def classes(self) -> list[Any]:
        """The classes met so far."""
        return [] if self.regression else list(self.model.classes_)

    def facts(self) -> dict[str, Any]:
        """What the model is."""
        model = self.model
        found = {
            "algorithm": model.algorithm,
            "features": model.n_features_in_,
            "mistakes": model.n_mistakes_,
            "updates": model.n_updates_,
            "C": model.C_ if model.C != "auto" or model.examples else None,
        }
        if model._races and model.examples:
            found["race"] = model.candidates_
        return found


def _named(classes: list[Any], margins: list[float]) -> dict[str, float]:
    """Return the score of each class; of two classes, the margin is that of the second."""
    if len(classes) == 2:
        margins = [-margins[0], margins[0]]
    return {text_of(label): margin for label, margin in zip(classes, margins, strict=False)}


def _winner(classes: list[Any], margins: list[float]) -> Any:
    """Return the class that ``predict_one`` returns."""
    if len(classes) == 2:
        return classes[margins[0] > 0]
    return classes[margins.index(max(margins))] if classes else None
