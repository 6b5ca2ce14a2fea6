"""The thread that writes the journal; concurrent requests share a commit.

The event loop collects jobs while a commit waits for the disk, and passes them on together when it
is done. A busy server therefore syncs a few hundred times per second, however many updates arrive.
The event loop never waits for this thread.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from aggro.serve.journal import Journal
from aggro.serve.records import Entry, Outcome

GROUP = 2000  # entries of a commit
PATIENCE = 0.05  # seconds that entries wait for others if no caller waits for them
log = logging.getLogger("aggro.serve")

# Called on the event loop with the outcomes, or with the error of the transaction.
Done = Callable[[list[Outcome], Exception | None], None]


class Job(Struct, gc=False):
    """The entries of one request."""

    entries: list[Entry]
    done: Done | None


class Writer:
    """Writes jobs of the event loop in order, and reports when they are on disk."""

    def __init__(self, journal: Journal, most: int) -> None:
        self.journal, self.most = journal, most
        self.waiting = 0  # entries that are not on disk yet
        self.commits = 0
        self._jobs: deque[Job] = deque()  # for the next commits
        self._under_way = 0  # jobs in the thread
        self._hurry = False  # a caller waits for one of the jobs
        self._planned: asyncio.Handle | None = None  # the next hand-over
        self._soon = False  # whether it is immediate
        self._queue: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        self._hand_over()

    def has_room(self, entries: int, share: float = 1.0) -> bool:
        """Return whether the queue has room for some entries; an empty one has room for any."""
        return self.waiting == 0 or self.waiting + entries <= share * self.most

    def submit(self, entries: list[Entry], done: Done | None = None) -> None:
        """Write entries soon; then call ``done`` on the event loop."""
        self.waiting += len(entries)
        self._jobs.append(Job(entries, done))
        self._hurry = self._hurry or done is not None
        if not self._under_way:
            self._plan()

    async def stop(self) -> None:
        """Write all entries and end the thread."""
        while self.waiting:
            self._hand_over()
            await asyncio.sleep(0.002)
        self._queue.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    # -- on the event loop ----------------------------------------------------------------------

    def _plan(self) -> None:
        """Schedule a hand-over: after the requests that have arrived, or a little later."""
        if self._loop is None or (self._planned and (self._soon or not self._hurry)):
            return
        self._unplan()
        self._soon = self._hurry
        if self._hurry:
            self._planned = self._loop.call_soon(self._hand_over)
        else:
            self._planned = self._loop.call_later(PATIENCE, self._hand_over)

    def _unplan(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None

    def _hand_over(self) -> None:
        """Pass a group to the thread, if it has none."""
        self._unplan()
        if self._under_way or not self._jobs:
            return
        jobs, size = [], 0
        while self._jobs and size < GROUP:
            jobs.append(self._jobs.popleft())
            size += len(jobs[-1].entries)
        self._under_way, self._hurry = len(jobs), bool(self._jobs)
        self._queue.put(jobs)

    def _resolve(self, jobs: list[Job], outcomes: list[Outcome], error: Exception | None) -> None:
        """Report to the callers, after passing the next group to the thread."""
        self._under_way -= len(jobs)
        if self._hurry:
            self._hand_over()
        elif self._jobs and not self._under_way:
            self._plan()
        place = 0
        for job in jobs:
            mine = outcomes[place : place + len(job.entries)]
            place += len(job.entries)
            self.waiting -= len(job.entries)
            if job.done is not None:
                job.done(mine, error)

    # -- in the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        while (jobs := self._queue.get()) is not None:
            self._commit(jobs)

    def _commit(self, jobs: list[Job]) -> None:
        """Write jobs together; if that fails, one by one, so that only invalid ones fail."""
        try:
            outcomes = self.journal.write([entry for job in jobs for entry in job.entries])
        except Exception as error:
            if len(jobs) == 1:
                log.error("the journal cannot be written: %s", error)
                self.report(jobs, [], error)
                return
            for job in jobs:
                self._commit([job])
            return
        self.commits += 1
        self.report(jobs, outcomes, None)

    def report(self, jobs: list[Job], outcomes: list[Outcome], error: Exception | None) -> None:
        """Report the outcomes of jobs to the event loop."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._resolve, jobs, outcomes, error)
