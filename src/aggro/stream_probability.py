"""``StreamClassifier(probability=True)``: margins taken before each example is learned."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from aggro.calibration import Calibrator
from aggro.growth import output_map
from aggro.learner import Array
from aggro.rules import Settings
from aggro.stream_learner import StreamLearner, from_json, to_json
from aggro.typical import RECENT, is_sample, kept, next_change

WAITING = 256  # margins that wait in lists, where one more costs little
ARRAYS = (
    *("scores", "centres", "labels", "weights", "parameters"),
    *("counts", "masses", "changes", "latest"),
)
FACTS = ("seen", "recorded", "fitted_at")
PREFIX = "record_"  # of these arrays in the state of a stream

Example = dict[Any, float]
Stream = TypeVar("Stream", bound="RecordingStream")


@dataclass
class Waiting:
    """Margins of some examples, one after another: plain numbers give the collector no work."""

    labels: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    margins: list[float] = field(default_factory=list)
    centres: list[float] = field(default_factory=list)


class StreamRecord:
    """Recent margins of a stream, and what a typical example of it looks like."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.classes: list[Any] = []
        self.places: dict[Any, int] = {}
        self.calibrator = Calibrator.empty(1)
        self.waiting = Waiting()
        self.met = 0
        self.recent: list[Example] = []  # samples
        self.typical: Example = {}  # their mean, as it was when it was made
        self.next_mean = next_change(0, batch)

    def wants(self) -> bool:
        """Tell whether the next example is one of those that make the typical one."""
        return is_sample(self.met)

    def add(
        self, place: int, weight: float, margins: list[float], centre: list[float], x: Any
    ) -> None:
        """Record an example that was just learned; x is given if it is wanted.

        The first batch has no margins: the model knew nothing.
        """
        waiting = self.waiting
        waiting.labels.append(place)
        waiting.weights.append(weight)
        if self.met >= self.batch:
            waiting.margins += margins
            waiting.centres += centre
        self.met += 1
        if len(waiting.labels) == WAITING or self.met == self.batch:
            self.settle()
        if x is not None:
            self.recent = [*self.recent[1 - RECENT :], x]
        if self.met == self.next_mean:
            self.typical = _mean(self.recent[-kept(self.recent) :])
            self.next_mean += next_change(self.met, self.batch)

    def admit(self, classes: list[Any], old: Settings, new: Settings) -> Array:
        """Go on with classes that were just met; return what turns old margins into new ones."""
        self.settle()
        count, places = len(classes), {label: place for place, label in enumerate(classes)}
        change = np.ones((1, 1))
        if self.classes:
            position = np.array([places[label] for label in self.classes])
            change = output_map(old, new, position, count)
            self.calibrator = self.calibrator.grown(change, position, count)
        self.classes, self.places = classes, places
        return change

    def settle(self) -> None:
        """Move the waiting margins to the others."""
        labels, weights, margins, centres = map(np.array, vars(self.waiting).values())
        if len(labels):
            shape = (-1, self.calibrator.scores.shape[1])
            rows = (labels, weights, margins.reshape(shape), centres.reshape(shape))
            self.calibrator, self.waiting = self.calibrator.plus(*rows), Waiting()

    def probabilities(self, margins: list[float], centre: list[float]) -> list[float]:
        """Return the probability of each class."""
        self.settle()
        rows = self.calibrator.probabilities(np.array([margins]), np.array(centre))
        return [float(each) for each in rows[0]]

    def __copy__(self) -> StreamRecord:
        twin = object.__new__(StreamRecord)
        twin.__dict__.update(self.__dict__)
        twin.calibrator, twin.waiting = copy.copy(self.calibrator), copy.deepcopy(self.waiting)
        return twin

    # -- files -------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return facts (the examples as pairs of names and values) and arrays by name."""
        self.settle()
        parts = vars(self.calibrator)
        facts = {name: parts[name] for name in FACTS} | {"met": self.met}
        facts["next_mean"] = self.next_mean
        facts["recent"] = [[list(x), list(x.values())] for x in [*self.recent, self.typical]]
        return facts, {name: parts[name] for name in ARRAYS if parts[name] is not None}

    @staticmethod
    def from_state(
        facts: dict[str, Any], arrays: dict[str, Array], classes: list[Any], batch: int
    ) -> StreamRecord:
        """Return the record that gave this state."""
        record = StreamRecord(batch)
        record.classes, record.places = classes, {label: i for i, label in enumerate(classes)}
        known = {name: facts[name] for name in FACTS} | {"parameters": None}
        record.calibrator = Calibrator(max(len(classes), 1), False, **known | arrays)
        record.met, record.next_mean = int(facts["met"]), int(facts["next_mean"])
        *record.recent, record.typical = (
            numbers_of(dict(zip(*x, strict=True))) for x in facts["recent"]
        )
        return record


