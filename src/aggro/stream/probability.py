"""``StreamClassifier(probability=True)``: margins taken before each example is learned."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import bounded
from aggro.classes import output_map
from aggro.learner import Array
from aggro.reference_row import RECENT, is_sample, kept, next_change
from aggro.settings import Settings
from aggro.stream.base import StreamLearner

WAITING = 256  # margins that wait in lists, where one more costs little

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
    """Recent margins of a stream, and what its reference example."""

    def __init__(self, batch: int, classes: list[Any]) -> None:
        self.batch = batch
        self.classes = classes
        self.places: dict[Any, int] = {label: place for place, label in enumerate(classes)}
        self.calibrator = Calibrator.empty(1)
        self.waiting = Waiting()
        self.waits = (0, 0)  # labels and margins in there that count
        self.met = 0
        self.recent: list[Example] = []  # samples
        self.reference: Example = {}  # their mean, as it was when it was made
        self.next_mean = next_change(0, batch)

    def wants(self) -> bool:
        """Return whether the next example is a sample for the reference example."""
        return bool(is_sample(self.met))

    def plus(
        self, place: int, weight: float, margins: list[float], centre: list[float], x: Any
    ) -> StreamRecord:
        """Return the record with an example that was just learned; x is given if it is wanted.

        The first batch has no margins: the model knew nothing. The old record can be asked again
        for the same example, if an interrupt came in between, and is of no use after that.
        """
        new, waiting = self._shared(), self._waiting()
        waiting.labels.append(place)
        waiting.weights.append(weight)
        if self.met >= self.batch:
            waiting.margins += margins
            waiting.centres += centre
        new.waits = (len(waiting.labels), len(waiting.margins))
        new.met += 1
        if len(waiting.labels) == WAITING or new.met == self.batch:
            new.fit_map()
        if x is not None:
            new.recent = [*self.recent[1 - RECENT :], x]
        if new.met == self.next_mean:
            new.reference = _mean(new.recent[-kept(reversed(new.recent[-RECENT:])) :])
            new.next_mean += next_change(new.met, self.batch)
        return new

    def admitted(
        self, classes: list[Any], old: Settings, new: Settings
    ) -> tuple[StreamRecord, Array]:
        """Return the record with classes that were just met, and what turns old margins to new."""
        self.fit_map()
        grown, count = self._shared(), len(classes)
        places = {label: place for place, label in enumerate(classes)}
        change = np.ones((1, 1))
        if self.classes:
            position = np.array([places[label] for label in self.classes])
            change = output_map(old, new, position, count)
            grown.calibrator = self.calibrator.grown(old, new, position, count)
        grown.classes, grown.places, grown.waiting = classes, places, Waiting()
        return grown, change

    def fit_map(self) -> None:
        """Move the waiting margins to the others, in one step."""
        labels, weights, margins, centres = map(np.array, vars(self._waiting()).values())
        if len(labels):
            shape = (-1, self.calibrator.scores.shape[1])
            both = np.stack([margins.reshape(shape), centres.reshape(shape)], axis=1)
            calibrator = self.calibrator.update(both, labels, weights)
            self.__dict__.update(calibrator=calibrator, waiting=Waiting(), waits=(0, 0))

    def facts(self) -> tuple[Any, ...]:
        """Return all that is recorded."""
        return self.met, self.next_mean, self.recent, self.reference, self.calibrator_of_all()

    def calibrator_of_all(self) -> Calibrator:
        """Return the calibrator with all margins."""
        self.fit_map()
        return self.calibrator

    def _waiting(self) -> Waiting:
        """Return what waits, without what an interrupted call has left there."""
        (labels, margins), waiting = self.waits, self.waiting
        del waiting.labels[labels:], waiting.weights[labels:]
        del waiting.margins[margins:], waiting.centres[margins:]
        return waiting

    def _shared(self) -> StreamRecord:
        """Return another record with the same parts."""
        twin = object.__new__(StreamRecord)
        twin.__dict__.update(self.__dict__)
        return twin

    def probabilities(self, margins: list[float], centre: list[float]) -> list[float]:
        """Return the probability of each class."""
        self.fit_map()
        rows = self.calibrator.probabilities(np.array([margins]), np.array(centre))
        return [float(each) for each in rows[0]]

    def __copy__(self) -> StreamRecord:
        twin = self._shared()
        twin.calibrator, twin.waiting = copy.copy(self.calibrator), copy.deepcopy(self._waiting())
        return twin


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
        self._record = StreamRecord(self._settings(2).batch_size, [])
        self._unrecorded: tuple[Any, ...] | None = None
        self._records_margins = bool(probability)  # the core then asks for _learn_and_record

    def _margin_unit(self) -> float:
        return 1.0 if self._selection is None else self._selection.learner.margin_unit

    def keep_best(self) -> None:
        """End the selection: keep the best candidate alone, as if there had been no other.

        Its weights stay the same, to the last bit; learning and predicting then cost a small part
        of the time and memory. Parameters that were selected become those of the best candidate.
        Without a selection nothing happens.
        """
        with self._lock:
            record = self._recorded()
            if self._selection is not None and self.probability:
                record = copy.copy(record)
                record.fit_map()
                unit = self._selection.learner.best_unit
                record.calibrator = record.calibrator.scaled(unit)
            super().keep_best()
            self._record = record

    def _calibrated(self, x: Any) -> dict[Any, float]:
        with self._lock:
            record = self._recorded()
            classes, margins = self._margins(x)
            unit, centre = self._margin_unit(), self._margins(record.reference)[1]
            margins, centre = ([each / unit for each in some] for some in (margins, centre))
            return dict(zip(classes, record.probabilities(margins, centre), strict=False))

    def _learn_and_record(self, x: Any, y: Any, w: float = 1.0) -> None:
        """Learn an example, as ``learn_one``; keep the margins it had before."""
        with self._lock:
            record = self._recorded()
            unit = self._margin_unit()
            margins = [margin / unit for margin in self._margins(x)[1]]
            centre = [margin / unit for margin in self._margins(record.reference)[1]]
            wanted = numbers_of(x) if record.wants() else None
            self._unrecorded = (self._taken, y, w, margins, centre, wanted)
            self._learn(x, y, w)
            self._recorded()

    def _recorded(self) -> StreamRecord:
        """Return the record of all examples, the last one included.

        An interrupt may have come after it was learned and before it was recorded: whoever needs
        the record next makes up for it.
        """
        if self._unrecorded is not None:
            taken, *example = self._unrecorded
            record = self._record_with(*example) if self._taken > taken else self._record
            self.__dict__.update(_record=record, _unrecorded=None)
        return self._record

    def _record_with(
        self, y: Any, w: float, margins: list[float], centre: list[float], wanted: Example | None
    ) -> StreamRecord:
        record = self._record
        if y not in record.places:
            classes, before = self._classes(), len(record.classes)
            settings = self._settings(before), self._settings(len(classes))
            record, change = record.admitted(classes, *settings)
            margins, centre = ((change @ bounded(each)).tolist() for each in (margins, centre))
        return record.plus(record.places[y], float(w), margins, centre, wanted)

    def _copy_state(self) -> Any:
        return super()._copy_state(), copy.copy(self._recorded())

    def _restore_state(self, before: Any) -> None:
        super()._restore_state(before[0])
        self.__dict__.update(_record=before[1], _unrecorded=None)

    def _get_params(self) -> dict[str, Any]:
        return {**super()._get_params(), "probability": self.probability}

    def __reduce__(self) -> Any:
        with self._lock:
            record = copy.copy(self._recorded())
            make, parts, attributes = super().__reduce__()
            return make, parts, attributes | {"_record": record}
