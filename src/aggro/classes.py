"""The classes of a model: encoding of labels, adding new classes, decoding of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aggro.checks import near
from aggro.labels import (
    Array,
    check_same_kind,
    chosen,
    joined,
    places,
    plain_labels,
    shown,
    sorted_classes,
)
from aggro.settings import Settings, Task, class_task


@dataclass(slots=True)  # created in every call; frozen dataclasses take three times as long
class Classes:
    """Sorted classes; immutable."""

    labels: Array
    given: bool = False  # the caller has given all classes: no others are valid

    @classmethod
    def named(cls, classes: Any) -> Classes:
        """Return the classes given by the caller: no others will be valid."""
        return cls(sorted_classes(classes), given=True)

    @classmethod
    def of(cls, y: Array) -> Classes:
        """Return the classes of some labels."""
        return cls(np.unique(y))

    @classmethod
    def numbered(cls, y: Array) -> tuple[Classes, Array]:
        """Return the classes of some labels, and the number of each label."""
        if y.dtype.kind in "iu" and len(y) > 0:
            low, high = int(y.min()), int(y.max())
            if high - low <= 2 * len(y) and high < 2**63:
                number = y.astype(np.int64)  # narrow types would overflow
                if low != 0:
                    number -= low
                present = np.bincount(number) > 0  # a table of the range is faster than sorting
                if not present.all():
                    number = (np.cumsum(present) - 1)[number]
                return cls((np.flatnonzero(present) + low).astype(y.dtype)), number
        known = cls.of(y)
        return known, np.searchsorted(known.labels, y).astype(np.int64, copy=False)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def outputs(self) -> int:
        """The number of classes, as learners are given it."""
        return len(self)

    def targets(self, y: Array) -> dict[str, Array]:
        """Return labels as the targets of a learner."""
        return {"labels": self.encode(y)}

    @property
    def task(self) -> Task:
        """The task of predicting them."""
        return class_task(len(self))

    # -- from labels to numbers --------------------------------------------------------------

    def encode(self, y: Array, present: Array | None = None) -> Array:
        """Return the number of the class of each label; raise on an unknown one.

        Rows that are not ``present`` (their weight is zero) may have any label; their number is 0.
        """
        number, known = places(y, self.labels)
        strange = ~known if present is None else ~known & present
        if strange.any():
            label = y[strange].tolist()[0]
            check_same_kind(y[strange], self.labels)
            raise ValueError(
                f"y contains the label {label!r} (row {int(np.argmax(strange))}), which is not one "
                f"of the classes of the first call: {shown(self.labels)}."
                f"{near(str(label), map(str, self.labels.tolist()))} Begin with partial_fit "
                "instead of fit, and leave classes out, to let new ones appear."
            )
        return number if present is None else np.where(known, number, 0)

    # -- more classes ------------------------------------------------------------------------

    def strange(self, y: Array) -> Array:
        """Return the labels that are not among the classes."""
        return np.asarray(y[~places(y, self.labels)[1]])

    def admit(self, y: Array) -> Classes:
        """Return the classes with the new ones in y, unless the caller has given all classes."""
        return self if self.given else replace(self, labels=joined(self.labels, y))

    def among(self, others: Classes) -> Array:
        """Return the position of each class in ``others``, which contain them."""
        return places(self.labels, others.labels)[0]

    def moved(self, counts: Array, others: Classes) -> Array:
        """Return the counts of each class, for ``others``, which contain them."""
        new = np.zeros(len(others))
        new[self.among(others)] = counts
        return new


@dataclass(slots=True)
class LabelSets(Classes):
    """Sorted labels, of which an example may have any number; immutable.

    The labels of examples are an array of sets. Each label is learned as an independent output.
    """

    @classmethod
    def of(cls, y: Array) -> LabelSets:
        """Return the labels in some sets."""
        return cls(sorted_classes(list(set().union(*y)), "y"))

    @property
    def task(self) -> Task:
        """The task of predicting them."""
        return "multilabel"

    @property
    def outputs(self) -> int:
        """The number of outputs: see ``label_outputs``."""
        return label_outputs(len(self))

    def targets(self, y: Array) -> dict[str, Array]:
        """Return sets of labels as an indicator matrix with one column for each output."""
        values = np.zeros((len(y), self.outputs))
        sizes = [len(labels) for labels in y]
        if sum(sizes):
            joined = plain_labels([label for labels in y for label in labels])
            values[np.repeat(np.arange(len(y)), sizes), self.encode(joined)] = 1.0
        return {"values": values}

    def admit(self, y: Array) -> LabelSets:
        """Return the labels with those of some sets, unless the caller has given all of them."""
        new = LabelSets.of(y).labels
        if self.given or not len(new):
            return self
        return replace(self, labels=joined(self.labels, new) if len(self) else new)

    def decode(self, scores: Array) -> Array:
        """Return the set of labels of each row of scores: those with a positive score."""
        sets, labels = np.empty(len(scores), dtype=object), self.labels.tolist()
        for row, positive in enumerate(scores[:, : len(self)] > 0):
            sets[row] = {labels[k] for k in np.flatnonzero(positive)}
        return sets


def encode_known(labels: Array, y: Any, count: int) -> Array | None:
    """Return the number of each label if y consists of ``count`` known integer classes, else None.

    Known classes need no other check, and most batches of a stream contain no others.
    """
    numbers = type(y) is np.ndarray and y.dtype.kind in "iubf" and labels.dtype.kind in "iubf"
    if not numbers or y.shape != (count,):
        return None
    number, known = places(y, labels)
    return number if np.count_nonzero(known) == count else None


def decode(labels: Array, scores: Array) -> Array:
    """Return the predicted label of each row of scores; ties go to the first class."""
    return labels.take(chosen(scores, len(labels)))


def predicted(labels: Array | None, scores: Array) -> Array:
    """Return predicted labels, or an indicator matrix where ``labels`` is None."""
    return (scores > 0).astype(np.int64) if labels is None else decode(labels, scores)


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Return distinct labels of any type: sorted, or in their order if they are not comparable.

    >>> in_order(["b", "a", "b"]), in_order(["b", 1])
    (['a', 'b'], ['b', 1])
    """
    known = list(dict.fromkeys(labels))
    try:
        return sorted(known)
    except TypeError:
        return known


