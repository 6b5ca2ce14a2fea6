"""Adapters between the server and each kind of model: dict streams, arrays, texts.

An adapter reads the features of a request, predicts, learns and explains. Everything else in the
server is the same for every model. A new kind of model is a class here and a row of ``ADAPTERS``.
"""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta, Struct

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import uncalibrated
from aggro.explanation import ROWS
from aggro.persistence.record import CLASSIFIERS, KERNELS, REGRESSORS, Record
from aggro.persistence.store import record_of
from aggro.selection.common import features_of
from aggro.serve.config import Limits
from aggro.stream.base import name_as_text

FACTS = {  # in the description of the model: attributes that it may have
    "features": "n_features_in_",
    "mistakes": "n_mistakes_",
    "updates": "n_updates_",
    "C": "C_",
    "candidates": "candidates_",
}
Contribution = tuple[str, Any, float]  # feature, value, contribution to the score
Recorded = tuple[Calibrator, Any, Any]  # and the margins of an example and of the reference row


class Output(Struct, frozen=True):
    """The prediction for an example."""

    prediction: Any
    scores: dict[str, float] | None = None
    probabilities: dict[str, float] | None = None

    @property
    def confidence(self) -> float | None:
        """The probability of the predicted class; None without probabilities, or for sets."""
        if not self.probabilities or isinstance(self.prediction, list):
            return None
        return self.probabilities.get(text_of(self.prediction))


@dataclass(frozen=True)
class Decomposition:
    """A score, or a predicted number, as a sum of contributions of features."""

    label: Any
    score: float
    intercept: float
    contributions: list[Contribution]


