"""The adapter for models that read texts."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from aggro.classes import decode
from aggro.serve.adapters.base import Adapter, Decomposition, Output, Probabilities, text_of
from aggro.serve.config import Limits


class TextAdapter(Adapter):
    """Texts as they are: ``TextClassifier`` and ``TextRegressor``."""

    field = "text"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        calibrator = model._learner.calibrator if self._learned else None
        self._probabilities = Probabilities(calibrator)

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        return Annotated[str, Meta(max_length=limits.text)]

    @property
    def _learned(self) -> bool:
        return hasattr(self.model, "_learner")

    def predict(self, x: Any) -> Output:
        """Predict one example."""
        if not self._learned:
            return Output(0.0 if self.regression else None)
        if self.regression:
            return Output(float(self.model.predict_one(x)))
        learner = self.model._learner
        (scores,) = learner.scores(self.model._table([x]))
        prediction = decode(self.model.classes_, scores[None]).tolist()[0]
        names = list(map(text_of, self.classes()))
        if learner.calibrator is None:
            scores = [-scores[0], scores[0]] if len(names) == 2 else scores
            return Output(prediction, dict(zip(names, map(float, scores), strict=True)))
        margins = learner.margins(scores)
        found = self._probabilities.of(learner.calibrator, *margins)
        return Output(prediction, None, dict(zip(names, found, strict=True)))

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        if not self._learned:
            return None
        prediction = self.model.predict_one(x)
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.partial_fit([x], [label], sample_weight=[weight])

    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each word."""
        if not self._learned:
            raise ValueError("Nothing is learned yet.")
        label = None if self.regression else self.predict_value(x)
        decomposition = self.model.explain(x)[label]
        return Decomposition(
            label,
            decomposition.total,
            decomposition.intercept,
            [(word, 1.0, part) for word, part in decomposition.words],
        )

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the words with the largest weights."""
        if not self._learned:
            return []
        heads = self.classes() or [None]
        words = [
            (word, "" if head is None else text_of(head), weight)
            for head in heads
            for word, weight in self.model.top_words(head, count)
        ]
        return sorted(words, key=lambda each: -abs(each[2]))[:count]

    def facts(self) -> dict[str, Any]:
        """Return facts about the model."""
        mistakes = getattr(self.model, "n_mistakes_", None) if self._learned else 0
        return {"algorithm": type(self.model).__name__, "features": None, "mistakes": mistakes}
