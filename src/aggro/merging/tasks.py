"""Tasks of an engine: learn a part of a partition, or learn all partitions alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.merging.adapters import Update, adapter_of
from aggro.merging.blocks import Block, Failed, joined, summarise, wider_rows
from aggro.merging.schedule import Task

FAN_IN = 8  # updates that are combined at once


def learn(model: Any, block: Block | Failed, task: Task, shards: int) -> Update:
    """Learn a part of a block from the round's model, as one of several shards.

    The model is not changed. An example that cannot be learned is reported in the update, since an
    engine would run a task that raises again.
    """
    if isinstance(block, Failed):
        return Update(error=f"partition {task.partition}: {block.message}")
    if len(block) == 0:
        return Update()
    order, adapter = np.arange(0), adapter_of(model)
    try:
        block.check()
        block = wider_rows(block, getattr(model, "n_features_in_", 0))
        if adapter.lacks(block):
            return Update(unknown=summarise(block))
        order = task.rows(len(block))
        if len(order) == 0:
            return Update()
        return adapter.learn(block.take(order), task.repeated, shards)
    except (ValueError, TypeError) as error:
        return Update(error=in_partition(error, [(task.partition, order)]))


def learn_alone(model: Any, blocks: Sequence[Block | Failed], method: str, **more: Any) -> Any:
    """Return the model after ``fit`` or ``partial_fit`` on all rows, or ``Failed``."""
    offsets, good = [], []
    for number, block in enumerate(blocks):
        if isinstance(block, Failed):
            return Failed(f"partition {number}: {block.message}")
        offsets.append((number, np.arange(len(block))))
        good.append(block)
    try:
        rows = wider_rows(joined(good), getattr(model, "n_features_in_", 0))
        getattr(model, method)(rows.X, rows.y, sample_weight=rows.weights, **more)
    except (ValueError, TypeError) as error:
        return Failed(in_partition(error, offsets))
    return model


def first_rows(block: Block | Failed, rows: int) -> Block | Failed:
    """Return the first rows of a block."""
    if isinstance(block, Failed):
        return block
    return block.take(np.arange(min(rows, len(block))))


def in_partition(error: Exception, learned: Sequence[tuple[int, Any]]) -> str:
    """Return the message of an error with the partition, and its row, that it is about.

    ``learned``: the partitions, and which of their rows were learned, in order.
    """
    message = str(error)
    place, _, rest = message.removeprefix("row ").partition(":")
    if message.startswith("row ") and place.isdigit():
        row = int(place)
        for partition, order in learned:
            if row < len(order):
                return f"partition {partition}, row {order[row]}:{rest}"
            row -= len(order)
    return message if len(learned) > 1 else f"partition {learned[0][0]}: {message}"
