"""Group commit: records, the thread that writes them, and the statements of a transaction.

Jobs of the event loop collect in a queue while a commit waits for the disk, and the next commit
takes all of them. A busy server therefore syncs a few hundred times per second, however many
updates arrive. The event loop never waits for this thread.

SQLite releases the GIL several times in each statement, and a busy event loop returns it only after
a while. The entries of a group are therefore read and written by few statements of many rows. A
group of new updates is a single statement, which is a transaction by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from aggro.serve.journal import Journal

# -- records --------------------------------------------------------------------------------------

# Thousands of records exist for some milliseconds, and none is part of a cycle: gc=False excludes
# them from garbage collection.


class Prediction(Struct, gc=False):
    """A prediction whose label may follow."""

    id: str
    at: float
    features: bytes
    served: bytes
    new: bool = False  # the id was made by the server, so it is unused


class DelayedLabel(Struct, gc=False):
    """The label of a stored prediction."""

    id: str
    label: bytes
    weight: float


class Example(Struct, gc=False):
    """Features and their label."""

    id: str
    label: bytes
    weight: float
    features: bytes
    new: bool = False  # the id was made by the server, so it is unused
    x: Any = None  # the decoded features, which saves decoding them again


class Lookup(Struct, gc=False):
    """A search for the features of a prediction or of an update."""

    id: str


class Rejection(Struct, gc=False):
    """The model rejected an example."""

    seq: int
    reason: str


class SnapshotWritten(Struct, gc=False):
    """All kept snapshots contain the examples up to ``seq``.

    The rejections in the newest one are repeated here, in case one was not written.
    """

    seq: int
    rejected: list[Rejection]


class Row(Struct, gc=False):
    """An example in the journal, in the order of learning."""

    seq: int
    id: str
    label: bytes
    weight: float
    features: bytes
    served: bytes | None = None
    checksum: int = 0  # of this row and all previous ones
    rejected: str | None = None  # why the model rejected it, in a replay
    delay: float | None = None
    x: Any = None  # the decoded features, if they came with the label


class Duplicate(Struct, gc=False):
    """The id was learned before with this label, or rejected for this reason."""

    id: str
    seq: int
    rejected: str | None


class Rejected(Struct, gc=False):
    """An update or a search that is not possible.

    Status 404: there is no such prediction, or it has expired. Status 409: the id was learned
    before with another label or other features.
    """

    id: str
    status: int


class Found(Struct, gc=False):
    """The features of a prediction, and the answer that was served."""

    features: bytes
    served: bytes | None


Entry = Prediction | DelayedLabel | Example | Lookup | Rejection | SnapshotWritten
Outcome = Row | Duplicate | Rejected | Found | None


RANDOM = 10  # random bytes of an id
IDS_AT_ONCE = 200  # for one call of the operating system


class Ids:
    """Makes ids that cannot be guessed.

    They start with the time, so that the index of the journal grows at its end.
    """

    def __init__(self) -> None:
        self._ready: list[str] = []

    def new(self) -> str:
        """Return a new id."""
        if not self._ready:
            digits, length = os.urandom(RANDOM * IDS_AT_ONCE).hex(), 2 * RANDOM
            self._ready = [digits[k : k + length] for k in range(0, len(digits), length)]
        return f"{int(time.time() * 1000):011x}{self._ready.pop()}"


# -- the thread -----------------------------------------------------------------------------------

GROUP = 2000  # entries of a commit
PATIENCE = 0.05  # seconds that entries wait for others if no caller waits for them
log = logging.getLogger("aggro.serve")

# Called on the event loop with the outcomes, or with the error of the transaction.
Done = Callable[[list[Outcome], Exception | None], None]


class Job(Struct, gc=False):
    """The entries of one request."""

    entries: list[Entry]
    done: Done | None


STOP = Job([], None)


class Writer:
    """Writes jobs of the event loop in order, and reports when they are on disk."""

    def __init__(self, journal: Journal, most: int) -> None:
        self.journal, self.most = journal, most
        self.waiting = 0  # entries that are not on disk yet
        self.commits = 0
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._urgent = threading.Event()  # a caller waits for one of the jobs
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the thread; call it on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def fits(self, entries: int, share: float = 1.0) -> bool:
        """Return whether some entries fit into the queue; any number fits into an empty one."""
        return self.waiting == 0 or self.waiting + entries <= share * self.most

    def submit(self, entries: list[Entry], done: Done | None = None) -> None:
        """Write entries soon; then call ``done`` on the event loop."""
        self.waiting += len(entries)
        self._jobs.put(Job(entries, done))
        if done is not None:
            self._urgent.set()

    async def stop(self) -> None:
        """Write all entries and end the thread."""
        self._jobs.put(STOP)
        self._urgent.set()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _resolve(self, jobs: list[Job], outcomes: list[Outcome], error: Exception | None) -> None:
        """Report to the callers, on the event loop."""
        place = 0
        for job in jobs:
            mine = outcomes[place : place + len(job.entries)]
            place += len(job.entries)
            self.waiting -= len(job.entries)
            if job.done is not None:
                job.done(mine, error)

    # -- in the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        """Write one group of waiting jobs after another."""
        jobs: list[Job] = []
        while not jobs or jobs[-1] is not STOP:
            jobs = [self._jobs.get()]
            self._urgent.wait(PATIENCE)
            self._urgent.clear()
            size = len(jobs[0].entries)
            while size < GROUP and not self._jobs.empty():
                jobs.append(self._jobs.get())
                size += len(jobs[-1].entries)
            if size >= GROUP:
                self._urgent.set()  # a caller may wait for the others
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


# -- statements -----------------------------------------------------------------------------------

ROWS_AT_ONCE = 64  # of a statement
KNOWN = "SELECT id, seq, label, weight, digest, rejected FROM examples WHERE id IN "
KEPT = "SELECT id, at, features, served FROM pending WHERE id IN "
EXAMPLES = "examples (id, seq, label, weight, digest, rejected, features, served, checksum)"
PENDING = "pending (number, id, at, features, served)"

Values = Sequence[Any]
Statement = tuple[str, Values]


class Group:
    """What the journal contains for the ids of some entries, and the rows to add."""

    def __init__(self, db: sqlite3.Connection, entries: list[Entry]) -> None:
        self.db = db
        learned_ids, asked = set(), set()  # ids that may have been used before
        for each in entries:
            if isinstance(each, (Example, Prediction)) and each.new:
                continue
            if isinstance(each, (Example, DelayedLabel)):
                learned_ids.add(each.id)
            elif isinstance(each, (Prediction, Lookup)):
                asked.add(each.id)
        self.known: dict[str, tuple[Any, ...]] = self._read(KNOWN, learned_ids)
        self.stored: dict[str, tuple[Any, ...]] = self._read(KEPT, learned_ids | asked)
        self._examples: dict[str, tuple[Any, ...]] = {}
        self._pending: dict[str, tuple[Any, ...]] = {}
        self._dropped: list[str] = []
        self._others: list[Statement] = []

    def learned(self, row: Row, digest: bytes) -> None:
        """Add an example; its id is known from now on."""
        known = (row.seq, row.label, row.weight, digest, None)
        self.known[row.id] = known
        self._examples[row.id] = (row.id, *known, row.features, row.served, row.checksum)

    def keep(self, number: int, entry: Prediction) -> None:
        """Add a prediction; it replaces an older one with the same id."""
        self.drop(entry.id)
        self.stored[entry.id] = (entry.at, entry.features, entry.served)
        self._pending[entry.id] = (number, entry.id, *self.stored[entry.id])

    def drop(self, id: str) -> None:
        """Remove the prediction of an id, if there is one."""
        if self.stored.pop(id, None) is not None and self._pending.pop(id, None) is None:
            self._dropped.append(id)

    def then(self, sql: str, values: Values) -> None:
        """Add a statement to run after all rows are written."""
        self._others.append((sql, values))

    def features_of(self, id: str) -> tuple[bytes, bytes | None] | None:
        """Return the features and the answer of a prediction, or of an example of this group."""
        if id in self.stored:
            _, features, served = self.stored[id]
        elif id in self._examples:
            *_, features, served, _ = self._examples[id]
        else:
            return None
        return features, served

    @property
    def more(self) -> int:
        """Change of the number of stored predictions."""
        return len(self._pending) - len(self._dropped)

    def statements(self) -> Iterator[Statement]:
        """Yield the statements."""
        for part in parts(self._dropped):
            yield f"DELETE FROM pending WHERE id IN {marks_of(1, len(part))}", part
        for table, rows in ((PENDING, self._pending), (EXAMPLES, self._examples)):
            for part in parts(list(rows.values())):
                marks = marks_of(len(part), len(part[0]))
                yield f"INSERT INTO {table} VALUES {marks}", list(chain.from_iterable(part))
        yield from self._others

    def _read(self, sql: str, ids: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for part in parts(list(ids)):
            for id, *rest in self.db.execute(sql + marks_of(1, len(part)), part):
                found[id] = tuple(rest)
        return found


def parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Divide rows among statements."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


@cache
def marks_of(rows: int, columns: int) -> str:
    """Return the placeholders for rows of values."""
    return ", ".join(["(" + ", ".join("?" * columns) + ")"] * rows)
