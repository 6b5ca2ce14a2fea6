"""Recorded margins of streams, for ``StreamClassifier(probability=True)``."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from aggro.calibration.calibrator import Calibrator
from aggro.calibration.probability_map import bounded
from aggro.classes import continued_labels, label_outputs, output_map
from aggro.learner import Array
from aggro.reference_row import RECENT, is_sample, kept, next_change
from aggro.selection.common import features_of
from aggro.settings import Settings
from aggro.stream.base import StreamLearner, numbers_of

WAITING = 256  # margins that wait in lists, to which appending is cheap

Example = dict[Any, float]
Stream = TypeVar("Stream", bound="RecordingStream")


@dataclass
class Waiting:
    """Margins of some examples in lists of numbers, which the garbage collector does not visit."""

    labels: list[int | list[int]] = field(default_factory=list)  # or zeros and ones
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
        self.waits = (0, 0)  # valid labels and margins in it
        self.met = 0
        self.recent: list[Example] = []  # samples
        self.reference: Example = {}  # the mean of the samples at the last update
        self.next_mean = next_change(0, batch)

    def is_sample_due(self) -> bool:
        """Return whether the next example is a sample for the reference example."""
        return bool(is_sample(self.met))

    def with_example(
        self,
        place: int | list[int],
        weight: float,
        margins: list[float],
        centre: list[float],
        x: Any,
    ) -> StreamRecord:
        """Return the record with an example that was just learned; x is given if it is a sample.

        The first batch has no margins: the model was untrained. After an interrupt, the same
        example can be added to the old record again; otherwise the old record is invalid.
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
            new.flush()
        if x is not None:
            new.recent = [*self.recent[1 - RECENT :], x]
        if new.met == self.next_mean:
            new.reference = _mean(new.recent[-kept(reversed(new.recent[-RECENT:])) :])
            new.next_mean += next_change(new.met, self.batch)
        return new

    def with_classes(
        self, classes: list[Any], old: Settings, new: Settings
    ) -> tuple[StreamRecord, Array]:
        """Return the record with more classes, and the matrix that maps old margins to new ones."""
        self.flush()
        grown, count = self._shared(), len(classes)
        places = {label: place for place, label in enumerate(classes)}
        change = np.ones((1, 1))
        if self.classes:
            position = np.array([places[label] for label in self.classes])
            change = output_map(old, new, position, count)
            grown.calibrator = self.calibrator.grown(old, new, position, count)
        grown.classes, grown.places, grown.waiting = classes, places, Waiting()
        return grown, change

    def relabelled(self, labels: list[Any]) -> tuple[StreamRecord, Array]:
        """Return the same for labels, of which an example may have several."""
        self.flush()
        grown, outputs = self._shared(), continued_labels(self.classes, labels)
        calibrator = self.calibrator if self.met else Calibrator.empty(label_outputs(0), True)
        grown.calibrator = calibrator.relabelled(outputs)
        grown.classes, grown.waiting = labels, Waiting()
        grown.places = {label: place for place, label in enumerate(labels)}
        return grown, np.eye(calibrator.classes)[outputs]

    def flush(self) -> Calibrator:
        """Move the waiting margins to the calibrator in one step; return it."""
        labels, weights, margins, centres = map(np.array, vars(self._waiting()).values())
        if len(labels):
            shape = (-1, self.calibrator.scores.shape[1])
            both = np.stack([margins.reshape(shape), centres.reshape(shape)], axis=1)
            calibrator = self.calibrator.update(both, labels, weights)
            self.__dict__.update(calibrator=calibrator, waiting=Waiting(), waits=(0, 0))
        return self.calibrator

    def _waiting(self) -> Waiting:
        """Return the waiting margins without those of an interrupted call."""
        (labels, margins), waiting = self.waits, self.waiting
        del waiting.labels[labels:], waiting.weights[labels:]
        del waiting.margins[margins:], waiting.centres[margins:]
        return waiting

    def _shared(self) -> StreamRecord:
        """Return a shallow copy."""
        copied = object.__new__(StreamRecord)
        copied.__dict__.update(self.__dict__)
        return copied

    def probabilities(self, margins: list[float], centre: list[float]) -> list[float]:
        """Return the probability of each class."""
        rows = self.flush().probabilities(np.array([margins]), np.array(centre))
        return [float(each) for each in rows[0]]

    def __copy__(self) -> StreamRecord:
        copied = self._shared()
        copied.calibrator, copied.waiting = (
            copy.copy(self.calibrator),
            copy.deepcopy(self._waiting()),
        )
        return copied


