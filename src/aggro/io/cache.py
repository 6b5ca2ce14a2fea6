r"""Parsed batches kept in one file, so that later passes need not parse.

AGGROCACHE3\n, then records of (kind, length, checksum of the payload) and payload:
HEAD  JSON: what was read and how; a cache with another head is stale
FIND  JSON: what the first rows say about all of them; before the rows that it was found in
ROWS  one batch, see pack.py; any number of them
DONE  JSON: how the pass went; a cache without it is damaged
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from aggro.atomic import replacing
from aggro.io.batch import Batch, Findings, Report
from aggro.io.errors import BadLine, ReadingError
from aggro.io.names import Names
from aggro.io.native import core
from aggro.io.options import Options
from aggro.io.pack import pack, unpack
from aggro.io.sources import CACHE_SUFFIX, PathLike

MAGIC = b"AGGROCACHE3\n"
FAMILY = b"AGGROCACHE"  # of every version
RECORD = struct.Struct("<4sQQ")


class _Unusable(Exception):
    """The cache is absent, stale or damaged."""


def path_for(cache: PathLike | Literal[True] | None, files: Sequence[str]) -> str | None:
    """Where the cache of these files stands.

    >>> path_for(True, ["data.svm"])
    'data.svm.aggrocache'
    """
    if cache is None:
        return None
    path = files[0] + CACHE_SUFFIX if cache is True else os.fspath(cache)
    _check_place(path, files)
    return path


def _check_place(path: str, files: Sequence[str]) -> None:
    """Refuse to write the cache over anything but a cache."""
    if any(Path(path).exists() and Path(file).exists() and Path(path).samefile(file)
           for file in files):  # fmt: skip
        raise ReadingError(path, "is read, so it cannot be its own cache; name another file")
    if Path(path).is_file() and not path.endswith(CACHE_SUFFIX):
        with Path(path).open("rb") as stream:
            start = stream.read(len(FAMILY))
        if start and start != FAMILY:
            raise ReadingError(
                path, "is a file, but not a cache, and would be lost; name another file for it"
            )


def through(
    path: str,
    files: Sequence[str],
    options: Options,
    report: Report,
    source: Callable[[], Iterator[Batch]],
) -> Generator[Batch, None, None]:
    """Yield the batches of the cache if it is good; else the source's, which renew it."""
    head = _head(files, options)
    n_yielded = 0
    try:
        for batch in _stored(path, head, report):
            n_yielded += 1
            yield batch
        return
    except _Unusable:
        report.n_rows = 0
    for number, batch in enumerate(_storing(path, head, report, source())):
        if number >= n_yielded:  # a cache damaged in its middle has given the first ones already
            yield batch


def _head(files: Sequence[str], options: Options) -> bytes:
    sources = []
    for file in files:
        status = Path(file).stat()
        sources.append([str(Path(file).absolute()), status.st_size, status.st_mtime_ns])
    settings = {name: str(value) for name, value in sorted(dataclasses.asdict(options).items())}
    return json.dumps({"files": sources, "settings": settings}).encode()


def _stored(path: str, head: bytes, report: Report) -> Iterator[Batch]:
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(errno.EINVAL, "a cache must be a file; give another name", path)
    try:
        stream = Path(path).open("rb")  # noqa: SIM115 -- only opening may fail to find it
    except FileNotFoundError as error:
        raise _Unusable from error
    with stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise _Unusable
        kind, payload = _next_record(stream)
        if kind != b"HEAD" or payload.tobytes() != head:
            raise _Unusable
        while True:
            kind, payload = _next_record(stream)
            if kind == b"DONE":
                _restore(report, json.loads(payload.tobytes()))
                return
            if kind == b"FIND":
                report.found = Findings(**json.loads(payload.tobytes()))
                continue
            if kind != b"ROWS":
                raise _Unusable
            batch = unpack(payload)
            report.n_rows += batch.n_rows
            yield batch


def _next_record(stream: IO[bytes]) -> tuple[bytes, memoryview]:
    start = stream.read(RECORD.size)
    if len(start) < RECORD.size:
        raise _Unusable
    kind, length, checksum = RECORD.unpack(start)
    if length > os.fstat(stream.fileno()).st_size:  # a damaged one must not ask for all the memory
        raise _Unusable
    payload = np.empty(length, np.uint8).data  # writable, as the arrays of a first pass are
    if stream.readinto(payload) != length:  # type: ignore[attr-defined]
        raise _Unusable
    if core().checksum(payload) != checksum:
        raise _Unusable
    return kind, payload


def _storing(path: str, head: bytes, report: Report, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Pass the batches on and write them; the file appears when the pass is complete."""
    with replacing(path) as stream:
        stream.write(MAGIC)
        _write_record(stream, b"HEAD", head)
        written = b""
        for batch in batches:
            found = json.dumps(dataclasses.asdict(report.found)).encode()
            if found != written:
                _write_record(stream, b"FIND", found)
                written = found
            _write_record(stream, b"ROWS", pack(batch))
            yield batch
        _write_record(stream, b"DONE", json.dumps(_facts(report)).encode())


def _write_record(stream: IO[bytes], kind: bytes, payload: bytes | bytearray) -> None:
    checksum = core().checksum(np.frombuffer(payload, np.uint8))
    stream.write(RECORD.pack(kind, len(payload), checksum))
    stream.write(payload)


FACTS = ("n_bad", "n_features", "n_initials")


def _facts(report: Report) -> dict[str, Any]:
    bad_lines = [bad.parts() for bad in report.bad_lines]
    named = list(report.names)
    return {
        "bad_lines": bad_lines,
        "names": named,
        **{name: getattr(report, name) for name in FACTS},
    }


def _restore(report: Report, facts: dict[str, Any]) -> None:
    report.bad_lines = [BadLine.rebuilt(*parts) for parts in facts["bad_lines"]]
    report.names = Names(facts["names"])
    for name in FACTS:
        setattr(report, name, facts[name])
