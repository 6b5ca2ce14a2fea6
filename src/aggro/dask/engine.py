"""Dask as an engine of distributed training: plain tasks, in a graph that has no state.

A task that runs again, or on another worker, gives the same bits. Partitions that several tasks
learn are held by the cluster, which spills them to disk where its memory is full.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from dask.base import annotate
from dask.delayed import Delayed, delayed

from aggro.dask.inputs import Partition, prepare
from aggro.merging.adapters import Update
from aggro.merging.blocks import Block, Failed, Summary, summarise
from aggro.merging.schedule import Task
from aggro.merging.tasks import FAN_IN, first_rows, learn, learn_alone


class DaskEngine:
    """Runs functions on partitions of a Dask collection."""

    def __init__(self, client: Any, partitions: Sequence[Partition]) -> None:
        self.client = client
        self.groups = [[each] for each in partitions]
        self.held: dict[int, Delayed] = {}  # blocks on the cluster, by the number of a partition
        self.token, self.tasks = uuid.uuid4().hex[:12], 0

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.groups)

    def join_partitions(self, count: int) -> None:
        """Join neighbouring partitions, so that about this number is left."""
        parts = [part for group in self.groups for part in group]
        edges = np.linspace(0, len(parts), count + 1).astype(int)
        self.groups = [parts[a:b] for a, b in pairwise(edges)]
        self.held = {}

    def summaries(self, numbers: Sequence[int]) -> list[Summary]:
        """Return the sizes of these partitions, which are held until they are learned."""
        return list(self._of_each(summarise, numbers))

    def heads(self, numbers: Sequence[int], rows: int) -> list[Block | Failed]:
        """Return the first rows of each of these partitions, which are held."""
        return list(self._of_each(first_rows, numbers, rows))

    def learn_alone(self, model: Any, method: str, **more: Any) -> Any:
        """Learn all blocks in order on one worker; return the model or why that failed."""
        blocks = [self._block(number) for number in range(self.partitions)]
        try:
            return self._result(self._task(_learn_alone, self._send(model), blocks, method, more))
        finally:
            self.held = {}

    def learn(self, model: Any, tasks: Sequence[Task], held: bool) -> Update:
        """Return what all tasks have learned, combined in a tree."""
        if held:
            self._hold([task.partition for task in tasks])
        sent = self._send(model)
        updates = [
            self._task(learn, sent, self._block(task.partition), task, len(tasks)) for task in tasks
        ]
        while True:
            groups = [updates[i : i + FAN_IN] for i in range(0, len(updates), FAN_IN)]
            updates = [self._task(Update.combined, group) for group in groups]
            if len(updates) == 1:
                break
        update: Update = self._result(updates[0])
        if not held and update.unknown is None:
            for task in tasks:
                self.held.pop(task.partition, None)
        return update

    def _of_each(self, function: Callable[..., Any], numbers: Sequence[int], *args: Any) -> Any:
        """Return the results of a function of the blocks of these partitions, which are held."""
        self._hold(numbers)
        tasks: Delayed = delayed(list)(
            [self._task(function, self._block(n), *args) for n in numbers]
        )
        return self._result(tasks)

    def _block(self, number: int) -> Delayed:
        """Return the lazy block of a partition."""
        if number in self.held:
            return self.held[number]
        return self._task(prepare, self.groups[number])

    def _hold(self, numbers: Sequence[int]) -> None:
        """Let the cluster make these blocks, and hold them."""
        missing = [number for number in numbers if number not in self.held]
        if missing:
            blocks = self.client.persist([self._block(number) for number in missing])
            self.held.update(zip(missing, blocks, strict=True))

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


def _learn_alone(
    model: Any, blocks: Sequence[Block | Failed], method: str, more: dict[str, Any]
) -> Any:
    return learn_alone(model, blocks, method, **more)


def _same(model: Any) -> Any:
    return model
