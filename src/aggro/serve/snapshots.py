"""Snapshots: model files named by the last example that they hold.

A file gets its name only when all of it is on the disk (``aggro.atomic``). Two are kept: should
the newest be damaged by the disk itself, the one before and the journal make the same model.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aggro.models import ModelFileError, load
from aggro.models.record import Record, write_record

KEPT = 2
NAME = re.compile(r"model-(\d{15})\.aggro")
log = logging.getLogger("aggro.serve")


class Snapshots:
    """The snapshots of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, seq: int) -> Path:
        """Return the file that holds all examples up to this one."""
        return self.folder / f"model-{seq:015d}.aggro"

    def numbers(self) -> list[int]:
        """Return the sequence numbers of the snapshots there are, the oldest first."""
        found = (NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def write(self, frozen: Callable[[], Record], seq: int) -> int:
        """Write a snapshot; return the number up to which all kept snapshots hold the examples."""
        write_record(frozen(), self.path(seq))
        kept = self.numbers()[-KEPT:]
        return kept[0] if len(kept) == KEPT else 0

    def remove_old(self) -> None:
        """Remove all but the newest ones."""
        for seq in self.numbers()[:-KEPT]:
            self.path(seq).unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Remove what an interrupted writing left behind; call it before anything is written."""
        for path in self.folder.glob(".model-*.tmp"):
            path.unlink(missing_ok=True)

    def newest(self, least: int, last: int) -> tuple[int, Any] | None:
        """Return the newest snapshot that can be read and its number; None if all is new.

        The journal has lessons up to ``last``, and features of those after ``least`` alone.
        """
        numbers = self.numbers()
        for seq in reversed(numbers):
            if seq < least:
                break
            try:
                return seq, load(self.path(seq))
            except (ModelFileError, OSError) as error:
                log.error("a snapshot is damaged and is passed over: %s", error)
        if numbers or last:
            raise ModelFileError(
                f"{self.folder}: no snapshot can be read that the journal continues; bring the "
                "folder back from a backup."
            )
        return None
