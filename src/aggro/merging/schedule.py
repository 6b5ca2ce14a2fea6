"""The schedule of distributed training: a pure function of sizes and settings.

Nothing here depends on the number of workers, on timing or on chance, so neither does the model.
The costs are rough constants of one core; ``python -m benchmarks.cluster`` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aggro.learner import Array
from aggro.merging.blocks import Summary
from aggro.settings import METRICS

LOCAL_ROWS, LOCAL_BYTES = 200_000, 2**26  # limits of data that one worker learns alone
FIRST_ROWS = 4096  # learned alone by a model selection, before candidates are compared in shards
FIRST_TEXTS = 4 * FIRST_ROWS  # until one of several representations of texts is ahead
SHARDS = 16  # tasks of a round that keep the workers busy
ROW_SECONDS, ENTRY_SECONDS = 5e-7, 2e-8  # to read and learn a row, and each entry of it
ROUND_SECONDS, BYTE_SECONDS = 0.05, 4e-9  # to start a round, and to send and add a byte of a model
TASK_SECONDS = 0.03  # learning that is worth a task
SHARE = 0.25  # of the learning time that merging may take
TABLES = 3  # numbers that a model keeps for a weight: itself, its mean, its precision or count
FEWEST = 4  # rounds, however small the data


@dataclass(frozen=True)
class Task:
    """Part ``part`` of ``parts`` of a partition, without its first ``skip`` rows."""

    partition: int
    part: int = 0
    parts: int = 1
    skip: int = 0
    seed: int | None = None  # of the order of the rows; None keeps theirs
    repeated: bool = False  # the rows were learned in an earlier pass

    def rows(self, count: int) -> Array:
        """Return which of the partition's rows to learn, in order."""
        rest = np.arange(min(self.skip, count), count)
        if self.seed is None:
            edges = np.linspace(0, len(rest), self.parts + 1).astype(np.int64)
            return rest[edges[self.part] : edges[self.part + 1]]
        random = np.random.default_rng([self.seed, self.partition, self.part])
        return random.permutation(rest[self.part :: self.parts])


def is_local(sizes: list[Summary]) -> bool:
    """Return whether so little data is learned on one worker."""
    rows, nbytes = sum(size.rows for size in sizes), sum(size.nbytes for size in sizes)
    return rows <= LOCAL_ROWS and nbytes <= LOCAL_BYTES


def learning_seconds(size: Summary, outputs: int = 1) -> float:
    """Return about how long one core learns a partition of this size."""
    return size.rows * (ROW_SECONDS + size.entries * outputs * ENTRY_SECONDS)


def partitions_per_task(size: Summary, outputs: int = 1) -> int:
    """Return how many partitions of this size to join, so that a task is worth its overhead.

    >>> partitions_per_task(Summary(rows=1000, entries=20.0))
    34
    >>> partitions_per_task(Summary(rows=10**6, entries=20.0))
    1
    """
    return max(1, math.ceil(TASK_SECONDS / max(learning_seconds(size, outputs), 1e-9)))


def rounds_for(
    size: Summary, partitions: int, width: int, outputs: int = 1, metric: str = "euclidean"
) -> int:
    """Return how often models are merged in a pass over partitions of this size.

    There are four at least, and at most as many as the metric gains by. In between, merging takes
    a quarter of the time that a task learns.

    >>> big, small = Summary(rows=10**6, entries=40.0), Summary(rows=20_000, entries=40.0)
    >>> rounds_for(big, 8, 10_000), rounds_for(small, 8, 10_000)
    (6, 4)
    >>> rounds_for(big, 64, 10_000), rounds_for(big, 1000, 10_000, metric="diagonal")
    (4, 16)
    """
    most = METRICS.get(metric, METRICS["diagonal"]).rounds
    if partitions >= FEWEST * SHARDS:  # a round learns whole partitions: more rounds read no more
        return min(partitions // SHARDS, most)
    merging = ROUND_SECONDS + 8 * TABLES * width * outputs * BYTE_SECONDS
    worth = int(SHARE * learning_seconds(size, outputs) / merging)
    return min(max(worth, FEWEST), most)


def tasks_of(partitions: int, rounds: int, begun: Mapping[int, int]) -> list[list[Task]]:
    """Return the tasks of each round: whole partitions where there are enough, else parts of all.

    ``begun``: how many rows of some partitions were learned before.

    >>> [task.partition for task in tasks_of(64, 4, {})[0]][:3]
    [0, 4, 8]
    >>> [(task.partition, task.part, task.parts) for task in tasks_of(2, 4, {})[3]]
    [(0, 3, 4), (1, 3, 4)]
    """

    def task(partition: int, part: int = 0, parts: int = 1) -> Task:
        return Task(partition, part, parts, begun.get(partition, 0))

    if is_whole(partitions, rounds):
        return [[task(p) for p in range(first, partitions, rounds)] for first in range(rounds)]
    return [[task(p, part, rounds) for p in range(partitions)] for part in range(rounds)]


def is_whole(partitions: int, rounds: int) -> bool:
    """Return whether a round learns some whole partitions, so that each is read once a pass."""
    return rounds == 1 or partitions >= SHARDS * rounds
