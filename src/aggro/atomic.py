"""Atomic file replacement; the only module that opens files for writing.

- A regular or new file is written beside its path and renamed when complete. It keeps the mode and
  the owner of the file that it replaces; links are followed.
- A pipe, a character device or an open file, such as ``/dev/stdout``, is written directly.
- Anything else, such as a folder, a socket or a disk, is rejected.

Errors name the given path, not the temporary file.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

OPEN_FILES = ("/proc/", "/dev/fd")
MOST_LINKS = 40  # limit of Linux
PathLike = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a path for writing; the old content stays until the new content is complete."""
    if check_writable(path):
        with io.BufferedWriter(_Raw(path, path)) as stream:
            yield stream
        return
    target = Path(path).resolve()  # keep a link
    unfinished = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")
    try:
        with io.BufferedWriter(_Raw(_create(unfinished, target, path), path)) as stream:
            yield stream
            stream.flush()
            _named(path, os.fsync, stream.fileno())
        _named(path, unfinished.replace, target)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    sync_folder(target.parent)


@contextlib.contextmanager
def replacing_text(path: PathLike) -> Iterator[IO[str]]:
    """Open a path for writing text, as ``replacing`` does."""
    with replacing(path) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        try:
            yield stream
            stream.flush()
        finally:
            with contextlib.suppress(OSError):  # of a broken pipe, which was reported already
                stream.detach()


def check_writable(path: PathLike) -> bool:
    """Raise an OSError unless the path can be written; return whether it is written directly.

    Call this before long work.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 -- of a path in any form
    except (FileNotFoundError, NotADirectoryError):
        mode = stat.S_IFREG
    else:
        if not os.access(path, os.W_OK):
            raise _refusal(errno.EACCES, "the file may not be written", path)
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or _is_open_already(path):
        return True
    if stat.S_ISDIR(mode):
        raise _refusal(errno.EISDIR, "it is a folder; give the name of a file", path)
    if not stat.S_ISREG(mode):
        raise _refusal(errno.EINVAL, "it is neither a file nor a pipe; give another name", path)
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise _refusal(errno.ENOENT, f"there is no folder {folder}; make it first", path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refusal(errno.EACCES, f"the folder {folder} may not be written", path)
    return False


def _is_open_already(path: PathLike) -> bool:
    """Return whether a path is an open file, such as /dev/stdout or /dev/fd/3."""
    place = os.path.abspath(path)  # noqa: PTH100 -- links are followed one by one
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(os.path.dirname(place))  # noqa: PTH120 -- a text, like place
        if folder.startswith(OPEN_FILES):
            return True
        if not Path(place).is_symlink():
            return False
        place = os.path.join(folder, Path(place).readlink())  # noqa: PTH118 -- a text, like place
    return False


def _refusal(code: int, why: str, path: PathLike) -> OSError:
    return OSError(code, why, os.fspath(path))


class _Raw(io.FileIO):
    """An open file whose errors name the given path."""

    def __init__(self, file: PathLike | int, path: PathLike) -> None:
        super().__init__(file, "a")
        self.path = path

    def write(self, data: Any) -> Any:
        return _named(self.path, super().write, data)


def _named(path: PathLike, act: Any, *arguments: Any) -> Any:
    """Apply a function to a file; errors name the given path."""
    try:
        return act(*arguments)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _create(unfinished: Path, target: Path, path: PathLike) -> int:
    """Create the unfinished file, with the owner and the mode of the one it will replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        old = target.stat()
    except FileNotFoundError:
        return int(_named(path, os.open, unfinished, flags, 0o666))  # masked by the umask
    handle = int(_named(path, os.open, unfinished, flags, 0o600))  # private until its mode is set
    if os.name == "posix":
        _own(handle, old)
        os.fchmod(handle, old.st_mode & 0o777)
    return handle


def _own(handle: int, old: os.stat_result) -> None:
    """Set the owner and the group of a file to those of another, if permitted."""
    new = os.fstat(handle)
    for owner, group in ((old.st_uid, -1), (-1, old.st_gid)):
        if owner not in (-1, new.st_uid) or group not in (-1, new.st_gid):
            with contextlib.suppress(PermissionError):
                os.fchown(handle, owner, group)


def sync_folder(folder: Path) -> None:
    """Flush the folder, so that the new name survives a crash; only on POSIX and if readable."""
    if os.name != "posix":
        return
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
