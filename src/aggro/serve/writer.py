"""The thread that writes the journal: many callers share one commit.

While a commit waits for the disk, the next callers gather; so a busy server syncs a few hundred
times a second however many lessons arrive. The event loop never waits for this thread.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from aggro.serve.entries import Entry, Outcome
from aggro.serve.journal import Journal

GROUP = 2000  # entries of a commit
PATIENCE = 0.05  # seconds that entries wait for others when nobody waits for them
log = logging.getLogger("aggro.serve")

# Called on the event loop with the outcomes, or with the error that kept them off the disk.
Done = Callable[[list[Outcome], Exception | None], None]


@dataclass(slots=True)
class Job:
    """Entries that belong to one request."""

    entries: list[Entry]
    done: Done | None


class Writer:
    """Takes jobs from the event loop, writes them in order, tells the loop when they are safe."""

    def __init__(self, journal: Journal, most: int) -> None:
        self.journal, self.most = journal, most
        self.waiting = 0  # entries that were given and are not yet settled; the loop's own count
        self.commits = 0
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to write; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def has_room(self, entries: int, share: float = 1.0) -> bool:
        """Tell whether so many entries may be given; when nothing waits, any number."""
        return self.waiting == 0 or self.waiting + entries <= share * self.most

    def give(self, entries: list[Entry], done: Done | None = None) -> None:
        """Write entries soon; then call ``done`` on the event loop."""
        self.waiting += len(entries)
        self._queue.put(Job(entries, done))

    async def stop(self) -> None:
        """Write all that was given, tell about it, and end."""
        self._queue.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    # -- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        more = True
        while more:
            jobs, more = self._gather()
            if jobs:
                self._commit(jobs)

    def _gather(self) -> tuple[list[Job], bool]:
        """Return the next jobs, and whether there may be more after them."""
        job = self._queue.get()
        jobs, size, until = [], 0, time.monotonic() + PATIENCE
        hurry = False
        while job is not None:
            jobs.append(job)
            size += len(job.entries)
            hurry = hurry or job.done is not None
            if size >= GROUP:
                return jobs, True
            wait = 0.0 if hurry else max(0.0, until - time.monotonic())
            try:
                job = self._queue.get(timeout=wait) if wait else self._queue.get_nowait()
            except queue.Empty:
                return jobs, True
        return jobs, False

    def _commit(self, jobs: list[Job]) -> None:
        """Write jobs together; if that fails, each alone, so that one cannot spoil the others."""
        try:
            outcomes = self.journal.write([entry for job in jobs for entry in job.entries])
        except Exception as error:
            if len(jobs) == 1:
                log.error("the journal cannot be written: %s", error)
                self.tell(jobs, [], error)
                return
            for job in jobs:
                self._commit([job])
            return
        self.commits += 1
        self.tell(jobs, outcomes, None)

    def tell(self, jobs: list[Job], outcomes: list[Outcome], error: Exception | None) -> None:
        """Let the event loop know what became of some jobs."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._settle, jobs, outcomes, error)

    def _settle(self, jobs: list[Job], outcomes: list[Outcome], error: Exception | None) -> None:
        place = 0
        for job in jobs:
            mine = outcomes[place : place + len(job.entries)]
            place += len(job.entries)
            self.waiting -= len(job.entries)
            if job.done is not None:
                job.done(mine, error)
