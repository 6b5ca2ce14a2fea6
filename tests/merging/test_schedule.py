"""The schedule of distributed training follows from sizes and settings alone."""

import numpy as np
import pytest

from aggro.merging.blocks import Block, Summary, summarise
from aggro.merging.schedule import Plan, Task, is_local, plan


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(("parts", "count", "skip"), [(1, 10, 0), (4, 10, 3), (4, 3, 0), (2, 5, 9)])
def test_the_parts_of_a_partition_hold_each_row_once(seed, parts, count, skip):
    rows = [Task(0, part, parts, skip, seed=seed).rows(count) for part in range(parts)]
    assert sorted(np.concatenate(rows)) == list(range(min(skip, count), count))
    if seed is None:  # the given order
        assert np.concatenate(rows).tolist() == list(range(min(skip, count), count))


def test_every_pass_has_an_order_of_its_own():
    orders = {tuple(Task(p, seed=seed).rows(20)) for p in (0, 1) for seed in (3, 4)}
    assert len(orders) == 4


@pytest.mark.parametrize("partitions", [1, 2, 16, 63, 64, 1000])
@pytest.mark.parametrize("rounds", [1, 4, 16])
@pytest.mark.parametrize("shards", [2, 16])
def test_a_pass_learns_every_partition_whole_or_in_all_its_parts(partitions, rounds, shards):
    chosen = Plan(rounds, shards)
    tasks = [task for tasks in chosen.tasks(partitions, {0: 5}) for task in tasks]
    learned = [(task.partition, task.part) for task in tasks]
    assert len(set(learned)) == len(learned)
    parts = {task.parts for task in tasks}
    assert parts == {1} if chosen.is_whole(partitions) else parts == {rounds}
    assert len(learned) == partitions * parts.pop()
    assert all(task.skip == (5 if task.partition == 0 else 0) for task in tasks)


def test_rows_that_were_learned_before_may_be_those_of_several_blocks():
    task, counts = Task(0, skip=12), (10, 0, 5)
    rows = [task.rows(n, before).tolist() for n, before in zip(counts, (0, 10, 10), strict=True)]
    assert rows == [[], [], [2, 3, 4]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [([1, "a"], "y mixes numbers and text"), (["a", None], "missing label, None")],
)
def test_mixed_and_missing_labels_of_a_partition_are_reported(labels, message):
    y = np.array(labels * 3, dtype=object)
    assert message in summarise(Block(np.ones((6, 2)), y, None)).error


def test_only_little_data_are_learned_on_one_worker():
    some = Summary(rows=50_000, nbytes=2**24)
    assert is_local([some] * 4)
    assert not is_local([some] * 5)
    assert not is_local([Summary(rows=10, nbytes=2**27)])


def test_tiny_partitions_are_joined():
    tiny, big = Summary(rows=100, entries=100.0), Summary(rows=10**7, entries=100.0)
    groups = plan(tiny, 1000, 10_000).groups(1000)
    assert len(groups) == 8
    assert [p for group in groups for p in group] == list(range(1000))
    assert len(plan(big, 1000, 10_000).groups(1000)) == 1000
    assert len(plan(tiny, 3, 10_000).groups(3)) == 3


def test_rounds_grow_with_the_data_and_end_where_the_metric_gains_no_more():
    sizes = [Summary(rows=10**k, entries=40.0) for k in range(3, 10)]
    for metric, most in (("euclidean", 64), ("diagonal", 16), ("newton", 16), ("auto", 16)):
        plans = [plan(size, 8, 10_000, metric=metric) for size in sizes]
        rounds, tasks = [p.rounds for p in plans], [p.rounds * p.shards for p in plans]
        assert rounds == sorted(rounds) and rounds[0] == 4 and rounds[-1] == most
        assert tasks == sorted(tasks)
    wide = [plan(sizes[5], 8, width, metric="diagonal").rounds for width in (10, 2**22, 2**24)]
    assert wide == sorted(wide, reverse=True) and wide[0] > wide[-1]
    many = [plan(sizes[4], n, 10, metric="diagonal").rounds for n in (64, 128, 1000)]
    assert many == [4, 8, 16]
    assert plan(sizes[4], 64, 10, rounds=7).rounds == 7
