"""Run cells in several processes, and store each as soon as it is finished."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from types import ModuleType
from typing import Any

from aggro.datasets import DataError
from aggro.datasets.files import files_of, find
from studies.papers.experiment import Cell
from studies.papers.progress import Progress
from studies.papers.store import Store

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """One cell of one experiment."""

    module: str
    cell: Cell
    store: Store

    def __str__(self) -> str:
        return f"{self.store.name}: " + " ".join(str(value) for value in self.cell.values())


@dataclass(frozen=True)
class Failure:
    """A cell that raised, or whose process died."""

    task: Task
    trace: str


@dataclass
class Run:
    """Summary of a run: the number of finished cells, their CPU time, and failures."""

    finished: int = 0
    seconds: float = 0.0
    failures: tuple[Failure, ...] = ()


def missing_data(names: Iterable[str]) -> dict[str, str]:
    """Fetch data sets; return those that are not available, with an instruction for each."""
    missing = {}
    for name in dict.fromkeys(names):
        try:
            for source in files_of(name):
                find(source)
        except DataError as error:
            missing[name] = str(error)
    return missing


def needs(experiment: ModuleType, cell: Cell) -> tuple[str, ...]:
    """Return the sets that a cell reads, by ``needs`` of its experiment or its value "set"."""
    if hasattr(experiment, "needs"):
        return tuple(experiment.needs(cell))
    return tuple(name for name in experiment.DATA if name == cell.get("set"))


def unfinished(
    experiments: Iterable[tuple[ModuleType, Store]], quick: bool, missing: Iterable[str]
) -> list[Task]:
    """Return the cells to run, unknown ones and those that took longest first."""
    absent = set(missing)
    tasks = [
        Task(experiment.__name__, cell, store)
        for experiment, store in experiments
        for cell in experiment.cells(quick)
        if not store.is_done(cell) and not absent.intersection(needs(experiment, cell))
    ]
    return sorted(tasks, key=_expected, reverse=True)


def _expected(task: Task) -> float:
    known = task.store.seconds(task.cell)
    return float("inf") if known is None else known


def run(tasks: list[Task], jobs: int, progress: Progress) -> Run:
    """Run all tasks; a failure does not stop the others."""
    done, failures, waiting = Run(), [], list(reversed(tasks))
    workers = [Worker() for _ in range(min(jobs, len(tasks)))]
    running: dict[Future[tuple[str, float]], tuple[int, Task]] = {}

    def submit(place: int) -> None:
        task = waiting.pop()
        running[workers[place].pool.submit(_work, task.module, task.cell)] = place, task

    try:
        for place in range(len(workers)):
            submit(place)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                place, task = running.pop(future)
                try:
                    text, seconds = future.result()
                except BrokenProcessPool:
                    failures.append(Failure(task, "The process died without a word.\n"))
                    workers[place] = Worker()
                    progress.advance(f"{task} DIED")
                except Exception as error:
                    failures.append(Failure(task, "".join(traceback.format_exception(error))))
                    progress.advance(f"{task} FAILED")
                else:
                    task.store.keep(task.cell, text, seconds)
                    done.finished += 1
                    done.seconds += seconds
                    progress.advance(f"{task} ({seconds:.1f} s)")
                if waiting:
                    submit(place)
    finally:
        for each in workers:
            each.stop()
    done.failures = tuple(failures)
    return done


class Worker:
    """A pool of one process, so that a crash affects one cell only."""

    def __init__(self) -> None:
        for name in THREADS:
            os.environ[name] = "1"
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_obey)
        self.pid = self.pool.submit(os.getpid)

    def stop(self) -> None:
        """Kill the process."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        if self.pid.done() and not self.pid.cancelled() and self.pid.exception() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid.result(), signal.SIGTERM)


def _obey() -> None:
    """Make a worker exit on Ctrl-C, and when its parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(module: str, cell: Cell) -> tuple[str, float]:
    """Run one cell in this process; return its outcome as JSON and its CPU seconds."""
    experiment = importlib.import_module(module)
    begin = time.process_time()
    outcome = experiment.run(cell)
    seconds = time.process_time() - begin
    return json.dumps(outcome, default=_plain), seconds


def _plain(value: Any) -> Any:
    """Convert NumPy arrays and scalars into lists and numbers."""
    return value.tolist()
