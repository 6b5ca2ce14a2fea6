r"""Parsed batches kept in one file, so that later passes need not parse.

AGGROCACHE2\n, then records of (kind, length, checksum of the payload) and payload:
HEAD  JSON: what was read and how; a cache with another head is stale
ROWS  one batch, see pack.py; any number of them
DONE  JSON: what the pass found out; a cache without it is damaged
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from aggro.atomic import replacing
from aggro.files.batch import Batch, Report
from aggro.files.errors import BadLine
from aggro.files.native import core
from aggro.files.options import Options
from aggro.files.pack import pack, unpack
from aggro.files.sources import PathLike

MAGIC = b"AGGROCACHE2\n"
RECORD = struct.Struct("<4sQQ")
SUFFIX = ".aggrocache"


class _Unusable(Exception):
    """The cache is absent, stale or damaged."""


def path_for(cache: PathLike | Literal[True] | None, files: Sequence[str]) -> str | None:
    """Where the cache of these files stands.

    >>> path_for(True, ["data.svm"])
    'data.svm.aggrocache'
    """
    if cache is None:
        return None
    return files[0] + SUFFIX if cache is True else os.fspath(cache)


def through(
    path: str,
    files: Sequence[str],
    options: Options,
    report: Report,
    source: Callable[[], Iterator[Batch]],
) -> Iterator[Batch]:
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
        for batch in batches:
            _write_record(stream, b"ROWS", pack(batch))
            yield batch
        _write_record(stream, b"DONE", json.dumps(_facts(report)).encode())


def _write_record(stream: IO[bytes], kind: bytes, payload: bytes | bytearray) -> None:
    checksum = core().checksum(np.frombuffer(payload, np.uint8))
    stream.write(RECORD.pack(kind, len(payload), checksum))
    stream.write(payload)


def _facts(report: Report) -> dict[str, Any]:
    facts = {
        name: getattr(report, name) for name in ("n_bad", "n_features", "zero_based", "labels")
    }
    facts["bad_lines"] = [
        [bad.file, bad.line, bad.message, bad.column, bad.unit] for bad in report.bad_lines
    ]
    return facts


def _restore(report: Report, facts: dict[str, Any]) -> None:
    bad_lines = facts.pop("bad_lines")
    for name, value in facts.items():
        setattr(report, name, value)
    report.bad_lines = [
        BadLine(file, line, message, column=column, unit=unit)
        for file, line, message, column, unit in bad_lines
    ]