def numbers_of(x: Any) -> Example:
    """Return an example as the core reads it: the text v of k is the feature (k, v)."""
    named = (((k, v), 1.0) if isinstance(v, str) else (k, float(v)) for k, v in x.items())
    return {name: value for name, value in named if value != 0 and math.isfinite(value)}


def _mean(examples: list[Example]) -> Example:
    mean: Example = {}
    for x in examples:
        for name, value in x.items():
            mean[name] = mean.get(name, 0.0) + value / len(examples)
    return mean


class RecordingStream(StreamLearner):
    """A stream learner that records margins, if it is asked to.

    What it does takes several steps of the core, and the lock keeps other threads out of all.
    """

    def _begin_record(self, probability: bool) -> None:
        if not isinstance(probability, (bool, np.bool_)):
            raise ValueError(f"probability={probability!r} is not valid; give True or False.")
        self.probability = probability
        self._record = StreamRecord(self._settings(2).batch_size)
        if probability:  # an attribute of its own: without it, learn_one is the core's
            self.learn_one = self._learn_and_record  # type: ignore[method-assign]

    def _calibrated(self, x: Any) -> dict[Any, float]:
        with self._lock:
            classes, margins = self._margins(x)
            centre = self._margins(self._record.typical)[1]
            return dict(zip(classes, self._record.probabilities(margins, centre), strict=False))

    def _learn_and_record(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn an example, as ``learn_one``; keep the margins it had before."""
        with self._lock:
            record = self._record
            margins, centre = self._margins(x)[1], self._margins(record.typical)[1]
            wanted = numbers_of(x) if record.wants() else None
            super().learn_one(x, y, w)
            if w == 0:
                return
            if y not in record.places:
                classes, before = self._classes(), len(record.classes)
                change = record.admit(classes, self._settings(before), self._settings(len(classes)))
                margins, centre = (change @ margins).tolist(), (change @ centre).tolist()
            record.add(record.places[y], float(w), margins, centre, wanted)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:  # noqa: D102
        with self._lock:
            before = copy.copy(self._record)
            try:
                super().learn_many(X, y, w)
            except BaseException:
                self._record = before
                raise

    learn_many.__doc__ = StreamLearner.learn_many.__doc__

    def _get_params(self) -> dict[str, Any]:
        return {**super()._get_params(), "probability": self.probability}

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that was learned: a description that JSON can hold, and arrays by name."""
        with self._lock:
            description, arrays = super().state()
            if self.probability:
                facts, margins = self._record.state()
                facts["recent"] = [[list(map(to_json, names)), v] for names, v in facts["recent"]]
                description["record"] = facts
                arrays |= {PREFIX + name: array for name, array in margins.items()}
            return description, arrays

    @classmethod
    def from_state(
        cls: type[Stream], description: dict[str, Any], arrays: dict[str, Array]
    ) -> Stream:
        """Return the model that gave this state."""
        margins = {n: a for n, a in arrays.items() if n.startswith(PREFIX)}
        known = {n: a for n, a in arrays.items() if n not in margins}
        model = super().from_state(description, known)
        if model.probability:
            facts = dict(description["record"])
            recent = [[list(map(from_json, names)), v] for names, v in facts["recent"]]
            facts["recent"] = recent
            own = {n[len(PREFIX) :]: margins[n] for n in margins}
            batch = model._record.batch
            model._record = StreamRecord.from_state(facts, own, model._classes(), batch)
        return model

    def __reduce__(self) -> Any:
        with self._lock:
            make, parts, attributes = super().__reduce__()
            own = {name: value for name, value in attributes.items() if name != "learn_one"}
            return make, parts, own | {"_record": copy.copy(self._record)}
