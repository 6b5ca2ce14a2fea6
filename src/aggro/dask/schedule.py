"""How often models are merged, which parts of partitions a round learns, and who judges it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from aggro.dask.work import Unit
from aggro.settings import METRICS

# Partitions that keep enough workers busy; with less, partitions are learned in slices. Less are
# enough where models are dear, as those of texts: a slice costs as much as a model has words.
WIDE = {False: 16, True: 4}
FEWEST = {True: 16, False: 4}  # rounds that sparse and dense rows need, whatever they cost
DEAR = 4  # rounds where a model is many: races of texts
MOST = 64  # rounds of a pass; more cost time and win little
CHEAP = 2**29  # bytes of rows and models that a worker may move for a partition in a pass
SPARSE = 0.25  # part of the features that a row has, below which it is sparse
LEAST = 4  # rows of a partition that are worth a round
TABLES = 3  # numbers that a model keeps for a weight: itself, its mean, its precision or news


def rounds_for(
    rows: int,
    entries: float,
    features: int,
    outputs: int = 1,
    metric: str = "euclidean",
    *,
    partitions: int = 1,
    dear: bool = False,
) -> int:
    """Return how often to merge in a pass over partitions of so many rows of so many entries.

    A round reads a partition again and sends a model: there are as many rounds as this is cheap
    for. Sparse rows need some more of them: a word that one shard has met, the others hear of at
    the merge. Where that is too much, or models are many, each of many partitions is read once.

    >>> rounds_for(5_000, 12.0, 20_000), rounds_for(5_000, 54.0, 54), rounds_for(100, 9, 9999)
    (64, 64, 25)
    >>> rounds_for(10**6, 12.0, 20_000), rounds_for(10**6, 54.0, 54)
    (16, 4)
    >>> [rounds_for(10**6, 12.0, 20_000, partitions=many) for many in (9, 64, 256)]
    [16, 4, 16]
    >>> rounds_for(5_000, 12.0, 20_000, metric="diagonal")
    32
    >>> [rounds_for(5_000, 12.0, 20_000, partitions=many, dear=True) for many in (9, 24, 64)]
    [4, 6, 16]
    """
    sparse = entries < SPARSE * features
    moved = rows * entries * (12 if sparse else 8) + 8 * TABLES * features * outputs
    few = DEAR if dear else FEWEST[sparse]
    many = min(few * METRICS.get(metric, METRICS["diagonal"]).rounds, MOST)
    cheap = 0 if dear else int(CHEAP / max(moved, 1))
    whole = partitions // WIDE[dear]
    if cheap < few and whole >= FEWEST[False]:
        return min(whole, many)
    return max(1, min(max(cheap, few), many, rows // LEAST))


def judges_of(ahead: Sequence[Any], rows: int, wanted: int) -> tuple[Sequence[Any], int]:
    """Return the units, of so many rows each, that judge by so many rows; and how many of each.

    >>> judges_of("abcdefgh", 1024, 4096), judges_of("ab", 10, 4096)
    (('abcd', 1024), ('ab', 2048))
    """
    judges = ahead[: math.ceil(wanted / max(rows, 1))]
    return judges, math.ceil(wanted / len(judges))


def schedule_of(partitions: int, rounds: int, dear: bool = False) -> list[list[Unit]]:
    """Return the units of each round: whole partitions where there are enough, else slices.

    >>> [[unit.partition for unit in units] for units in schedule_of(64, 4)][0][:3]
    [0, 4, 8]
    >>> len(schedule_of(32, 8)[0]), len(schedule_of(32, 8, dear=True)[0])
    (32, 4)
    >>> [(unit.partition, unit.slices) for unit in schedule_of(2, 4)[3]]
    [(0, 4), (1, 4)]
    """
    if partitions >= WIDE[dear] * rounds:
        return [[Unit(p) for p in range(first, partitions, rounds)] for first in range(rounds)]
    return [[Unit(p, place, rounds) for p in range(partitions)] for place in range(rounds)]
