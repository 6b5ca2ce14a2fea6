"""The schedule of distributed training follows from sizes and settings alone."""

import numpy as np
import pytest

from aggro.merging import schedule
from aggro.merging.blocks import Block, Summary, summarise
from aggro.merging.schedule import Task, is_local, partitions_per_task, rounds_for, tasks_of


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize(("parts", "count", "skip"), [(1, 10, 0), (4, 10, 3), (4, 3, 0), (2, 5, 9)])
def test_the_parts_of_a_partition_hold_each_row_once(seed, parts, count, skip):
    rows = [Task(0, part, parts, skip, seed).rows(count) for part in range(parts)]
    assert sorted(np.concatenate(rows)) == list(range(min(skip, count), count))
    if seed is None:  # the given order
        assert np.concatenate(rows).tolist() == list(range(min(skip, count), count))


def test_every_pass_has_an_order_of_its_own():
    orders = {tuple(Task(p, 0, 1, 0, seed).rows(20)) for p in (0, 1) for seed in (3, 4)}
    assert len(orders) == 4


@pytest.mark.parametrize("partitions", [1, 2, 16, 63, 64, 1000])
@pytest.mark.parametrize("rounds", [1, 4, 16])
def test_a_pass_learns_every_partition_whole_or_in_all_its_parts(partitions, rounds):
    tasks = [task for tasks in tasks_of(partitions, rounds, {0: 5}) for task in tasks]
    learned = [(task.partition, task.part) for task in tasks]
    assert len(set(learned)) == len(learned)
    parts = {task.parts for task in tasks}
    assert parts == {1} if schedule.is_whole(partitions, rounds) else parts == {rounds}
    assert len(learned) == partitions * parts.pop()
    assert all(task.skip == (5 if task.partition == 0 else 0) for task in tasks)


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


def test_tasks_of_tiny_partitions_learn_several_of_them():
    assert partitions_per_task(Summary(rows=10, entries=100.0)) > 100
    assert partitions_per_task(Summary(rows=10**5, entries=100.0)) == 1
    assert partitions_per_task(Summary()) > 1


def test_rounds_grow_with_the_data_and_end_where_the_metric_gains_no_more():
    sizes = [Summary(rows=10**k, entries=40.0) for k in range(3, 10)]
    for metric, most in (("euclidean", 64), ("diagonal", 16), ("newton", 16), ("auto", 16)):
        rounds = [rounds_for(size, 8, 10_000, metric=metric) for size in sizes]
        assert rounds == sorted(rounds) and rounds[0] == 4 and rounds[-1] == most
    wide = [rounds_for(sizes[4], 8, width, metric="diagonal") for width in (10, 2**18, 2**24)]
    assert wide == sorted(wide, reverse=True) and wide[0] > wide[-1]
    assert [rounds_for(sizes[0], n, 10, metric="diagonal") for n in (64, 128, 1000)] == [4, 8, 16]
