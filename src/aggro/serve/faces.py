"""What the server asks of a model, for each kind of model: dict streams, arrays, texts.

A face reads the features of a request, predicts, learns and explains. All else in the server is
the same for every model. A new kind of model is a class here and a row of ``FACES``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from aggro.models.record import CLASSIFIERS, KERNELS, REGRESSORS, Record
from aggro.models.store import record_of
from aggro.serve.limits import Limits
from aggro.serve.probability import Probabilities

Contribution = tuple[str, Any, float]  # feature, value, what it adds to the score


@dataclass(frozen=True)
class Said:
    """What a model says of an example."""

    prediction: Any
    scores: dict[str, float] | None = None
    probabilities: dict[str, float] | None = None

    @property
    def confidence(self) -> float | None:
        """The probability of what was predicted, where there is one."""
        return None if not self.probabilities else max(self.probabilities.values())


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
        return []

    def facts(self) -> dict[str, Any]:
        """Return what the model is and what it has lived through."""
        return {}

    def freeze(self) -> Callable[[], Record]:
        """Copy the model, quickly; what is returned makes plain data of it, in any thread."""
        twin = copy.deepcopy(self.model)
        return lambda: record_of(twin)


class StreamFace(Face):
    """Dicts of names to numbers or texts: ``StreamClassifier`` and ``StreamRegressor``."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        told = getattr(model, "probability", False)
        self._probabilities = Probabilities(model) if told else None

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """As msgspec reads it."""
        name = Annotated[str, Meta(max_length=limits.name)]
        return Annotated[dict[name, float | bool | name], Meta(max_length=limits.features)]

    def predict(self, x: Any) -> Said:
        """Predict one example."""
        prediction = self.model.predict_one(x)
        if self.regression:
            return Said(prediction)
        if self._probabilities is not None:
            found = self._probabilities.predict(x)
            return Said(prediction, None, {text_of(label): p for label, p in found.items()})
        return Said(prediction, self._scores(x))

    def guess(self, x: Any) -> Any:
        """Predict one example, and nothing more."""
        return self.model.predict_one(x)

    def _scores(self, x: Any) -> dict[str, float]:
        score = self.model.score_one(x)
        if isinstance(score, dict):
            return {text_of(label): value for label, value in score.items()}
        first, second = self.model.classes
        return {text_of(first): -score, text_of(second): score}

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.learn_one(x, label, weight)

    def explain(self, x: Any) -> Why:
        """Scores are affine: a feature adds what the score of it alone has more than none."""
        label = None if self.regression else self.model.predict_one(x)
        score, intercept = self._score(x, label), self._score({}, label)
        parts = [(k, v, self._score({k: v}, label) - intercept) for k, v in x.items()]
        return Why(label, score, intercept, parts)

    def _score(self, x: Any, label: Any) -> float:
        if self.regression:
            return float(self.model.predict_one(x))
        return self._scores(x).get(text_of(label), 0.0)

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
        return [] if self.regression else list(self.model.classes)

    def facts(self) -> dict[str, Any]:
        """What the model is."""
        model = self.model
        found = {
            "algorithm": model.algorithm,
            "features": model.n_features,
            "mistakes": model.n_mistakes_,
            "updates": model.n_updates_,
            "C": model.C_ if model.C != "auto" or model.examples else None,
        }
        if model._races and model.examples:
            found["race"] = model.lanes_
        return found


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

    def classes(self) -> list[Any]:
        """The classes met so far."""
        found = getattr(self.model, "classes_", None)
        return [] if found is None else list(found.tolist())

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


class TextFace(Face):
    """Texts as they are: estimators with ``learn_one(text, label)`` and ``explain(text)``."""

    field = "text"

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """As msgspec reads it."""
        return Annotated[str, Meta(max_length=limits.text)]

    def predict(self, x: Any) -> Said:
        """Predict one example."""
        return Said(self.model.predict_one(x))

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.learn_one(x, label, weight)

    def explain(self, x: Any) -> Why:
        """What each feature adds."""
        parts = [(str(name), 1.0, float(part)) for name, part in self.model.explain(x)]
        return Why(self.model.predict_one(x), sum(p for *_, p in parts), 0.0, parts)

    def classes(self) -> list[Any]:
        """The classes met so far."""
        return list(self.model.classes)

    def facts(self) -> dict[str, Any]:
        """What the model is."""
        return {"algorithm": type(self.model).__name__}


FACES: dict[str, type[Face]] = {
    **dict.fromkeys(("StreamClassifier", "StreamRegressor"), StreamFace),
    **dict.fromkeys((*CLASSIFIERS, *REGRESSORS, *KERNELS), ArrayFace),
    "TextClassifier": TextFace,
}


def face_of(model: Any) -> Face:
    """Return the face of a model."""
    name = type(model).__name__
    if name not in FACES:
        raise ValueError(f"A {name} cannot be served; expected one of {', '.join(FACES)}.")
    return FACES[name](model)


def text_of(name: Any) -> str:
    """Return a class or a feature as a key of JSON: a text value v of k is ``k=v``."""
    if isinstance(name, bool):
        return "true" if name else "false"
    if isinstance(name, tuple):
        return "=".join(map(text_of, name))
    return str(name)