class Adapter(ABC):
    """Base of the adapters: a model, and whether it predicts numbers."""

    field: ClassVar[str] = "features"  # the name of the input in a request
    takes_sets: ClassVar[bool] = True  # whether a label may be a set

    def __init__(self, model: Any) -> None:
        self.model = model
        self.regression = type(model).__name__.endswith("Regressor")
        self._probabilities = Probabilities(self._calibrator())

    @staticmethod
    @abstractmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""

    @property
    def _learned(self) -> bool:
        """Whether the model can predict."""
        return hasattr(self.model, "_learner")

    @property
    def several(self) -> bool:
        """Whether the model has learned sets of labels."""
        return bool(getattr(self.model, "_several", False))

    @abstractmethod
    def _calibrator(self) -> Calibrator | None:
        """Return the recorded margins of the model, if it has calibrated probabilities."""

    @abstractmethod
    def _margins(self, x: Any) -> tuple[list[Any], list[float]]:
        """Return the classes and the margin of each; for two classes, that of the second."""

    @abstractmethod
    def _recorded(self, margins: list[float]) -> Recorded | None:
        """Return what the probabilities of an example are computed from; None without any."""

    def predict(self, x: Any) -> Output:
        """Predict one example."""
        if self.regression or not self._learned:
            return Output(self.predict_value(x))
        classes, margins = self._margins(x)
        prediction = self._winner(classes, margins)
        recorded = self._recorded(margins)
        if recorded is None:
            return Output(prediction, self._scores(classes, margins))
        certain = len(classes) < 2 and not self.several
        shares = [1.0] if certain else self._probabilities.of(*recorded)
        return Output(prediction, None, dict(zip(map(text_of, classes), shares, strict=False)))

    def _winner(self, classes: list[Any], margins: list[float]) -> Any:
        """Return the class that the model predicts, or a list of labels."""
        if self.several:
            return [label for label, margin in zip(classes, margins, strict=False) if margin > 0]
        if len(classes) == 2:
            return classes[margins[0] > 0]
        return classes[margins.index(max(margins))] if classes else None

    def _scores(self, classes: list[Any], margins: list[float]) -> dict[str, float]:
        """Return the score of each class."""
        if len(classes) == 2 and not self.several:
            margins = [-margins[0], margins[0]]
        return {text_of(label): margin for label, margin in zip(classes, margins, strict=False)}

    @abstractmethod
    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores; labels are a list, in the order of the classes."""

    def _explained(self, x: Any) -> Any:
        """Return the class whose score is explained: of several labels, the one scored highest."""
        classes = self.classes()
        if not classes or not self.several:
            return self.predict_value(x) if classes else None
        _, margins = self._margins(x)
        return classes[margins.index(max(margins[: len(classes)]))]

    @abstractmethod
    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example; if it is invalid, raise ValueError or TypeError and change nothing."""

    @abstractmethod
    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each feature to the score."""

    def work_of_explaining(self, x: Any) -> int:
        """Return a measure of the time of an explanation: features times classes."""
        return len(x) * max(1, len(self.classes()))

    @abstractmethod
    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights: feature, class, weight."""

    def _output_of(self, label: Any) -> tuple[int, float]:
        """Return the output that scores a class, and its sign for this class."""
        if self.regression or label is None:
            return 0, 1.0
        place, count = self.classes().index(label), len(self.classes())
        if count > 2 or self.several:
            return place, 1.0
        return 0, 1.0 if place == count - 1 else -1.0

    def _strongest(
        self, weights: Any, names: Sequence[Any], count: int
    ) -> list[tuple[str, str, float]]:
        """Return the largest weights of a table of outputs and features."""
        classes = self.classes()
        one = len(classes) == 2 and not self.several
        owners = list(map(text_of, classes[1:] if one else classes))
        owners = [""] if self.regression else owners
        table = weights[: len(owners), : len(names)]
        best = np.argsort(-np.abs(table), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(best, table.shape), strict=True)
        return [(text_of(names[j]), owners[k], float(table[k, j])) for k, j in places]

    def classes(self) -> list[Any]:
        """Return the classes seen so far."""
        found = getattr(self.model, "classes_", ())
        return list(found.tolist() if isinstance(found, np.ndarray) else found)

    def facts(self) -> dict[str, Any]:
        """Return facts about the model and its training."""
        found = {"algorithm": getattr(self.model, "algorithm", None) or type(self.model).__name__}
        for name, attribute in FACTS.items():
            with contextlib.suppress(AttributeError, ValueError):  # nothing learned or selected
                found[name] = getattr(self.model, attribute)
        return found

    def freeze(self) -> Callable[[], Record]:
        """Copy the model; return a function that serialises the copy, in any thread."""
        copied = copy.deepcopy(self.model)
        return lambda: record_of(copied)


def text_of(name: Any) -> str:
    """Return a class or a feature as a JSON key: a text value v of k is ``k=v``."""
    if isinstance(name, bool):
        return "true" if name else "false"
    return name_as_text(name)


def as_label(value: Any) -> Any:
    """Return a label, or a list of labels as a set."""
    return frozenset(value) if isinstance(value, list) else value


# -- dict streams ---------------------------------------------------------------------------------

FEW = 300  # examples after which the map is no longer fitted at every prediction


