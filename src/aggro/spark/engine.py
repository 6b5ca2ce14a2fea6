"""Spark as an engine of distributed training: ``mapInArrow`` learns, ``applyInArrow`` combines.

Every round is a job of its own over all partitions, so the data frame should be cached or cheap to
compute, and must give the same partitions each time. Small partitions are joined by a shuffle.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from aggro.merging.adapters import Update
from aggro.merging.blocks import Block, Failed, Summary, summarise
from aggro.merging.schedule import Task
from aggro.merging.tasks import FAN_IN, first_rows, learn, learn_alone
from aggro.spark.columns import Columns

RESULTS = "place long, result binary"
Read = Callable[[], "Block | Failed"]


class SparkEngine:
    """Runs functions on the partitions of a data frame."""

    def __init__(self, frame: Any, columns: Columns) -> None:
        self.columns, self.frame = columns, columns.select(frame)
        self.count: int | None = None

    @property
    def partitions(self) -> int:
        """The number of partitions, without empty ones at the end."""
        if self.count is None:
            from pyspark.sql import functions as F

            numbers = self.frame.select(F.spark_partition_id().alias("number"))
            last = numbers.agg(F.max("number")).collect()[0][0]
            self.count = 0 if last is None else int(last) + 1
        return self.count

    def join_partitions(self, groups: Sequence[range]) -> None:
        """Join neighbouring partitions; the groups are the partitions from then on."""
        from pyspark.sql import functions as F

        group_of = [number for number, group in enumerate(groups) for _ in group]
        place = {
            "group": F.get(F.lit(group_of), F.spark_partition_id()),
            "place": F.monotonically_increasing_id(),
        }
        joined = self.frame.withColumns(place).repartitionById(len(groups), F.col("group"))
        self.frame = joined.sortWithinPartitions("place").drop(*place)
        self.count = len(groups)

    def summaries(self, numbers: Sequence[int]) -> list[Summary]:
        """Return the sizes of these partitions."""
        return list(self._of_each(summarise, numbers))

    def heads(self, numbers: Sequence[int], rows: int) -> list[Block | Failed]:
        """Return the first rows of each of these partitions."""
        return list(self._of_each(first_rows, numbers, rows))

    def _of_each(self, function: Callable[..., Any], numbers: Sequence[int], *args: Any) -> Any:
        """Return the results of a function of the blocks of these partitions."""

        def run(read: Read, place: int) -> Any:
            return function(read(), *args)

        return self._results(self._map(run, numbers), len(numbers))

    def learn_alone(self, model: Any, method: str, **more: Any) -> Any:
        """Learn all rows in order in one task; return the model or why that failed."""
        from pyspark.sql import functions as F

        numbered = self.frame.withColumn("place", F.monotonically_increasing_id())
        ordered = numbered.coalesce(1).sortWithinPartitions("place")  # coalesce keeps no order

        def run(read: Read, place: int) -> Any:
            return learn_alone(model, [read()], method, **more)

        return self._results(self._map(run, [0], ordered), 1)[0]

    def learn(self, model: Any, tasks: Sequence[Task], held: bool) -> Update:
        """Return what all tasks have learned, combined in a tree."""

        def run(read: Read, place: int) -> Update:
            return learn(model, [read()], tasks[place])

        found, count = self._map(run, [task.partition for task in tasks]), len(tasks)
        while count > FAN_IN:
            groups = found.groupBy((found.place / FAN_IN).cast("long"))
            found, count = groups.applyInArrow(_combine, RESULTS), -(-count // FAN_IN)
        return Update.combined(self._results(found, count))

    def _map(
        self, function: Callable[[Read, int], Any], numbers: Sequence[int], frame: Any = None
    ) -> Any:
        """Return a data frame of what a function makes of these partitions.

        Other partitions are not read, and their tasks import nothing.
        """
        places = {int(number): place for place, number in enumerate(numbers)}
        work = cloudpickle.dumps((function, self.columns))

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            context = TaskContext.get()
            place = places.get(0 if context is None else context.partitionId())
            if place is not None:
                from aggro.spark.engine import run_on

                yield run_on(work, place, batches)

        return (self.frame if frame is None else frame).mapInArrow(run, RESULTS)

    def _results(self, found: Any, count: int) -> list[Any]:
        """Return the results of a data frame in their order."""
        rows = sorted(found.collect(), key=lambda row: row.place)
        if len(rows) != count:
            raise ValueError(
                f"The data frame had {count} partitions to learn and {len(rows)} of them are left: "
                "it is computed again for each round, with other partitions; cache it."
            )
        return [pickle.loads(row.result) for row in rows]


def run_on(work: bytes, place: int, batches: Iterator[Any]) -> Any:
    """Return the result of a function of one partition, as a record."""
    function, columns = pickle.loads(work)
    return _record(place, function(lambda: columns.read(batches), place))


def _combine(table: Any) -> Any:
    """Return the updates of a group as one."""
    ordered = table.sort_by("place").to_pydict()
    updates = [pickle.loads(each) for each in ordered["result"]]
    return pa.Table.from_batches([_record(ordered["place"][0] // FAN_IN, Update.combined(updates))])


def _record(place: int, result: Any) -> Any:
    fields = {"place": pa.array([place], pa.int64())}
    fields["result"] = pa.array([pickle.dumps(result, 5)], pa.binary())
    return pa.RecordBatch.from_pydict(fields)