def _mean(examples: list[Example]) -> Example:
    mean: Example = {}
    for x in examples:
        for name, value in x.items():
            mean[name] = mean.get(name, 0.0) + value / len(examples)
    return mean


class RecordingStream(StreamLearner):
    """A stream learner that records margins if ``probability`` is true.

    Its methods call the core several times under one lock.
    """

    def _begin_record(self, probability: bool) -> None:
        if not isinstance(probability, (bool, np.bool_)):
            raise ValueError(f"probability={probability!r} is not valid; give True or False.")
        self.probability = probability
        self._record = StreamRecord(self._settings(2).batch_size, [])
        self._unrecorded: tuple[Any, ...] | None = None
        self._records_margins = bool(probability)  # the core then calls _learn_and_record

    def _margin_unit(self) -> float:
        return 1.0 if self._selection is None else self._selection.learner.margin_unit

    def keep_best(self) -> None:
        """End the selection: keep the best candidate alone, as if there had been no other.

        Its weights stay the same, to the last bit; learning and predicting then cost a small part
        of the time and memory. Parameters that were selected become those of the best candidate.
        Without a selection nothing happens.
        """
        with self._lock:
            record, selection = self._recorded(), self._selection
            if selection is not None and self.probability:
                learner = selection.learner
                if features_of(learner) == "linear":  # a single model, whose margins have no unit
                    record = copy.copy(record)
                    record.flush()
                    record.calibrator = record.calibrator.scaled(learner.best_unit)
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
        """Learn an example as ``learn_one`` does; record its margins before."""
        with self._lock:
            record = self._recorded()
            unit = self._margin_unit()
            margins = [margin / unit for margin in self._margins(x)[1]]
            centre = [margin / unit for margin in self._margins(record.reference)[1]]
            sample = numbers_of(x) if record.is_sample_due() else None
            y = frozenset(y) if isinstance(y, (set, frozenset)) else y
            self._unrecorded = (self._taken, y, w, margins, centre, sample)
            self._learn(x, y, w)
            self._recorded()

    def _recorded(self) -> StreamRecord:
        """Return the record of all examples.

        If an interrupt came between learning and recording the last example, it is recorded here.
        """
        if self._unrecorded is not None:
            taken, *example = self._unrecorded
            record = self._record_with(*example) if self._taken > taken else self._record
            self.__dict__.update(_record=record, _unrecorded=None)
        return self._record

    def _record_with(
        self, y: Any, w: float, margins: list[float], centre: list[float], sample: Example | None
    ) -> StreamRecord:
        record = self._record
        if self._several:
            return self._record_with_labels(y, w, margins, centre, sample)
        if y not in record.places:
            classes, before = self._classes(), len(record.classes)
            settings = self._settings(before), self._settings(len(classes))
            record, change = record.with_classes(classes, *settings)
            margins, centre = ((change @ bounded(each)).tolist() for each in (margins, centre))
        return record.with_example(record.places[y], float(w), margins, centre, sample)

    def _record_with_labels(
        self,
        labels: set[Any],
        w: float,
        margins: list[float],
        centre: list[float],
        sample: Example | None,
    ) -> StreamRecord:
        record = self._record
        if not record.met or not labels <= record.places.keys():
            record, change = record.relabelled(self._classes())
            if self._record.met:
                margins, centre = ((change @ each).tolist() for each in (margins, centre))
        places = [int(label in labels) for label in record.classes]
        places += [0] * (label_outputs(len(places)) - len(places))
        return record.with_example(places, float(w), margins, centre, sample)

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
