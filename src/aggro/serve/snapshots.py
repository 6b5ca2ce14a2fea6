"""Snapshots: model files named by the last example that they hold.

A file gets its name only when all of it is on the disk (``aggro.atomic``). Two are kept: should
the newest be damaged by the disk itself, the one before and the journal make the same model.

All that belongs to a snapshot is in its file, so that a crash cannot separate it: besides the
model, its notes hold the checksum of the journal at this example, the totals of the evaluation,
and the rejected examples that the journal may not know of yet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from aggro.atomic import sync_folder
from aggro.persistence import ModelFileError
from aggro.persistence.record import DAMAGED, Record, read_record, write_record
from aggro.persistence.store import model_of
from aggro.serve.folder import (
    RESTORE,
    DataFolderError,
    snapshot_name,
    snapshot_numbers,
    too_new,
)
from aggro.serve.journal import Journal
from aggro.serve.tallies import Totals

KEPT = 2
log = logging.getLogger("aggro.serve")


class Notes(msgspec.Struct):
    """What a snapshot holds besides the model."""

    checksum: int  # of the journal, up to the last example of the snapshot
    totals: Totals
    rejected: dict[str, str]  # by sequence number: why


class Snapshot(msgspec.Struct):
    """A snapshot that was read."""

    seq: int
    model: Any
    notes: Notes


class Snapshots:
    """The snapshots of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, seq: int) -> Path:
        """Return the file that holds all examples up to this one."""
        return self.folder / snapshot_name(seq)

    def write(self, frozen: Callable[[], Record], seq: int, notes: Notes) -> int:
        """Write a snapshot; return the number up to which all kept snapshots hold the examples."""
        record = frozen()
        record.notes = msgspec.to_builtins(notes)
        write_record(record, self.path(seq))
        kept = snapshot_numbers(self.folder)[-KEPT:]
        return kept[0] if len(kept) == KEPT else 0

    def remove_old(self) -> None:
        """Remove all but the newest ones."""
        for seq in snapshot_numbers(self.folder)[:-KEPT]:
            self.path(seq).unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Remove what an interrupted writing left behind; call it before anything is written."""
        for path in self.folder.glob(".model-*.tmp"):
            path.unlink(missing_ok=True)

    def newest(self, journal: Journal) -> Snapshot | None:
        """Return the newest snapshot that can be read; None if nothing was ever learned.

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
        """Read a snapshot; raise ModelFileError unless all of it is as it was written."""
        path = self.path(seq)
        record = read_record(path)
        try:
            return Snapshot(seq, model_of(record), msgspec.convert(record.notes, Notes))
        except (*DAMAGED, msgspec.ValidationError) as error:
            raise ModelFileError(f"{path}: it is no snapshot of a server: {error}") from error

    def _set_aside(self, damaged: list[int]) -> None:
        for seq in damaged:
            path = self.path(seq)
            path.replace(path.with_name(f"{path.name}.damaged"))
        if damaged:
            sync_folder(self.folder)
