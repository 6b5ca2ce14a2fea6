"""What the server asks of a model, whatever it reads."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec import Struct

from aggro.persistence.record import Record
from aggro.persistence.store import record_of
from aggro.serve.limits import Limits

Contribution = tuple[str, Any, float]  # feature, value, what it adds to the score


class Said(Struct, frozen=True):
    """What a model says of an example."""

    prediction: Any
    scores: dict[str, float] | None = None
    probabilities: dict[str, float] | None = None

    @property
    def confidence(self) -> float | None:
        """The probability of what was predicted, where there is one."""
        return self.probabilities.get(text_of(self.prediction)) if self.probabilities else None


@dataclass(frozen=True)
class Why:
    """What each feature adds to the score of a class, or to the predicted number."""

    label: Any
    score: float
    intercept: float
    contributions: list[Contribution]


class Face:
    """What all faces share: a model, and whether it predicts numbers."""

    field: ClassVar[str] = "features"  # the name of the input in a request

    def __init__(self, model: Any) -> None:
        self.model = model
        self.regression = type(model).__name__.endswith("Regressor")

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input, as msgspec reads it."""
        raise NotImplementedError

    def predict(self, x: Any) -> Said:
        """Predict one example."""
        raise NotImplementedError

    def guess(self, x: Any) -> Any:
        """Predict one example, and nothing more."""
        return self.predict(x).prediction

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example; raise ValueError or TypeError, without a trace, if it is refused."""
        raise NotImplementedError

    def explain(self, x: Any) -> Why:
        """Say what each feature adds to the score."""
        raise NotImplementedError

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights: feature, class, weight."""
        return []

    def classes(self) -> list[Any]:
        """Return the classes met so far."""
        found = getattr(self.model, "classes_", None)
        return [] if found is None else list(found.tolist())

    def facts(self) -> dict[str, Any]:
        """Return what the model is and what it has lived through."""
        return {}

    def freeze(self) -> Callable[[], Record]:
        """Copy the model, quickly; what is returned makes plain data of it, in any thread."""
        twin = copy.deepcopy(self.model)
        return lambda: record_of(twin)


def text_of(name: Any) -> str:
    """Return a class or a feature as a key of JSON: a text value v of k is ``k=v``."""
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, tuple):
        return "=".join(map(text_of, name))
    return str(name)
