"""The face of models that read lists of numbers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from aggro.models.record import KERNELS
from aggro.serve.faces.base import Face, Said, Why, text_of
from aggro.serve.limits import Limits


class ArrayFace(Face):
    """Lists of numbers: the estimators that learn by ``partial_fit``."""

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """As msgspec reads it."""
        return Annotated[list[float], Meta(min_length=1, max_length=limits.features)]

    def predict(self, x: Any) -> Said:
        """Predict one example."""
        if not hasattr(self.model, "_learner"):
            return Said(0.0 if self.regression else None)
        row = np.array([x])
        prediction = self.model.predict(row)[0]
        if self.regression:
            return Said(float(prediction))
        plain = prediction.item() if hasattr(prediction, "item") else prediction
        if getattr(self.model, "probability", False):
            found = self.model.predict_proba(row)[0].tolist()
            names = map(text_of, self.classes())
            return Said(plain, None, dict(zip(names, found, strict=True)))
        scores = np.atleast_1d(self.model.decision_function(row)[0]).tolist()
        return Said(plain, self._named(scores))

    def _named(self, scores: list[float]) -> dict[str, float]:
        names = list(map(text_of, self.classes()))
        if len(names) == 2:
            scores = [-scores[0], scores[0]]
        return dict(zip(names, scores, strict=False))

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.partial_fit(np.array([x]), np.array([label]), sample_weight=np.array([weight]))

    def explain(self, x: Any) -> Why:
        """What each feature adds."""
        if type(self.model).__name__ in KERNELS:
            raise ValueError("A kernel's score is not a sum over features; it is not explained.")
        rows = np.vstack([np.array([x]), np.zeros((1, len(x))), np.diag(x)])
        if self.regression:
            label, scores = None, self.model.predict(rows)
        else:
            said = self.predict(x)
            label = said.prediction
            table = self.model.decision_function(rows)
            place = list(self.classes()).index(label)
            sign = -1.0 if len(self.classes()) == 2 and place == 0 else 1.0
            scores = sign * (table if table.ndim == 1 else table[:, place])
        score, intercept, *parts = (float(s) for s in scores)
        names = self._names(len(x))
        whole = [
            (name, value, s - intercept) for name, value, s in zip(names, x, parts, strict=True)
        ]
        return Why(label, score, intercept, whole)

    def _names(self, width: int) -> list[str]:
        names = getattr(self.model, "feature_names_in_", range(width))
        return [str(name) for name in names]

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """The features with the largest weights."""
        if not hasattr(self.model, "_learner") or type(self.model).__name__ in KERNELS:
            return []
        coef = np.atleast_2d(np.asarray(self.model.coef_))
        classes = self.classes()
        owners = classes[1:] if len(classes) == 2 else classes
        owners = [""] * len(coef) if self.regression else list(map(text_of, owners))
        names = self._names(coef.shape[1])
        best = np.argsort(-np.abs(coef), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(best, coef.shape), strict=True)
        return [(names[j], owners[k], float(coef[k, j])) for k, j in places]

    def facts(self) -> dict[str, Any]:
        """What the model is."""
        model = self.model
        learned = hasattr(model, "_learner")
        return {
            "algorithm": type(model).__name__,
            "features": model.n_features_in_ if learned else 0,
            "mistakes": getattr(model, "n_mistakes_", None) if learned else 0,
            "updates": getattr(model, "n_updates_", None) if learned else 0,
        }
