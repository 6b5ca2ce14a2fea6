"""The schedule of distributed training: a pure function of sizes and settings.

Nothing here depends on the number of workers, on timing or on chance, so neither does the model.
The costs are rough constants of one core; ``python -m benchmarks.cluster`` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aggro.learner import Array
from aggro.merging.blocks import Summary
from aggro.settings import METRICS

LOCAL_ROWS, LOCAL_BYTES = 200_000, 2**26  # limits of data that one worker learns alone
FIRST_ROWS = 4096  # learned alone by a model selection, before candidates are compared in shards
FIRST_TEXTS = 4 * FIRST_ROWS  # until one of several representations of texts is ahead
SHARDS = 16  # tasks of a round that keep the workers busy
ROW_SECONDS, ENTRY_SECONDS = 5e-7, 2e-8  # to read and learn a row, and each entry of it
TASK_SECONDS = 0.2  # learning that is worth a task
BYTE_SECONDS = 4e-9  # to copy, compare, send and add a byte of a model
SHARE = 0.25  # of the learning time that merging may take
TABLES = 3  # numbers that a model keeps for a weight: itself, its mean, its precision or count
FEWEST = 4  # rounds, however small the data


@dataclass(frozen=True)
class Task:
    """Part ``part`` of ``parts`` of a partition, without its first ``skip`` rows.

    The partition may consist of several blocks, of which ``first`` is the number of the first one.
    """

    partition: int
    part: int = 0
    parts: int = 1
    skip: int = 0
    first: int = 0
    seed: int | None = None  # of the order of the rows; None keeps theirs
    repeated: bool = False  # the rows were learned in an earlier pass
    shards: int = 1  # tasks of the round
    square: float = 0.0  # mean ‖x‖² of some rows, which limits C

    def rows(self, count: int, before: int = 0) -> Array:
        """Return which of a block's rows to learn, in order; ``before``: rows of earlier blocks."""
        rest = np.arange(min(max(self.skip - before, 0), count), count)
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


@dataclass(frozen=True)
class Plan:
    """How many rounds a pass has, and how many shards learn side by side in each."""

    rounds: int
    shards: int

    def is_whole(self, partitions: int) -> bool:
        """Return whether a round learns some whole partitions, so that each is read once a pass."""
        return partitions >= self.rounds * self.shards

    def groups(self, partitions: int) -> list[range]:
        """Return which partitions to join: as many groups as there are tasks, or each alone.

        >>> Plan(4, 2).groups(24)[:3]
        [range(0, 3), range(3, 6), range(6, 9)]
        """
        count = partitions
        if self.shards < SHARDS and self.is_whole(partitions):
            count = self.rounds * self.shards
        edges = np.linspace(0, partitions, count + 1).astype(int).tolist()
        return [range(*pair) for pair in pairwise(edges)]

    def tasks(self, partitions: int, begun: Mapping[int, int]) -> list[list[Task]]:
        """Return the tasks of each round: whole partitions where there are enough, or parts of all.

        ``begun``: how many rows of some partitions were learned before.

        >>> [task.partition for task in Plan(4, 16).tasks(64, {})[0]][:3]
        [0, 4, 8]
        >>> [(task.partition, task.part, task.parts) for task in Plan(4, 16).tasks(2, {})[3]]
        [(0, 3, 4), (1, 3, 4)]
        """
        rounds, parts = range(self.rounds), self.rounds
        if self.is_whole(partitions):
            places = [[(p, 0) for p in range(first, partitions, parts)] for first in rounds]
            parts = 1
        else:
            places = [[(p, part) for p in range(partitions)] for part in rounds]
        return [[Task(p, i, parts, begun.get(p, 0)) for p, i in each] for each in places]


def plan(
    size: Summary,
    partitions: int,
    width: int,
    outputs: int = 1,
    metric: str = "euclidean",
    rounds: int | None = None,
) -> Plan:
    """Return the rounds and shards of a pass over partitions of this size.

    A task learns for ``TASK_SECONDS`` at least, or four times as long as its model takes to merge.
    There are four rounds at least, and at most as many as the metric gains by; in between, each has
    sixteen shards. Fewer shards are a power of two, so that a few workers have as much to do.

    >>> big, small = Summary(rows=10**6, entries=40.0), Summary(rows=30_000, entries=40.0)
    >>> plan(big, 8, 10_000), plan(small, 64, 10_000)
    (Plan(rounds=4, shards=8), Plan(rounds=4, shards=2))
    >>> plan(big, 64, 10_000), plan(big, 1000, 10_000, metric="diagonal")
    (Plan(rounds=4, shards=16), Plan(rounds=16, shards=62))
    """
    most = METRICS.get(metric, METRICS["diagonal"]).rounds
    merging = 8 * TABLES * width * outputs * BYTE_SECONDS
    seconds = partitions * learning_seconds(size, outputs)
    worth = int(seconds / max(TASK_SECONDS, merging / SHARE))
    if partitions >= FEWEST * SHARDS:  # a round learns whole partitions: more rounds read no more
        worth = min(worth, partitions)
    rounds = rounds or min(max(worth // SHARDS, FEWEST), most)
    shards = max(worth // rounds, 2)
    return Plan(rounds, shards if shards >= SHARDS else 2 ** int(math.log2(shards)))
