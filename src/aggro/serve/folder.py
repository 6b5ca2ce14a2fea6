"""The files of a data folder: names, lock, and errors if they do not belong together."""

from __future__ import annotations

import contextlib
import logging
import re
from pathlib import Path
from typing import IO

JOURNAL = "journal.sqlite"
ACKNOWLEDGED = "acknowledged"
SNAPSHOT = re.compile(r"model-(\d{15})\.aggro")
RESTORE = "Restore the folder from a backup (aggro serve --backup FOLDER makes one)"
log = logging.getLogger("aggro.serve")


class DataFolderError(ValueError):
    """A data folder from which a server cannot start without losing acknowledged updates."""


def snapshot_name(seq: int) -> str:
    """Return the name of the snapshot that contains all updates up to ``seq``."""
    return f"model-{seq:015d}.aggro"


def snapshot_numbers(folder: Path) -> list[int]:
    """Return the sequence numbers of the snapshots in a folder, the oldest first."""
    found = (SNAPSHOT.fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in found if match)


def check_journal_file(folder: Path) -> None:
    """Raise if the journal is missing or empty, but other files of a server exist.

    Call it before SQLite opens the journal: without its database, SQLite drops a write-ahead log.
    """
    journal = folder / JOURNAL
    if _size(journal):
        return
    others = [snapshot_name(seq) for seq in snapshot_numbers(folder)]
    others += [name for name in (f"{JOURNAL}-wal", ACKNOWLEDGED) if _size(folder / name)]
    if others:
        raise lost_journal(folder, f"{journal} is {'empty' if journal.exists() else 'missing'}")


def lost_journal(folder: Path, found: str) -> DataFolderError:
    """Return the error of a folder without a journal."""
    numbers = snapshot_numbers(folder)
    way_out = f" {_way_out(folder, numbers[-1])}" if numbers else ""
    return DataFolderError(
        f"{found}, but {folder} holds other files of a server. The journal holds the updates since "
        f"the last snapshot and the ids of all updates. {RESTORE}.{way_out}"
    )


def too_new(folder: Path, seq: int, last: int) -> DataFolderError:
    """Return the error of a snapshot that is newer than the journal."""
    return DataFolderError(
        f"{folder}: the snapshot {snapshot_name(seq)} holds {seq:,} updates, but the journal ends "
        f"after update {last:,}: the journal is older than the snapshot, or a part of it was lost. "
        f"{RESTORE}. {_way_out(folder, seq)}"
    )


def _way_out(folder: Path, seq: int) -> str:
    return (
        "To continue with the newest snapshot alone, which forgets all ids and all later updates, "
        f"serve it from a new folder: aggro serve {folder / snapshot_name(seq)} --data NEW_FOLDER."
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class Acknowledged:
    """The number of the last acknowledged update and its checksum, in a file beside the journal.

    It is written after each commit and never synced, so it may be behind the journal but is never
    ahead of it. A journal that ends before it has lost updates: SQLite itself silently ignores a
    write-ahead log that was deleted, emptied or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / ACKNOWLEDGED
        with contextlib.suppress(FileExistsError):
            self.path.touch(exist_ok=False)
        self._file = self.path.open("r+b", buffering=0)

    def read(self) -> tuple[int, int] | None:
        """Return the number and the checksum; None if a power cut left nothing to read."""
        self._file.seek(0)
        found = re.fullmatch(rb"(\d{15}) (\d{10})\n", self._file.read())
        return None if found is None else (int(found[1]), int(found[2]))

    def write(self, seq: int, checksum: int) -> None:
        """Write the number and the checksum in one call."""
        try:
            self._file.seek(0)
            self._file.write(b"%015d %010d\n" % (seq, checksum))
        except OSError as error:  # the journal itself is complete
            log.error("%s cannot be written: %s", self.path, error)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


try:
    import fcntl
except ImportError:  # Windows, where SQLite's locks protect the journal
    fcntl = None  # type: ignore[assignment]


def lock(folder: Path) -> IO[bytes]:
    """Lock the folder until the process ends; raise if another server uses it."""
    file = (folder / "lock").open("ab")
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise ValueError(
                f"{folder} is in use by another server; give another --data."
            ) from None
    return file
