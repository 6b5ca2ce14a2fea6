"""The adapter for models that read lists of numbers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from aggro.persistence.record import KERNELS
from aggro.serve.adapters.base import Adapter, Decomposition, Output, Probabilities, text_of
from aggro.serve.config import Limits


class ArrayAdapter(Adapter):
    """Lists of numbers: the estimators that learn by ``partial_fit``."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._probabilities = Probabilities(_calibrator_of(model))

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        return Annotated[list[float], Meta(min_length=1, max_length=limits.features)]

    def predict(self, x: Any) -> Output:
        """Predict one example."""
        prediction = self.predict_value(x)
        if self.regression or not hasattr(self.model, "_learner"):
            return Output(prediction)
        row = np.array([x])
        if getattr(self.model, "probability", False):
            record, (scores,) = self.model._fitted.record, self.model._scores(row)
            margins = record.margins(self.model._learner, scores)
            found = self._probabilities.of(record.calibrator, *margins)
            names = map(text_of, self.classes())
            return Output(prediction, None, dict(zip(names, found, strict=True)))
        scores = np.atleast_1d(self.model.decision_function(row)[0]).tolist()
        return Output(prediction, self._named(scores))

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        if not hasattr(self.model, "_learner"):
            return 0.0 if self.regression else None
        prediction = self.model.predict(np.array([x]))[0]
        if self.regression:
            return float(prediction)
        return prediction.item() if hasattr(prediction, "item") else prediction

    def _named(self, scores: list[float]) -> dict[str, float]:
        names = list(map(text_of, self.classes()))
        if len(names) == 2:
            scores = [-scores[0], scores[0]]
        return dict(zip(names, scores, strict=False))

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.partial_fit(np.array([x]), np.array([label]), sample_weight=np.array([weight]))

    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each feature."""
        if type(self.model).__name__ in KERNELS:
            raise ValueError(
                "The score of a kernel model is no sum over features, so it has no explanation."
            )
        label, row, sign = None, 0, 1.0
        if not self.regression:
            label = self.predict_value(x)
            if label is not None:
                row = self.classes().index(label)
            if len(self.classes()) <= 2:  # one row of weights, for the last class
                row, sign = 0, 1.0 if row == len(self.classes()) - 1 else -1.0
        weights, intercept = self._weights_of(row, len(x))
        parts = sign * weights * np.array(x)
        score = float(parts.sum() + sign * intercept)
        whole = list(zip(self._names(len(x)), x, parts.tolist(), strict=True))
        return Decomposition(label, score, float(sign * intercept), whole)

    def _weights_of(self, row: int, width: int) -> tuple[Any, float]:
        """Return the weights and the intercept of one output; zeros before anything is learned."""
        if not hasattr(self.model, "_learner"):
            return np.zeros(width), 0.0
        if width != self.model.n_features_in_:
            raise ValueError(
                f"The model has {self.model.n_features_in_} features, but the example {width}."
            )
        weights = np.atleast_2d(self.model._coef())[row].astype(np.float64)
        return weights, float(np.atleast_1d(self.model.intercept_)[row])

    def _names(self, width: int) -> list[str]:
        names = getattr(self.model, "feature_names_in_", range(width))
        return [str(name) for name in names]

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights."""
        if not hasattr(self.model, "_learner") or type(self.model).__name__ in KERNELS:
            return []
        coef = np.atleast_2d(self.model._coef())
        classes = self.classes()
        owners = classes[1:] if len(classes) == 2 else classes
        owners = [""] * len(coef) if self.regression else list(map(text_of, owners))
        names = self._names(coef.shape[1])
        best = np.argsort(-np.abs(coef), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(best, coef.shape), strict=True)
        return [(names[j], owners[k], float(coef[k, j])) for k, j in places]

    def facts(self) -> dict[str, Any]:
        """Return facts about the model."""
        model = self.model
        learned = hasattr(model, "_learner")
        return {
            "algorithm": type(model).__name__,
            "features": model.n_features_in_ if learned else 0,
            "mistakes": getattr(model, "n_mistakes_", None) if learned else 0,
            "updates": getattr(model, "n_updates_", None) if learned else 0,
        }


def _calibrator_of(model: Any) -> Any:
    """Return the recorded margins of a model, if there are any."""
    record = model._fitted.record if hasattr(model, "_learner") else None
    return None if record is None else record.calibrator