class StreamAdapter(Adapter):
    """Dicts of names to numbers or texts: ``StreamClassifier`` and ``StreamRegressor``."""

    @property
    def _learned(self) -> bool:
        return True

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        name = Annotated[str, Meta(max_length=limits.name)]
        return Annotated[dict[name, float | bool | name], Meta(max_length=limits.features)]

    def _calibrator(self) -> Calibrator | None:
        return self.model._record.calibrator if self._calibrated else None

    @property
    def _calibrated(self) -> bool:
        return getattr(self.model, "probability", False)

    def _margins(self, x: Any) -> tuple[list[Any], list[float]]:
        classes, margins = self.model._margins(x)
        return classes, margins

    def _recorded(self, margins: list[float]) -> Recorded | None:
        if not self._calibrated:
            return None
        record, unit = self.model._recorded(), self.model._margin_unit()
        if record.met < FEW:
            record.flush()
        centre = np.array(self.model._margins(record.reference)[1]) / unit
        return record.calibrator, np.array(margins) / unit, centre

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        found = self.model.predict_one(x)
        return [label for label in self.classes() if label in found] if self.several else found

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        self.model.learn_one(x, label, weight)

    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each feature, as ``explain`` of the model does."""
        label = self._explained(x)
        output, sign = self._output_of(label)
        names, parts, rest = self.model._contributions_to(x)
        added = (sign * parts[output]).tolist()
        values = [x.get(name, x.get(str(name).partition("=")[0], 0.0)) for name in names]
        named = list(zip(names, values, added, strict=True))
        return Decomposition(label, self._score(x, label), float(sign * rest[output]), named)

    def work_of_explaining(self, x: Any) -> int:
        """Return the measure; a column of a non-linear model is compared with other rows."""
        selection = self.model._selection
        if selection is None or features_of(selection.learner) == "linear":
            return super().work_of_explaining(x)
        return int(selection.learner.features) ** 2 * ROWS // 4

    def _score(self, x: Any, label: Any) -> float:
        if self.regression:
            return float(self.predict_value(x))
        return self._scores(*self._margins(x)).get(text_of(label), 0.0)

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights; hashed features have no names."""
        names = self.model._names()
        if self.model._buckets or not len(names):
            return []
        try:
            weights, _ = self.model._coefficients()
        except AttributeError:  # non-linear features
            return []
        return self._strongest(weights.T, names, count)

    def freeze(self) -> Callable[[], Record]:
        """Copy the parts of a stream now; combining them takes longer and can be done later."""
        make, parts, attributes = self.model.__reduce__()

        def record() -> Record:
            copied = make(*parts)
            vars(copied).update(attributes)
            return record_of(copied)

        return record


# -- estimators -----------------------------------------------------------------------------------


class EstimatorAdapter(Adapter):
    """Base of the adapters for estimators that learn by ``partial_fit``."""

    def _rows(self, x: Any) -> Any:
        """Return one example as rows."""
        return [x]

    def _margins(self, x: Any) -> tuple[list[Any], list[float]]:
        margins = np.atleast_1d(self.model.decision_function(self._rows(x))[0])
        return self.classes(), margins.tolist()

    def predict_value(self, x: Any) -> Any:
        """Return the prediction without scores."""
        if not self._learned:
            return 0.0 if self.regression else None
        prediction = self.model.predict(self._rows(x))[0]
        if self.several:
            return [label for label in self.classes() if label in prediction]
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def learn(self, x: Any, label: Any, weight: float) -> None:
        """Learn one example."""
        labels = [label] if isinstance(label, frozenset) else np.array([label])
        self.model.partial_fit(self._rows(x), labels, sample_weight=np.array([weight]))


