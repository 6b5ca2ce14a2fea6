"""One server for one folder: a lock that the system lets go of when the process ends."""

from __future__ import annotations

from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: SQLite's own locks keep the journal whole
    fcntl = None  # type: ignore[assignment]


def lock(folder: Path) -> IO[bytes]:
    """Take the folder; raise if another server has it."""
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
