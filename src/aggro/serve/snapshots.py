"""Snapshots: model files named by their last update; when they are written; backups of folders.

A file gets its name only when it is completely on disk (``aggro.atomic``). Two are kept: if the
newest is damaged, the previous one and the journal produce the same model. A snapshot contains
everything that belongs to it, so that a crash cannot separate the parts: besides the model, its
notes contain the checksum of the journal at this update, the totals of the evaluation, and the
rejected updates that the journal may not contain yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from aggro.atomic import sync_folder
from aggro.persistence import ModelFileError
from aggro.persistence.record import DAMAGED, Record, read_record, write_record
from aggro.persistence.store import model_of
from aggro.serve.config import Retention
from aggro.serve.folder import (
    JOURNAL,
    RESTORE,
    DataFolderError,
    snapshot_name,
    snapshot_numbers,
    too_new,
)
from aggro.serve.journal import Journal, connect, readable
from aggro.serve.messages import NO_SNAPSHOT, RequestError
from aggro.serve.monitoring import Totals
from aggro.serve.writer import Rejection, SnapshotWritten, Writer

if TYPE_CHECKING:
    from aggro.serve.learning import Learning

KEPT = 2
log = logging.getLogger("aggro.serve")


class Notes(msgspec.Struct):
    """The contents of a snapshot besides the model."""

    checksum: int  # of the journal, up to the last example of the snapshot
    totals: Totals
    rejected: dict[int, str]  # reasons by sequence number

    def rejections(self) -> list[Rejection]:
        """Return the rejections as records of the journal."""
        return [Rejection(seq, reason) for seq, reason in self.rejected.items()]


class Snapshot(msgspec.Struct):
    """A loaded snapshot."""

    seq: int
    model: Any
    notes: Notes


class Snapshots:
    """The snapshots of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, seq: int) -> Path:
        """Return the file of the snapshot that ends with this update."""
        return self.folder / snapshot_name(seq)

    def write(self, frozen: Callable[[], Record], seq: int, notes: Notes) -> int:
        """Write a snapshot; return the last update that all kept snapshots contain."""
        record = frozen()
        record.notes = msgspec.to_builtins(notes, str_keys=True)
        write_record(record, self.path(seq))
        stored = snapshot_numbers(self.folder)[-KEPT:]
        return stored[0] if len(stored) == KEPT else 0

    def remove_old(self) -> None:
        """Remove all but the newest ones."""
        for seq in snapshot_numbers(self.folder)[:-KEPT]:
            self.path(seq).unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Remove incomplete files; call it before anything is written."""
        for path in self.folder.glob(".model-*.tmp"):
            path.unlink(missing_ok=True)

    def newest(self, journal: Journal) -> Snapshot | None:
        """Return the newest snapshot that can be read; None if nothing was learned yet.

        Damaged ones are set aside, so that they do not count as kept.

        Raises
        ------
        DataFolderError
            If the snapshots and the journal do not belong together, or no snapshot is left that
            the journal continues.
        """
        numbers = snapshot_numbers(self.folder)
        if not numbers and journal.last == 0:
            return None
        if numbers and numbers[-1] > journal.last:
            raise too_new(self.folder, numbers[-1], journal.last)
        damaged = []
        for seq in reversed([seq for seq in numbers if seq >= journal.stripped]):
            try:
                found = self.read(seq)
            except ModelFileError as error:
                log.error("a snapshot cannot be read, the one before it is used: %s", error)
                damaged.append(seq)
                continue
            if found.notes.checksum != journal.checksum_at(seq):
                raise DataFolderError(
                    f"{self.path(seq)} and {journal.path} do not belong together: they differ in "
                    f"the updates up to {seq:,}. One of them comes from another server or from "
                    f"another backup. {RESTORE}, into an empty folder."
                )
            self._set_aside(damaged)
            return found
        names = ", ".join(map(snapshot_name, numbers)) or "none"
        raise DataFolderError(
            f"{self.folder}: no snapshot can be read that the journal continues. The journal holds "
            f"the updates {journal.stripped + 1:,} to {journal.last:,}, so a snapshot of update "
            f"{journal.stripped:,} or later is needed; found: {names}"
            f"{' (damaged or too old)' if numbers else ''}. {RESTORE}."
        )

    def read(self, seq: int) -> Snapshot:
        """Read a snapshot; raise ModelFileError if it is damaged."""
        path = self.path(seq)
        record = read_record(path)
        try:
            return Snapshot(
                seq, model_of(record), msgspec.convert(record.notes, Notes, str_keys=True)
            )
        except (*DAMAGED, msgspec.ValidationError) as error:
            raise ModelFileError(f"{path}: it is no snapshot of a server: {error}") from error

    def _set_aside(self, damaged: list[int]) -> None:
        for seq in damaged:
            path = self.path(seq)
            path.replace(path.with_name(f"{path.name}.damaged"))
        if damaged:
            sync_folder(self.folder)


RETRY = 0.2  # least seconds between two snapshots


class SnapshotScheduler:
    """Writes snapshots when they are due or requested."""

    def __init__(
        self,
        snapshots: Snapshots,
        learning: Learning,
        writer: Writer,
        retention: Retention,
        saved: int,
    ) -> None:
        self.snapshots, self.learning, self.writer = snapshots, learning, writer
        self.retention, self.saved = retention, saved
        self._recorded = saved  # the last snapshot that the journal has recorded
        self._tried_at = time.monotonic()
        self._saving: asyncio.Future[int] | None = None

    def save_if_due(self) -> None:
        """Start a snapshot if enough updates, or enough time, have passed since the last."""
        new, passed = self.learning.version - self.saved, time.monotonic() - self._tried_at
        many = new >= self.retention.snapshot_examples and passed > RETRY
        if self._saving is None and new and (many or passed > self.retention.snapshot_seconds):
            self._saving = asyncio.ensure_future(self._save())
            self._saving.add_done_callback(_report)

    async def save(self) -> int:
        """Write a snapshot of the current model; return its number."""
        while self._saving is not None:
            await asyncio.wait([self._saving])
        if self.learning.version == self.saved:
            return self.saved
        self._saving = saving = asyncio.ensure_future(self._save())
        try:
            return await asyncio.shield(saving)
        except (OSError, MemoryError) as error:
            _report(saving)
            raise RequestError(503, NO_SNAPSHOT, retry_after=1) from error

    async def _save(self) -> int:
        """Copy the model between two updates; write the file in another thread."""
        self._tried_at = time.monotonic()
        frozen, seq, notes = self.learning.freeze(self._recorded)
        loop = asyncio.get_running_loop()
        try:
            held = await loop.run_in_executor(None, self.snapshots.write, frozen, seq, notes)
            self.saved = seq
            safe = loop.create_future()
            written = SnapshotWritten(held, notes.rejections())
            self.writer.submit([written], lambda _, error: resolve(safe, error))
            if await safe is None:
                self._recorded = seq
                await loop.run_in_executor(None, self.snapshots.remove_old)
            return seq
        finally:
            self._saving = None


def _report(saving: asyncio.Future[int]) -> None:
    """Log a failed snapshot; nothing is lost, since the journal contains all updates."""
    if not saving.cancelled() and saving.exception() is not None:
        log.error("no snapshot was written: %s", saving.exception())


def resolve(future: asyncio.Future[Any], result: Any) -> None:
    """Set the result of a future, unless it was cancelled."""
    if future.done():
        return
    if isinstance(result, RequestError):
        future.set_exception(result)
    else:
        future.set_result(result)


# -- backups --------------------------------------------------------------------------------------

ATTEMPTS = 20  # because a server may write two snapshots while the journal is copied


def backup(folder: Path, target: Path) -> tuple[int, int]:
    """Copy a data folder; return the number of its last update and of its newest snapshot.

    The copy holds all updates that were acknowledged before the call. It appears under its name
    when all of it is on the disk and was checked as a start checks it.

    Parameters
    ----------
    folder : Path
        The data folder. A server may be using it.
    target : Path
        The folder to create. It must not exist, or be empty.

    Raises
    ------
    DataFolderError
        If the data folder is not one, is damaged, or the target holds files.
    """
    if not (folder / JOURNAL).is_file():
        raise DataFolderError(f"{folder} is not the data folder of a server: no {JOURNAL} in it.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataFolderError(f"{target} exists already; give the name of a new folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    unfinished.mkdir()
    try:
        _copy(folder, unfinished)
        found = _check(unfinished)
        for path in unfinished.iterdir():
            _sync_file(path)
        sync_folder(unfinished)
        if target.exists():
            target.rmdir()
        unfinished.replace(target)
        sync_folder(target.parent)
        return found
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _copy(folder: Path, target: Path) -> None:
    """Copy the journal and the snapshots that it continues.

    Snapshots are opened before the journal is copied, so none is newer than the copy; an open file
    can be read to its end even if the server removes it meanwhile.
    """
    for _ in range(ATTEMPTS):
        with contextlib.ExitStack() as opened:
            files = _open_snapshots(folder, opened)
            stripped = _copy_journal(folder / JOURNAL, target / JOURNAL)
            usable = {seq: file for seq, file in files.items() if seq >= stripped}
            for seq, file in usable.items():
                with (target / snapshot_name(seq)).open("wb") as copy:
                    shutil.copyfileobj(file, copy)
            if usable:
                return
    raise DataFolderError(f"{folder} holds no snapshot that its journal continues.")


def _open_snapshots(folder: Path, opened: contextlib.ExitStack) -> dict[int, IO[bytes]]:
    files: dict[int, IO[bytes]] = {}
    for seq in snapshot_numbers(folder):
        with contextlib.suppress(FileNotFoundError):
            files[seq] = opened.enter_context((folder / snapshot_name(seq)).open("rb"))
    return files


def _copy_journal(source: Path, target: Path) -> int:
    """Copy the journal atomically; return the last update whose features were removed."""
    with readable(source), contextlib.ExitStack() as opened:
        there = opened.enter_context(contextlib.closing(connect(source, "ro")))
        here = opened.enter_context(contextlib.closing(sqlite3.connect(target)))
        there.backup(here)
        found = here.execute("SELECT value FROM facts WHERE name = 'stripped'").fetchone()
        return int(found[0]) if found else 0


def _check(folder: Path) -> tuple[int, int]:
    """Check the copy like a start; return its last update and its newest snapshot."""
    with contextlib.closing(Journal(folder, Retention())) as journal:
        found = Snapshots(folder).newest(journal)
        if found is None:
            raise DataFolderError("The server has not written its first snapshot; try again.")
        for _ in journal.rows_after(found.seq):
            pass
        journal.accept()
        return journal.last, found.seq


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
