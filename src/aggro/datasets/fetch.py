"""Finding and downloading files: the folder of AGGRO_DATA, the cache, the public address."""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aggro.datasets.table import Source

BYTES_AT_ONCE = 1 << 16
TIMEOUT = 30.0
BROKEN = (OSError, EOFError, ValueError, KeyError, lzma.LZMAError, zipfile.BadZipFile)


class DataError(OSError):
    """Raised if a data set is unavailable: not found, no network, or a wrong file.

    Examples
    --------
    >>> from aggro.datasets import DataError
    >>> issubclass(DataError, OSError)
    True
    """


def cache_folder() -> Path:
    """Return the folder of downloads: ``$XDG_CACHE_HOME/aggro``, or ``~/.cache/aggro``.

    Examples
    --------
    >>> from aggro.datasets import cache_folder
    >>> cache_folder().name
    'aggro'
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "aggro"


def find(source: Source) -> Path:
    """Return the path of a file, downloading it to the cache if necessary."""
    own = os.environ.get("AGGRO_DATA")
    for folder in ([Path(own)] if own else []) + [cache_folder()]:
        for path in (folder / source.file, folder / Path(source.file).name):
            if path.is_file():
                return check(path, source)
    return download(source, cache_folder() / source.file)


def check(path: Path, source: Source) -> Path:
    """Return the path if the file has the checksum of the table; its compression may differ."""
    packed = path.read_bytes()
    if hashlib.sha256(packed).hexdigest() == source.sha256:
        return path
    found = _hash_unpacked(packed)
    if found == source.unpacked_sha256:
        return path
    raise DataError(
        f"{path} is not the file of {source.name!r}: its contents have the sha256 {found[:16]}…, "
        f"not {source.unpacked_sha256[:16]}…. It may be cut short or another version: remove it."
    )


def _hash_unpacked(packed: bytes) -> str:
    try:
        return hashlib.sha256(unpack(packed)).hexdigest()
    except BROKEN:
        return hashlib.sha256(packed).hexdigest()


def unpack(packed: bytes, member: str = "") -> bytes:
    """Return the bytes inside bz2, xz or (one member of) zip, detected by their first bytes."""
    if packed.startswith(b"BZh"):
        return bz2.decompress(packed)
    if packed.startswith(b"\xfd7zXZ\0"):
        return lzma.decompress(packed)
    if packed.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            return archive.read(member)
    return packed


def download(source: Source, target: Path) -> Path:
    """Fetch a file from its public address, check it and keep it at the target."""
    place = f"put it at $AGGRO_DATA/{source.file}, AGGRO_DATA being a folder of your own"
    if source.address == "-":
        raise DataError(
            f"The data set {source.name!r} is not here, and its file has no public address that is "
            f"certain to hold the same bytes. If you have it, {place}."
        )
    address, _, member = source.address.partition("#")
    try:
        packed = _read_address(address, source.name)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"The data set {source.name!r} is not here and cannot be fetched from {address} "
            f"({reason}). Without a network, fetch it elsewhere and {place}."
        ) from error
    try:
        contents = unpack(packed, member)
    except BROKEN as error:
        raise DataError(f"What {address} sent cannot be unpacked ({error}).") from error
    if hashlib.sha256(contents).hexdigest() != source.unpacked_sha256:
        raise DataError(
            f"What {address} sent is not the file that {source.name!r} was: its sha256 differs, so "
            f"results would not compare. Nothing was kept. If you have the file, {place}."
        )
    _keep(_pack_as(target, contents), target)
    return target


def _pack_as(target: Path, contents: bytes) -> bytes:
    if target.suffix == ".bz2":
        return bz2.compress(contents)
    return lzma.compress(contents) if target.suffix == ".xz" else contents


def _keep(packed: bytes, target: Path) -> None:
    """Write atomically, since several processes may download the same file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".part-")
    with os.fdopen(handle, "wb") as part:
        part.write(packed)
    Path(name).replace(target)


def _read_address(address: str, title: str) -> bytes:
    pieces = []
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        total = int(answer.headers.get("Content-Length") or 0)
        with _bar(title, total) as advance:
            while piece := answer.read(BYTES_AT_ONCE):
                pieces.append(piece)
                advance(len(piece))
    return b"".join(pieces)


@contextmanager
def _bar(title: str, total: int) -> Iterator[Any]:
    """Show the progress of a download, with rich if it is installed."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        yield _PlainBar(title, total)
        print(file=sys.stderr)
        return
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total or None)
        yield lambda count: progress.advance(task, count)


class _PlainBar:
    """A progress line on stderr, updated a few times a second."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.shown = title, total, 0, 0.0

    def __call__(self, count: int) -> None:
        self.done += count
        if time.monotonic() - self.shown < 0.2 and self.done != self.total:
            return
        self.shown = time.monotonic()
        of = f" of {self.total / 1e6:.1f}" if self.total else ""
        print(f"\r{self.title}: {self.done / 1e6:.1f}{of} MB", end="", file=sys.stderr, flush=True)