class ArrayAdapter(EstimatorAdapter):
    """Lists of numbers."""

    takes_sets = False

    def _rows(self, x: Any) -> Any:
        return np.array([x])

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        return Annotated[list[float], Meta(min_length=1, max_length=limits.features)]

    def _calibrator(self) -> Calibrator | None:
        record = self.model._fitted.record if self._learned else None
        return None if record is None else record.calibrator

    def _recorded(self, margins: list[float]) -> Recorded | None:
        if not getattr(self.model, "probability", False):
            return None
        record = self.model._fitted.record
        return record.calibrator, *record.margins(self.model._learner, np.array(margins))

    def explain(self, x: Any) -> Decomposition:
        """Return weight × value of each feature."""
        label = None if self.regression else self.predict_value(x)
        output, sign = self._output_of(label)
        weights, intercept = self._weights_of(output, len(x))
        parts = sign * weights * np.array(x)
        score = float(parts.sum() + sign * intercept)
        named = list(zip(self._names(len(x)), x, parts.tolist(), strict=True))
        return Decomposition(label, score, sign * intercept, named)

    def _weights_of(self, output: int, width: int) -> tuple[Any, float]:
        """Return the weights and the intercept of one output; zeros before anything is learned."""
        if not self._learned:
            return np.zeros(width), 0.0
        if width != self.model.n_features_in_:
            raise ValueError(
                f"The model has {self.model.n_features_in_} features, but the example {width}."
            )
        weights = self._weights()[output].astype(np.float64)
        return weights, float(np.atleast_1d(self.model.intercept_)[output])

    def _weights(self) -> Any:
        """Return a table of outputs and features; raise ValueError if features have no weights."""
        try:
            return np.atleast_2d(self.model._coef())
        except AttributeError as error:  # kernels, non-linear features
            raise ValueError(
                "The score of this model is no sum over features, so it has no explanation."
            ) from error

    def _names(self, width: int) -> list[str]:
        return [str(name) for name in getattr(self.model, "feature_names_in_", range(width))]

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the features with the largest weights."""
        if not self._learned:
            return []
        try:
            weights = self._weights()
        except ValueError:
            return []
        return self._strongest(weights, self._names(weights.shape[1]), count)


# -- texts ----------------------------------------------------------------------------------------


class TextAdapter(EstimatorAdapter):
    """Texts as they are: ``TextClassifier`` and ``TextRegressor``."""

    field = "text"

    @staticmethod
    def input_type(limits: Limits) -> Any:
        """Return the type of the input for msgspec."""
        return Annotated[str, Meta(max_length=limits.text)]

    def _calibrator(self) -> Calibrator | None:
        return self.model._learner.calibrator if self._learned else None

    def _margins(self, x: Any) -> tuple[list[Any], list[float]]:
        return self.classes(), self.model._scores_of([x])[0].tolist()

    def _recorded(self, margins: list[float]) -> Recorded | None:
        learner = self.model._learner
        if learner.calibrator is None:
            return None
        return learner.calibrator, *learner.margins(np.array(margins))

    def explain(self, x: Any) -> Decomposition:
        """Return the contribution of each word."""
        if not self._learned:
            raise ValueError("Nothing is learned yet.")
        label = self._explained(x)
        if label is None and not self.regression:
            raise ValueError("No label is learned yet.")
        found = self.model.explain(x)[label]
        parts = [(word, 1.0, part) for word, part in found.words]
        return Decomposition(label, found.total, found.intercept, parts)

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """Return the words with the largest weights."""
        if not self._learned:
            return []
        words = [
            (word, "" if label is None else text_of(label), weight)
            for label in self.classes() or [None]
            for word, weight in self.model.top_words(label, count)
        ]
        return sorted(words, key=lambda each: -abs(each[2]))[:count]


ADAPTERS: dict[str, type[Adapter]] = {
    **dict.fromkeys(("StreamClassifier", "StreamRegressor"), StreamAdapter),
    **dict.fromkeys((*CLASSIFIERS, *REGRESSORS, *KERNELS), ArrayAdapter),
    **dict.fromkeys(("TextClassifier", "TextRegressor"), TextAdapter),
}


def adapter_for(model: Any) -> Adapter:
    """Return the adapter for a model."""
    name = type(model).__name__
    if name not in ADAPTERS:
        raise ValueError(f"A {name} cannot be served; expected one of {', '.join(ADAPTERS)}.")
    if hasattr(model, "_learner") and getattr(model, "_multilabel", False):
        raise ValueError(
            "This model has learned indicator matrices, which the server does not support; train a "
            "stream or a text model with sets of labels."
        )
    return ADAPTERS[name](model)


# -- probabilities --------------------------------------------------------------------------------

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

    def of(self, calibrator: Calibrator, margins: Any, centre: Any) -> list[float]:
        """Return the probability of each class for the margins of one example.

        ``centre`` are the margins of the reference row.
        """
        ready, row = self._ready(calibrator), np.array([margins])
        if ready is None:
            found = uncalibrated(row, calibrator.classes, calibrator.multilabel)
        else:
            found = ready.probabilities(row, centre)
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
