"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file beside the path that takes its place when all is on the disk."""
    target = Path(path).resolve()  # a link stays a link
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with unfinished.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            unfinished.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; only POSIX can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
