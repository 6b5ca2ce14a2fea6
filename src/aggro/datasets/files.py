"""The table of data sets, and their files: local, cached or downloaded."""

from __future__ import annotations

import bz2
import csv
import functools
import hashlib
import io
import lzma
import os
import sys
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from aggro.atomic import replacing
from aggro.checks import near

TABLE = Path(__file__).with_name("sets.tsv")
BYTES_AT_ONCE = 1 << 16
TIMEOUT = 30.0
BROKEN = (OSError, EOFError, ValueError, KeyError, lzma.LZMAError, zipfile.BadZipFile)


# -- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    r"""One file of a set.

    ``order`` is "time" for rows in time order, "class" for rows sorted by class, which must be
    shuffled, "-" if unknown. ``kind`` is "svmlight", or "text": a label, a tab and a text on each
    line, "escaped text" with ``\n``, ``\t``, ``\r`` and ``\\`` for the characters they stand for.
    ``address`` is the public address, "-" if none is reliable.

    Examples
    --------
    >>> from aggro import datasets
    >>> source = datasets.describe("a9a")
    >>> source.task, source.features
    ('binary', 123)
    """

    name: str
    part: str
    task: Literal["binary", "multiclass", "regression"]
    order: Literal["time", "class", "-"]
    kind: Literal["svmlight", "text", "escaped text"]
    rows: int
    features: int
    file: str
    sha256: str
    unpacked_sha256: str
    address: str


def read_table(path: Path = TABLE) -> dict[str, list[Source]]:
    """Return the files of each set."""
    found: dict[str, list[Source]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            numbers = {"rows": int(row["rows"]), "features": int(row["features"])}
            source = Source(**cast("dict[str, str]", row) | numbers)  # type: ignore[arg-type]
            found.setdefault(source.name, []).append(source)
    return found


@functools.lru_cache(maxsize=1)
def table() -> dict[str, list[Source]]:
    """Return the table of the package."""
    return read_table()


def names(task: str | None = None) -> list[str]:
    """Return the names of all sets, or of those of one task.

    >>> from aggro.datasets import names
    >>> names("regression")[:2]
    ['abalone', 'airfoil']
    """
    return [name for name, files in table().items() if task in (None, files[0].task)]


def files_of(name: str) -> list[Source]:
    """Return the files of a set, the training file first."""
    if name not in table():
        hint = near(name, list(table()))
        raise ValueError(f"There is no data set {name!r}.{hint} datasets.names() lists them all.")
    return table()[name]


def describe(name: str) -> Source:
    """Return the description of a set: task, order, size, file and address of its first part.

    >>> from aggro.datasets import describe
    >>> describe("letter").task
    'multiclass'
    """
    return next(source for source in files_of(name) if source.part == "train")


# -- files --------------------------------------------------------------------------------------


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
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as file:
        file.write(_pack_as(target, contents))
    return target


def _pack_as(target: Path, contents: bytes) -> bytes:
    if target.suffix == ".bz2":
        return bz2.compress(contents)
    return lzma.compress(contents) if target.suffix == ".xz" else contents


def _read_address(address: str, title: str) -> bytes:
    pieces = []
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        progress = _Progress(title, int(answer.headers.get("Content-Length") or 0))
        while piece := answer.read(BYTES_AT_ONCE):
            pieces.append(piece)
            progress.add(len(piece))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return b"".join(pieces)


class _Progress:
    """A line on a terminal, updated a few times a second."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.shown = title, total, 0, 0.0

    def add(self, count: int) -> None:
        self.done += count
        complete = self.done == self.total
        if not sys.stderr.isatty() or (time.monotonic() - self.shown < 0.2 and not complete):
            return
        self.shown = time.monotonic()
        of = f" of {self.total / 1e6:.1f}" if self.total else ""
        print(f"\r{self.title}: {self.done / 1e6:.1f}{of} MB", end="", file=sys.stderr, flush=True)
