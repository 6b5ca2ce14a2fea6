"""When a snapshot is written, and that the journal hears of it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from aggro.serve.entries import Refusal, Saved
from aggro.serve.errors import NO_SNAPSHOT, Refused
from aggro.serve.learning import Learning
from aggro.serve.limits import Keeping
from aggro.serve.snapshots import Snapshots
from aggro.serve.writer import Writer

RETRY = 0.2  # seconds from one snapshot to the next, however much is learned
log = logging.getLogger("aggro.serve")


class Saver:
    """Writes snapshots: when they are due, and when somebody asks."""

    def __init__(
        self,
        snapshots: Snapshots,
        learning: Learning,
        writer: Writer,
        keeping: Keeping,
        saved: int,
    ) -> None:
        self.snapshots, self.learning, self.writer = snapshots, learning, writer
        self.keeping, self.saved = keeping, saved
        self._recorded = saved  # the last snapshot that the journal knows of
        self._tried_at = time.monotonic()
        self._saving: asyncio.Future[int] | None = None

    def save_if_due(self) -> None:
        """Begin a snapshot if enough was learned since the last, or some time ago."""
        new, passed = self.learning.version - self.saved, time.monotonic() - self._tried_at
        many = new >= self.keeping.snapshot_examples and passed > RETRY
        if self._saving is None and new and (many or passed > self.keeping.snapshot_seconds):
            self._saving = asyncio.ensure_future(self._save())
            self._saving.add_done_callback(_report)

    async def save(self) -> int:
        """Write a snapshot of all that is learned by now; return its number."""
        while self._saving is not None:
            await asyncio.wait([self._saving])
        if self.learning.version == self.saved:
            return self.saved
        self._saving = saving = asyncio.ensure_future(self._save())
        try:
            return await asyncio.shield(saving)
        except (OSError, MemoryError) as error:
            _report(saving)
            raise Refused(503, NO_SNAPSHOT, retry_after=1) from error

    async def _save(self) -> int:
        """The model is copied here, between two lessons; another thread writes the file."""
        self._tried_at = time.monotonic()
        frozen, seq, notes = self.learning.freeze(self._recorded)
        loop = asyncio.get_running_loop()
        try:
            held = await loop.run_in_executor(None, self.snapshots.write, frozen, seq, notes)
            self.saved = seq
            rejected = [Refusal(int(number), why) for number, why in notes.rejected.items()]
            safe = loop.create_future()
            self.writer.give([Saved(held, rejected)], lambda _, error: settle(safe, error))
            if await safe is None:
                self._recorded = seq
                await loop.run_in_executor(None, self.snapshots.remove_old)
            return seq
        finally:
            self._saving = None


def _report(saving: asyncio.Future[int]) -> None:
    """Say why there is no snapshot; nothing is lost, since the journal has it all."""
    if not saving.cancelled() and saving.exception() is not None:
        log.error("no snapshot was written: %s", saving.exception())


def settle(future: asyncio.Future[Any], result: Any) -> None:
    """Give a caller its result, unless it has gone away."""
    if future.done():
        return
    if isinstance(result, Refused):
        future.set_exception(result)
    else:
        future.set_result(result)
