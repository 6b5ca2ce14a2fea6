"""What the workers do: learn a part of a partition from the round's model, and add up changes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.dask.inputs import array_of, comes_once, length_of, part, rows_of_partition
from aggro.merging.changes import Change, add, change_between
from aggro.merging.parts import take_apart
from aggro.merging.shards import shard_of
from aggro.merging.text_shards import changes_of, margins_of, text_shard, words_since
from aggro.merging.words import together
from aggro.selection.common import learners_of
from aggro.text.table import Table
from aggro.training_batch import read_weights


@dataclass(frozen=True)
class Unit:
    """A part of a partition to learn: slice ``place`` of ``slices`` after ``skip`` rows."""

    partition: int
    place: int = 0
    slices: int = 1
    skip: int = 0
    seed: int | None = None  # of the order; None for the order of the rows
    again: bool = False  # the rows are known from an earlier pass: their margins are no news

    def rows(self, count: int) -> Any:
        """Return which of so many rows to learn, in order."""
        rest = np.arange(min(self.skip, count), count)
        if self.seed is not None:
            rest = np.random.default_rng([self.seed, self.partition]).permutation(rest)
        edges = np.linspace(0, len(rest), self.slices + 1).astype(np.int64)
        return rest[edges[self.place] : edges[self.place + 1]]


@dataclass
class Outcome:
    """What came of some units: changes of each learner, or what the model must know first."""

    rows: int = 0
    repeated: int = 0  # of these rows: learned in an earlier pass
    changes: tuple[Change, ...] = ()
    counts: Any = 0.0  # examples of each class, where classes are weighed
    records: tuple[Any, ...] = ()  # margins for probabilities
    words: Any = None  # that were counted, where texts are learned
    classes: Any = None
    width: int = 0
    head: Any = None  # one row and its target
    entries: float = 0.0
    error: str | None = None
    partition: int = -1
    empty: bool = False
    lasting: bool = True  # the partition can be read again


def look_at(X: Any, y: Any, weights: Any, kind: str, options: Any, unit: Unit) -> Outcome:
    """Return what a model must know before it can learn a unit: width, classes, kind of numbers."""
    try:
        lasting = not comes_once(X, y)
        X, y, weights = rows_of_partition(X, y, weights, kind, options)
        return replace(_seen(X, y, unit), lasting=lasting)
    except (ValueError, TypeError) as error:
        return Outcome(error=f"partition {unit.partition}: {error}", partition=unit.partition)


def _seen(X: Any, y: Any, unit: Unit) -> Outcome:
    count = length_of(X)
    if count == 0:
        return Outcome(empty=True, partition=unit.partition)
    if length_of(y) != count:
        raise ValueError(f"X has {count} rows but y has {length_of(y)}; give one target for each.")
    if isinstance(X, Table):
        shape: dict[str, Any] = {"width": 1}
    else:
        filled = X.nnz if hasattr(X, "nnz") else X.shape[0] * X.shape[1]
        shape = {"width": int(X.shape[1]), "entries": filled / count}
    head = (part(X, np.arange(1)), part(y, np.arange(1)))
    classes = classes_in(y)
    return Outcome(rows=count, classes=classes, head=head, partition=unit.partition, **shape)


def classes_in(y: Any) -> Any:
    """Return the classes among targets; for several columns there are none to find."""
    array = np.asarray(y)
    return np.unique(array) if array.ndim == 1 else None


def learn_unit(
    estimator: Any, X: Any, y: Any, weights: Any, kind: str, options: Any, unit: Unit, shards: int
) -> Outcome:
    """Learn a unit from the round's model; return what changed.

    An example that cannot be learned is told in the outcome: a task that raised would be tried
    again, in vain.
    """
    try:
        X, y, weights = rows_of_partition(X, y, weights, kind, options)
        return _learn(estimator, X, y, weights, unit, shards)
    except (ValueError, TypeError) as error:
        return Outcome(error=_named(error, unit, None), partition=unit.partition)


def learn_in_all(
    rivals: Sequence[tuple[Any, int]],
    X: Any,
    y: Any,
    weights: Any,
    kind: str,
    options: Any,
    unit: Unit,
) -> list[Outcome]:
    """Learn a unit in several models, each at the price of so many shards, from the same rows."""
    rows = (X, y, weights, kind, options, unit)
    return [learn_unit(model, *rows, shards) for model, shards in rivals]


def _learn(estimator: Any, X: Any, y: Any, weights: Any, unit: Unit, shards: int) -> Outcome:
    if length_of(X) == 0:
        return Outcome(empty=True, partition=unit.partition)
    if length_of(y) != length_of(X):
        raise ValueError(
            f"X has {length_of(X)} rows but y has {length_of(y)}; give one target for each row."
        )
    widen(X, estimator)
    if is_news(estimator, X, y):
        return _seen(X, y, unit)
    order = unit.rows(length_of(X))
    if len(order) == 0:
        return Outcome(empty=True, partition=unit.partition)
    some = None if weights is None else weights[order]
    if isinstance(X, Table):
        return _learn_texts(estimator, X.take(order), part(y, order), some, unit, shards)
    apart = copy.copy(estimator)
    apart._learner = shard_of(estimator._learner, shards)
    if unit.again and hasattr(apart, "probability"):
        apart.probability = False
    apart._fitted = apart._fitted.changed(parameters=apart._parameters())  # keep the scaled C
    learners = [take_apart(each) for each in learners_of(apart._learner)]
    try:
        apart.partial_fit(part(X, order), part(y, order), sample_weight=some)
    except (ValueError, TypeError) as error:
        return Outcome(error=_named(error, unit, order), partition=unit.partition)
    changes = tuple(
        change_between(before, take_apart(after), after)
        for before, after in zip(learners, learners_of(apart._learner), strict=True)
    )
    counts: Any = 0.0
    if apart._fitted.counts is not None:
        counts = apart._fitted.counts - estimator._fitted.counts
    records: tuple[Any, ...] = ()
    record = apart._fitted.record
    if record is not None and not unit.again:
        records = ((record.calibrator, record.typical),)
    repeated = len(order) if unit.again else 0
    return Outcome(len(order), repeated, changes, counts, records)


def _learn_texts(
    estimator: Any, table: Table, y: Any, weights: Any, unit: Unit, shards: int
) -> Outcome:
    start, apart = estimator._learner, copy.copy(estimator)
    apart._learner = end = text_shard(start, shards)
    rows, lesson = apart._prepared(table, y, weights)
    end.learn(rows, lesson, again=unit.again, undo=False)
    records = () if end.calibrator is None or unit.again else (margins_of(end),)
    changes, words = changes_of(start, end), words_since(start, end)
    repeated = len(table) if unit.again else 0
    return Outcome(len(table), repeated, changes, records=records, words=words)


def judge_unit(
    models: Any, X: Any, y: Any, weights: Any, kind: str, options: Any, unit: Unit, most: int
) -> Any:
    """Return the weight of the first rows of a unit that each model takes for another class.

    The sums of all weights and of their squares follow. Rows that cannot be evaluated count for
    nothing: the error is raised when they are learned.
    """
    try:
        X, y, weights = rows_of_partition(X, y, weights, kind, options)
        order = unit.rows(length_of(X))[:most]
        if len(order) == 0 or length_of(y) != length_of(X) or is_news(models[0], X, y):
            return np.zeros(len(models) + 2)
        widen(X, models[0])
        some = None if weights is None else array_of(weights)[order]
        X, y = part(X, order), np.asarray(part(y, order))
        weights = _weights_of(models[0], y, some)
        wrong = [(each.predict(X) != y).reshape(len(order), -1).any(axis=1) for each in models]
        return np.array(
            [*(weights[each].sum() for each in wrong), weights.sum(), weights @ weights]
        )
    except (ValueError, TypeError):
        return np.zeros(len(models) + 2)


def _weights_of(model: Any, y: Any, weights: Any) -> Any:
    """Return the weight of each row, that of its class included, as the model learns it."""
    weights = read_weights(weights, len(y))
    if getattr(model, "class_weight", None) is not None:
        classes = model._classes
        targets = {"labels": classes.encode(y)}
        weights, _ = model._weighted(targets, weights, classes, model._fitted.counts)
    return np.ones(len(y)) if weights is None else weights


@dataclass(frozen=True)
class Begun:
    """A race that learns some rows alone, as one machine would."""

    estimator: Any
    learned: tuple[tuple[int, int, int], ...] = ()  # partitions: how many rows, of how many
    error: str | None = None

    @property
    def rows(self) -> int:
        """How many rows it has learned."""
        return sum(count for _, count, _ in self.learned)


def learn_first(
    begun: Begun, X: Any, y: Any, weights: Any, kind: str, options: Any, unit: Unit, most: int
) -> Begun:
    """Learn the first rows of a partition, until there are so many in all."""
    if begun.error is not None or begun.rows >= most:
        return begun
    estimator, order = begun.estimator, np.arange(0)
    try:
        X, y, weights = rows_of_partition(X, y, weights, kind, options)
        order = np.arange(min(most - begun.rows, length_of(X)))
        some = None if weights is None else weights[order]
        if len(order):
            estimator.partial_fit(part(X, order), part(y, order), sample_weight=some)
    except (ValueError, TypeError) as error:
        return Begun(None, error=_named(error, unit, order))
    found = (unit.partition, len(order), length_of(X))
    return Begun(estimator, (*begun.learned, found))


def led(begun: Begun) -> Begun:
    """Return a race of texts with the representation that leads; the others need not be sent."""
    if begun.error is None:
        begun.estimator._learner.follow_leader()
    return begun


def widen(X: Any, estimator: Any) -> None:
    """Give sparse rows the columns that the model knows and they do not have."""
    if isinstance(X, Table):
        return
    if X.shape[1] < estimator.n_features_in_ and hasattr(X, "indptr"):
        X.resize((X.shape[0], estimator.n_features_in_))


def is_news(estimator: Any, X: Any, y: Any) -> bool:
    """Tell whether the model must grow before it can learn these rows."""
    if not isinstance(X, Table):
        if X.shape[1] > estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_"):
            return hasattr(X, "indptr")
        if hasattr(estimator, "classes_") and estimator._multilabel:
            return False
    if not hasattr(estimator, "classes_") or estimator._classes.given:
        return False
    found = classes_in(y)
    return found is not None and len(Classes(estimator.classes_).strange(found)) > 0


def _named(error: Exception, unit: Unit, order: Any) -> str:
    """Return an error with the partition, and the row of the partition, that it is about."""
    words = str(error)
    if words.startswith("row ") and order is not None:
        place, _, rest = words[4:].partition(":")
        if place.isdigit():
            return f"partition {unit.partition}, row {order[int(place)]}:{rest}"
    return f"partition {unit.partition}: {words}"


# -- the tree --------------------------------------------------------------------------------


def combine(outcomes: Sequence[Outcome]) -> Outcome:
    """Return several outcomes as one: the first error, or what the model must know, or all."""
    for each in outcomes:
        if each.error is not None:
            return each
    if any(each.width for each in outcomes):
        return reduce(_both_seen, [each for each in outcomes if each.width])
    learned = [each for each in outcomes if not each.empty]
    return _all(learned) if learned else outcomes[0]


def combine_all(outcomes: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """Return the outcomes of several models, each as one."""
    return [combine(of_one) for of_one in zip(*outcomes, strict=True)]


def _all(learned: Sequence[Outcome]) -> Outcome:
    words = [each.words for each in learned if each.words is not None]
    return Outcome(
        sum(each.rows for each in learned),
        sum(each.repeated for each in learned),
        tuple(add(*of_one) for of_one in zip(*(each.changes for each in learned), strict=True)),
        sum((each.counts for each in learned[1:]), learned[0].counts),
        tuple(record for each in learned for record in each.records),
        together(words) if words else None,
    )


def _both_seen(some: Outcome, others: Outcome) -> Outcome:
    classes = some.classes
    if classes is not None and others.classes is not None:
        classes = Classes(classes).admit(others.classes).labels
    return replace(
        some,
        rows=some.rows + others.rows,
        classes=classes,
        width=max(some.width, others.width),
    )
