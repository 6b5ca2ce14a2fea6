"""Consistent copies of a data folder, whether or not a server is using it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
from pathlib import Path
from typing import IO

from aggro.atomic import sync_folder
from aggro.serve.config import Retention
from aggro.serve.folder import JOURNAL, DataFolderError, snapshot_name, snapshot_numbers
from aggro.serve.journal import Journal, connect, readable
from aggro.serve.snapshots import Snapshots

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