def label_outputs(count: int) -> int:
    """Return the outputs of a model of this many labels: one more stands for those to come.

    It learns from every example that such a label is absent. There are two outputs or more, so
    that no model has the shape of one of two classes.
    """
    return max(count, 1) + 1


def continued_labels(old: Sequence[Any], new: Sequence[Any]) -> list[int]:
    """Return the output of a model of old labels that each output for new labels continues.

    A label that was never seen continues the output that stands for such labels, so the model
    equals one that knew all labels from the start.

    >>> continued_labels(["a", "c"], ["a", "b", "c"])
    [0, 2, 1, 2]
    """
    known, rest = {label: place for place, label in enumerate(old)}, max(len(old), 1)
    outputs = [known.get(label, rest) for label in new]
    return outputs + [rest] * (label_outputs(len(new)) - len(outputs))


def output_map(old: Settings, new: Settings, position: Array, classes: int) -> Array:
    """Return the matrix that maps the outputs of some classes to those of more classes.

    ``position[c]`` is the new index of the old class c. The single output f of a binary model
    becomes the scores -f/2 and +f/2 (one-vs-rest: -f and +f), which keeps its margins. If only one
    class is known, f is the score of that class against all future classes.
    """
    if len(position) == 1:
        change = np.full((classes, 1), -1.0 if new.multiclass == "ovr" else -1.0 / classes)
        change[position[0]] += 2.0 if new.multiclass == "ovr" else 1.0
        return change if classes > 2 else np.array([[1.0 if position[0] == 1 else -1.0]])
    if old.task == "binary":
        half = 1.0 if new.multiclass == "ovr" else 0.5
        change = np.zeros((classes, 1))
        change[position[0], 0], change[position[1], 0] = -half, half
        return change
    change = np.zeros((classes, len(position)))
    change[position, np.arange(len(position))] = 1.0
    return change
