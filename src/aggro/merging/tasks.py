"""What a task does: learn a part of a partition from the round's model, or combine updates."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from aggro.classes import Classes
from aggro.merging.blocks import Block, Failed, Summary, classes_in, joined, summarise, wider_rows
from aggro.merging.changes import Change, add, change_between
from aggro.merging.parts import take_apart
from aggro.merging.schedule import Task
from aggro.merging.shards import shard_of
from aggro.merging.text_shards import changes_of, margins_of, text_shard, words_since
from aggro.merging.words import together
from aggro.selection.common import learners_of
from aggro.text.table import Table

FAN_IN = 8  # updates that are combined at once


@dataclass
class Update:
    """What one or several tasks have learned, or what the model must know before they can."""

    rows: int = 0
    repeated: int = 0  # of these rows: learned in an earlier pass
    changes: tuple[Change, ...] = ()  # of each learner
    counts: Any = 0.0  # examples of each class, where classes are weighted
    records: tuple[Any, ...] = ()  # recorded margins, for probabilities
    words: Any = None  # document counts of texts
    unknown: Summary | None = None  # classes and columns that the model does not know yet
    error: str | None = None

    @property
    def nbytes(self) -> int:
        """The size of what is sent."""
        return sum(change.nbytes for change in self.changes)


def learn(model: Any, block: Block | Failed, task: Task, shards: int) -> Update:
    """Learn a part of a block from the round's model, as one of several shards.

    The model is not changed. An example that cannot be learned is reported in the update: an
    engine would run a task that raised again, in vain.
    """
    if isinstance(block, Failed):
        return Update(error=f"partition {task.partition}: {block.message}")
    if len(block) == 0:
        return Update()
    order = np.arange(0)
    try:
        block.check()
        if not isinstance(block.X, Table):
            block = replace(block, X=wider_rows(block.X, model.n_features_in_))
        if needs_to_grow(model, block):
            return Update(unknown=summarise(block))
        order = task.rows(len(block))
        if len(order) == 0:
            return Update()
        return _learn(model, block.take(order), task.repeated, shards)
    except (ValueError, TypeError) as error:
        return Update(error=in_partition(error, [(task.partition, order)]))


def _learn(model: Any, block: Block, repeated: bool, shards: int) -> Update:
    if isinstance(block.X, Table):
        return _learn_texts(model, block, repeated, shards)
    own = copy.copy(model)
    own._learner = shard_of(model._learner, shards)
    if repeated and hasattr(own, "probability"):
        own.probability = False
    own._fitted = own._fitted.changed(parameters=own._parameters())  # keeps the scaled C
    before = [take_apart(each) for each in learners_of(own._learner)]
    own.partial_fit(block.X, block.y, sample_weight=block.weights)
    changes = tuple(
        change_between(start, take_apart(end), end)
        for start, end in zip(before, learners_of(own._learner), strict=True)
    )
    counts: Any = 0.0
    if own._fitted.counts is not None:
        counts = own._fitted.counts - model._fitted.counts
    record = None if repeated else own._fitted.record
    records = () if record is None else ((record.calibrator, record.typical),)
    return Update(len(block), len(block) if repeated else 0, changes, counts, records)


def _learn_texts(model: Any, block: Block, repeated: bool, shards: int) -> Update:
    start, own = model._learner, copy.copy(model)
    own._learner = end = text_shard(start, shards)
    table, batch = own._prepared(block.X, block.y, block.weights)
    end.learn(table, batch, again=repeated, undo=False)
    records = () if end.calibrator is None or repeated else (margins_of(end),)
    changes, words = changes_of(start, end), words_since(start, end)
    rows = len(table)
    return Update(rows, rows if repeated else 0, changes, records=records, words=words)


def learn_alone(model: Any, blocks: Sequence[Block | Failed], method: str, **more: Any) -> Any:
    """Return the model after ``fit`` or ``partial_fit`` on all rows, or ``Failed``."""
    offsets, count = [], 0
    for number, block in enumerate(blocks):
        if isinstance(block, Failed):
            return Failed(f"partition {number}: {block.message}")
        offsets.append((number, np.arange(len(block))))
        count += len(block)
    try:
        rows = joined(blocks)  # type: ignore[arg-type]  # none has failed
        if not isinstance(rows.X, Table) and hasattr(model, "n_features_in_"):
            rows = replace(rows, X=wider_rows(rows.X, model.n_features_in_))
        getattr(model, method)(rows.X, rows.y, sample_weight=rows.weights, **more)
    except (ValueError, TypeError) as error:
        return Failed(in_partition(error, offsets))
    return model


def needs_to_grow(model: Any, block: Block) -> bool:
    """Return whether the model must grow before it can learn a block."""
    if not isinstance(block.X, Table):
        wider = block.X.shape[1] > model.n_features_in_
        if wider and not hasattr(model, "feature_names_in_"):
            return hasattr(block.X, "indptr")
        if hasattr(model, "classes_") and model._multilabel:
            return False
    if not hasattr(model, "classes_") or model._classes.given:
        return False
    found = classes_in(block.y)
    return found is not None and len(Classes(model.classes_).strange(found)) > 0


def in_partition(error: Exception, learned: Sequence[tuple[int, Any]]) -> str:
    """Return an error with the partition, and the row of the partition, that it is about.

    ``learned``: the partitions, and which of their rows were learned, in order.
    """
    words = str(error)
    place, _, said = words.removeprefix("row ").partition(":")
    if words.startswith("row ") and place.isdigit():
        row = int(place)
        for partition, order in learned:
            if row < len(order):
                return f"partition {partition}, row {order[row]}:{said}"
            row -= len(order)
    return words if len(learned) > 1 else f"partition {learned[0][0]}: {words}"


# -- combining updates -----------------------------------------------------------------------


def combine(updates: Sequence[Update]) -> Update:
    """Return several updates as one: the first error, what the model must know, or the sum."""
    for each in updates:
        if each.error is not None:
            return each
    unknown = [each.unknown for each in updates if each.unknown is not None]
    if unknown:
        return Update(unknown=reduce(_both, unknown))
    learned = [each for each in updates if each.changes]
    if not learned:
        return updates[0]
    words = [each.words for each in learned if each.words is not None]
    return Update(
        sum(each.rows for each in learned),
        sum(each.repeated for each in learned),
        tuple(add(*of_one) for of_one in zip(*(each.changes for each in learned), strict=True)),
        sum((each.counts for each in learned[1:]), learned[0].counts),
        tuple(record for each in learned for record in each.records),
        together(words) if words else None,
    )


def _both(some: Summary, others: Summary) -> Summary:
    classes = some.classes
    if classes is not None and others.classes is not None:
        classes = Classes(classes).admit(others.classes).labels
    return replace(some, classes=classes, width=max(some.width, others.width))
