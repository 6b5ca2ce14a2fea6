"""Tasks of an engine: learn a part of a partition, or learn all partitions alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from aggro.merging.adapters import Update, adapter_of
from aggro.merging.blocks import Block, Failed, joined, summarise, wider_rows
from aggro.merging.schedule import Task

FAN_IN = 8  # updates that are combined at once


def learn(model: Any, blocks: Iterable[Block | Failed], task: Task) -> Update:
    """Learn a part of a partition from the round's model, as one of several shards.

    The blocks of the partition are read one after the other. The model is not changed. An example
    that cannot be learned is reported in the update, since an engine would run a task that raises
    again.
    """
    adapter, shard, unknown = adapter_of(model), None, None
    rows = before = 0
    number, order = task.first, np.arange(0)
    try:
        for number, block in enumerate(_in_order(blocks, task), task.first):
            if isinstance(block, Failed):
                return Update(error=f"partition {number}: {block.message}")
            order = np.arange(0)
            block.check()
            block = wider_rows(block, getattr(model, "n_features_in_", 0))
            if len(block) and (unknown or adapter.lacks(block)):
                size = summarise(block)
                unknown = size if unknown is None else unknown.joined(size)
                continue
            order = task.rows(len(block), before)
            if len(order):
                shard = adapter.shard(task) if shard is None else shard
                adapter.learn(shard, block.take(order), task.repeated)
            rows, before = rows + len(order), before + len(block)
        if unknown is not None:
            return Update(unknown=unknown)
        return Update() if shard is None else adapter.update(shard, rows, task.repeated)
    except (ValueError, TypeError) as error:
        return Update(error=in_partition(error, [(number, order)]))


def _in_order(blocks: Iterable[Block | Failed], task: Task) -> Iterable[Block | Failed]:
    """Return blocks as they come, or as one where rows are shuffled."""
    if task.seed is None:
        return blocks
    known = list(blocks)
    failed = [block for block in known if isinstance(block, Failed)]
    return failed[:1] or [joined([block for block in known if isinstance(block, Block)])]


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
