"""Dask as an engine of distributed training: plain tasks, in a graph that has no state.

A task that runs again, or on another worker, gives the same bits. It loads its partitions itself,
one after the other, unless other tasks need the intermediate results. Partitions that several tasks
learn are held by the cluster, which spills them to disk where its memory is full.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from dask.base import annotate
from dask.delayed import Delayed, delayed

from aggro.dask.inputs import Partition, inlined, prepare
from aggro.merging.adapters import Update
from aggro.merging.blocks import Block, Failed, Summary, summarise
from aggro.merging.schedule import Task
from aggro.merging.tasks import FAN_IN, first_rows, learn, learn_alone


class DaskEngine:
    """Runs functions on partitions of a Dask collection."""

    def __init__(self, client: Any, partitions: Sequence[Partition]) -> None:
        self.client, self.parts = client, inlined(partitions)
        self.groups = [range(i, i + 1) for i in range(len(partitions))]
        self.held: dict[int, Delayed] = {}  # blocks on the cluster, by the number of their part
        self.token, self.tasks = uuid.uuid4().hex[:12], 0

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.groups)

    def join_partitions(self, groups: Sequence[range]) -> None:
        """Join neighbouring partitions; the groups are the partitions from then on."""
        self.groups = list(groups)

    def summaries(self, numbers: Sequence[int]) -> list[Summary]:
        """Return the sizes of these partitions, which are held until they are learned."""
        return list(self._of_each(summarise, numbers))

    def heads(self, numbers: Sequence[int], rows: int) -> list[Block | Failed]:
        """Return the first rows of each of these partitions, which are held."""
        return list(self._of_each(first_rows, numbers, rows))

    def learn_alone(self, model: Any, method: str, **more: Any) -> Any:
        """Learn all blocks in order on one worker; return the model or why that failed."""
        blocks = [self._block(number) for number in range(len(self.parts))]
        try:
            return self._result(self._task(_learn_alone, self._send(model), blocks, method, more))
        finally:
            self.held = {}

    def learn(self, model: Any, tasks: Sequence[Task], held: bool) -> Update:
        """Return what all tasks have learned, combined in a tree."""
        groups = [self.groups[task.partition] for task in tasks]
        if held:
            self._hold([number for group in groups for number in group])
        sent = self._send(model)
        updates = [
            self._task(_learn, sent, [self._block(number) for number in group], task)
            for group, task in zip(groups, tasks, strict=True)
        ]
        while True:
            some = [updates[i : i + FAN_IN] for i in range(0, len(updates), FAN_IN)]
            updates = [self._task(Update.combined, each) for each in some]
            if len(updates) == 1:
                break
        update: Update = self._result(updates[0])
        if not held and update.unknown is None:
            for number in (number for group in groups for number in group):
                self.held.pop(number, None)
        return update

    def _of_each(self, function: Callable[..., Any], numbers: Sequence[int], *args: Any) -> Any:
        """Return the results of a function of the blocks of these partitions, which are held."""
        self._hold(numbers)
        tasks: Delayed = delayed(list)(
            [self._task(function, self._block(n), *args) for n in numbers]
        )
        return self._result(tasks)

    def _block(self, number: int) -> Any:
        """Return the block of a partition if it is held, or the partition that a task loads."""
        part = self.parts[number]
        if number in self.held:
            return self.held[number]
        return self._task(prepare, part) if isinstance(part, Partition) else part

    def _hold(self, numbers: Sequence[int]) -> None:
        """Let the cluster make these blocks, and hold them."""
        missing = [number for number in numbers if number not in self.held]
        if missing:
            blocks = [self._task(prepare, self.parts[number]) for number in missing]
            self.held.update(zip(missing, self.client.persist(blocks), strict=True))

    def _send(self, model: Any) -> Any:
        """Return the model as a task of its own: if its worker is lost, another makes it again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self.client.submit(_same, model, key=self._key("model"), pure=False)

    def _task(self, function: Callable[..., Any], *args: Any) -> Delayed:
        with annotate(priority=int(function is not prepare)):  # first learn what is loaded
            task: Delayed = delayed(function)(*args, dask_key_name=self._key(function.__name__))
        return task

    def _key(self, name: str) -> str:
        self.tasks += 1
        return f"aggro-{name.strip('_').replace('_', '-')}-{self.token}-{self.tasks}"

    def _result(self, task: Any) -> Any:
        future = self.client.compute(task)
        try:
            return future.result()
        finally:
            if not future.done():
                future.cancel()


def _learn(model: Any, blocks: Sequence[Any], task: Task) -> Update:
    return learn(model, map(prepare, blocks), task)


def _learn_alone(model: Any, blocks: Sequence[Any], method: str, more: dict[str, Any]) -> Any:
    return learn_alone(model, [prepare(block) for block in blocks], method, **more)


def _same(model: Any) -> Any:
    return model
