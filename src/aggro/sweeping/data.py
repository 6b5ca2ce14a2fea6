"""The rows of a sweep: arrays, or files read in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.estimators.targets import read_classes, read_values
from aggro.estimators.validation import check_finite, feature_names, read_matrix
from aggro.io import Reader, read
from aggro.io.batch import first_labels, looks_continuous, stacked
from aggro.io.sources import STANDARD_INPUT
from aggro.learner import Array
from aggro.settings import Task, class_task
from aggro.training_batch import read_weights

MOST_TARGETS = 1 << 20  # stored to compute their median


@dataclass
class Part:
    """Some rows, their targets and weights, and the order in which to learn them."""

    X: Any
    targets: dict[str, Any]
    order: Array
    first: int = 0  # index of the first row in the data

    def joined(self, other: Part) -> Part:
        """Return these rows followed by others."""
        targets = {
            name: None if value is None else np.concatenate([value, other.targets[name]])
            for name, value in self.targets.items()
        }
        order = np.concatenate([self.order, len(self.order) + other.order])
        return Part(stacked([self.X, other.X]), targets, order, self.first)

    def rest(self, start: int) -> Part:
        """Return a copy of the rows from ``start`` on."""
        some = self.order[start:]
        targets = {n: None if v is None else v[some] for n, v in self.targets.items()}
        return Part(self.X[some], targets, np.arange(len(some)), self.first + start)


@dataclass
class Data:
    """Rows, and properties of the data that are known before learning."""

    task: Task
    classes: Array | None
    outputs: int
    features: int
    dtype: Any
    count: int
    names: Array | None  # of the features
    constant: ConstantPrediction | None  # the best one; None if rows have several labels

    def parts(self, order: Array | None) -> Iterator[Part]:
        """Return one pass over the rows, in this order or as they are."""
        raise NotImplementedError


def open_data(X: Any, y: Any, task: Task | None, orders: int) -> Data:
    """Return arrays, or the files that X names, as data to learn in ``orders`` orders."""
    if not _names_files(X):
        return ArrayData.of(X, y, task)
    if orders > 1:
        raise ValueError(
            f"orders={orders} asks for random orders of the rows, and files are read in their own; "
            "use orders=1, or load the rows and give arrays."
        )
    if y is not None:
        raise ValueError("X names files, which hold the answers too; leave y out.")
    return FileData.survey(X if isinstance(X, Reader) else read(X), task)


def _names_files(X: Any) -> bool:
    if isinstance(X, (list, tuple)) and len(X) > 0:
        return all(isinstance(path, (str, os.PathLike)) for path in X)
    return isinstance(X, (str, os.PathLike, Reader))


@dataclass
class ArrayData(Data):
    """Rows in memory: all of them are one part."""

    X: Any
    targets: dict[str, Array]

    @classmethod
    def of(cls, X: Any, y: Any, task: Task | None) -> ArrayData:
        """Check arrays and determine their properties."""
        X, names = read_matrix(X, "aggro.sweep"), feature_names(X)
        check_finite(X)
        count, features = X.shape
        rest = (features, X.dtype, count, names)
        constant = ConstantPrediction()
        if task is None and np.asarray(y).dtype.kind == "f" and looks_continuous(y):
            task = "regression"  # integers are classes, as everywhere
        if task == "regression":
            values = read_values(y, count)
            constant.add_targets(values)
            return cls("regression", None, values.shape[1], *rest, constant, X, {"values": values})
        y, multilabel = read_classes(y, count)
        if multilabel:
            check_task(task, "multilabel")
            labels, count = np.arange(y.shape[1]), y.shape[1]
            return cls("multilabel", labels, count, *rest, None, X, {"values": y})
        known, labels = Classes.numbered(y)
        kind = task_of(known.labels, task)
        constant.add_labels(labels)
        return cls(kind, known.labels, len(known), *rest, constant, X, {"labels": labels})

    def parts(self, order: Array | None) -> Iterator[Part]:
        """Return all rows, in the given order."""
        yield Part(self.X, self.targets, np.arange(self.count) if order is None else order)


def task_of(classes: Array, asked: Task | None) -> Task:
    """Return the classification task for these classes."""
    if len(classes) < 2:
        raise ValueError(f"y holds one class only ({classes[0]!r}); two or more are needed.")
    found = class_task(len(classes))
    if asked != "multiclass":  # two classes can be a multiclass task
        check_task(asked, found, f" ({len(classes)} classes)")
    return found


def check_task(asked: Task | None, found: Task, why: str = "") -> None:
    """Raise if the requested task does not match the targets."""
    if asked not in (None, found):
        raise ValueError(f"task={asked!r}, but y is {found}{why}; leave task out, or mend y.")


@dataclass
class FileData(Data):
    """Rows in files, which are read once to determine their properties and once per pass."""

    reader: Reader

    @classmethod
    def survey(cls, reader: Reader, task: Task | None) -> FileData:
        """Read the files once; only the classes are kept."""
        if STANDARD_INPUT in reader.files:
            raise ValueError("sweep reads its files more than once; write the input to a file.")
        reader = reader.labelled()
        first, batches = first_labels(reader)
        if task is None and first is not None and looks_continuous(first):
            task = "regression"
        labels, count, features = Labels(task), 0, 0
        for X, y, weights in map(_counted, batches):
            labels.meet(y, weights)
            count, features = count + X.shape[0], max(features, X.shape[1])
        if count == 0:
            raise ValueError(f"{', '.join(reader.files)}: no examples to learn from.")
        kind, classes = labels.verdict()
        outputs = 1 if classes is None else len(classes)
        constant = None if labels.several else labels.constant
        rest = (features, reader.options.dtype, count, None, constant)
        return cls(kind, classes, outputs, *rest, reader)

    def parts(self, order: Array | None) -> Iterator[Part]:
        """Return the batches of the files, one at a time."""
        count = 0
        for X, y, weights in map(_counted, self.reader):
            if hasattr(X, "indptr"):  # a batch has the columns seen so far; this copies nothing
                X.resize((X.shape[0], self.features))
            targets = {**self._targets(y), "weights": weights}
            yield Part(X, targets, np.arange(X.shape[0]), count)
            count += X.shape[0]
        if count != self.count:
            raise ValueError(f"The files changed: they had {self.count} rows, and now {count}.")

    def _targets(self, y: Any) -> dict[str, Array]:
        if self.task == "regression":
            return {"values": read_values(y, len(y))}
        assert self.classes is not None
        if self.task != "multilabel":
            return {"labels": Classes(self.classes).encode(y)}
        rows = np.repeat(np.arange(len(y)), [len(each) for each in y])
        values = np.zeros((len(y), len(self.classes)))
        if len(rows) > 0:
            labels = np.array(list(chain.from_iterable(y)))
            values[rows, Classes(self.classes).encode(labels)] = 1.0
        return {"values": values}


def _counted(batch: Any) -> tuple[Any, Any, Array | None]:
    """Return the rows of a batch with positive weight."""
    if batch.y is None:
        raise ValueError(
            "The files have no answers; name their column, as in "
            "aggro.sweep(aggro.io.read(path, label='price'))."
        )
    X, y, weights = batch
    weights = read_weights(weights, X.shape[0])
    if weights is not None and not weights.all():
        counts = np.flatnonzero(weights)
        y = [y[i] for i in counts] if isinstance(y, list) else y[counts]
        X, weights = X[counts], weights[counts]
    return X, y, np.ones(X.shape[0]) if weights is None else weights


class Labels:
    """Collects the targets of files batch by batch: the classes, or values."""

    def __init__(self, task: Task | None) -> None:
        self.task = task
        self.several = False
        self.known: Array | None = None
        self.constant = ConstantPrediction()

    def meet(self, y: Any, weights: Array | None = None) -> None:
        """Add the targets of a batch."""
        if isinstance(y, list):  # several labels per row
            self.several, y = True, np.array(list(chain.from_iterable(y)))
        if self.task == "regression":
            if self.several:
                raise ValueError("Rows with several labels are no regression; leave task out.")
            self.constant.add_targets(read_values(y, len(y)), weights)
            return
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("A label is NaN or infinite; every answer must be finite.")
        self.known = np.unique(y) if self.known is None else np.union1d(self.known, y)
        if not self.several:
            self.constant.add_labels(y, weights)

    def verdict(self) -> tuple[Task, Array | None]:
        """Return the task, and the classes of a classification."""
        if self.task == "regression" or self.known is None:
            return "regression", None
        if self.several:
            check_task(self.task, "multilabel")
            return "multilabel", self.known
        return task_of(self.known, self.task), self.known


class ConstantPrediction:
    """The best constant prediction: the most frequent class, or the median or mean target."""

    def __init__(self) -> None:
        self._classes: dict[Any, float] = {}  # total weight of each class
        self._targets: list[tuple[Array, Array]] = []  # the first targets and their weights
        self._count = 0

    def add_labels(self, y: Array, weights: Array | None = None) -> None:
        """Add the classes of some rows."""
        classes, place = np.unique(y, return_inverse=True)
        for label, weight in zip(classes.tolist(), np.bincount(place, weights), strict=True):
            self._classes[label] = self._classes.get(label, 0.0) + float(weight)

    def add_targets(self, values: Array, weights: Array | None = None) -> None:
        """Add the targets of some rows; only the first million are used."""
        if self._count < MOST_TARGETS:
            self._targets.append((values, np.ones(len(values)) if weights is None else weights))
            self._count += len(values)

    def error(self, measured: str) -> float:
        """Return the error of the prediction that is best by this error (see ``error_name``)."""
        if measured == "mistakes":
            return 1.0 - max(self._classes.values()) / sum(self._classes.values())
        values, weights = (np.concatenate(each) for each in zip(*self._targets, strict=True))
        if measured == "squared error":
            squares = (values - np.average(values, axis=0, weights=weights)) ** 2
            return float(np.average(squares.mean(axis=1), weights=weights))
        order = np.argsort(values, axis=0, kind="stable")
        half = np.cumsum(weights[order], axis=0) >= weights.sum() / 2
        median = np.take_along_axis(values, order, axis=0)[
            half.argmax(axis=0), range(half.shape[1])
        ]
        return float(np.average(np.abs(values - median).mean(axis=1), weights=weights))
