r"""Parsed batches in one file, so that later passes do not parse again.

AGGROCACHE3\n, then records of (kind, length, checksum of the payload) and payload:
HEAD  JSON: what was read and how; a cache with another head is stale
FIND  JSON: what the first rows determine for all; before the rows that it was found in
ROWS  one batch: a JSON list of its arrays, then the arrays, each at a multiple of 64 bytes
DONE  JSON: the counts of the pass; a cache without it is damaged
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from aggro import _core
from aggro.atomic import replacing
from aggro.io.batch import Batch, Findings, Report, SparseRows
from aggro.io.options import BadLine, Options, ReadingError
from aggro.io.sources import CACHE_SUFFIX, PathLike
from aggro.io.strings import Names

ALIGNMENT = 64
LENGTH = struct.Struct("<I")


def pack(batch: Batch) -> bytearray:
    """Serialise a batch.

    >>> packed = pack(Batch(np.eye(2), [(1.0,), (1.0, 2.0)], None))
    >>> unpack(memoryview(packed)).y
    [(1.0,), (1.0, 2.0)]
    """
    arrays = _arrays_of(batch)
    facts = {
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        "n_features": batch.X.shape[1],
        "sorted": "X" in arrays or batch.X.is_sorted,
    }
    head = json.dumps(facts).encode()
    packed = bytearray(LENGTH.pack(len(head)) + head)
    for array in arrays.values():
        packed += bytes(-len(packed) % ALIGNMENT)
        packed += np.ascontiguousarray(array).data.cast("B") if array.size else b""
    return packed


def unpack(packed: memoryview) -> Batch:
    """Deserialise a batch; its arrays are views of the bytes.

    Of bytes, not of an array: scipy copies what is a small part of a larger array.
    """
    (length,) = LENGTH.unpack_from(packed)
    facts = json.loads(packed[LENGTH.size : LENGTH.size + length].tobytes())
    position = LENGTH.size + length
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in facts["arrays"]:
        position += -position % ALIGNMENT
        dtype, size = np.dtype(kind), int(np.prod(shape))
        arrays[name] = (
            np.frombuffer(packed, dtype, size, position).reshape(shape)
            if size
            else np.empty(shape, dtype)
        )
        position += size * dtype.itemsize
    X: Any = arrays.get("X")
    if X is None:
        values, indices, indptr = arrays["values"], arrays["indices"], arrays["indptr"]
        shape = (len(indptr) - 1, facts["n_features"])
        X = SparseRows(values, indices, indptr, shape, is_sorted=facts["sorted"])
    return Batch(X, _labels_of(arrays), arrays.get("weights"))


def _arrays_of(batch: Batch) -> dict[str, NDArray[Any]]:
    X, y, weights = batch
    arrays = (
        {"X": X}
        if isinstance(X, np.ndarray)
        else {"values": X.data, "indices": X.indices, "indptr": X.indptr}
    )
    if isinstance(y, list):
        arrays["label_values"] = np.array([label for row in y for label in row])
        arrays["label_begin"] = np.cumsum([0, *(len(row) for row in y)])
    elif y is not None:
        arrays["y"] = y
    if weights is not None:
        arrays["weights"] = weights
    return arrays


def _labels_of(arrays: dict[str, NDArray[Any]]) -> Any:
    begin = arrays.get("label_begin")
    if begin is None:
        return arrays.get("y")
    values = arrays["label_values"].tolist()
    return [tuple(values[start:stop]) for start, stop in pairwise(begin.tolist())]


MAGIC = b"AGGROCACHE3\n"
FAMILY = b"AGGROCACHE"  # of every version
RECORD = struct.Struct("<4sQQ")


class _Unusable(Exception):
    """The cache is absent, stale or damaged."""


def path_for(cache: PathLike | Literal[True] | None, files: Sequence[str]) -> str | None:
    """Return the path of the cache of some files.

    >>> path_for(True, ["data.svm"])
    'data.svm.aggrocache'
    """
    if cache is None:
        return None
    path = files[0] + CACHE_SUFFIX if cache is True else os.fspath(cache)
    _check_place(path, files)
    return path


def _check_place(path: str, files: Sequence[str]) -> None:
    """Raise if the cache would overwrite a file that is no cache."""
    if any(Path(path).exists() and Path(file).exists() and Path(path).samefile(file)
           for file in files):  # fmt: skip
        raise ReadingError(path, "is a data file, so it cannot be the cache; name another file")
    if Path(path).is_file() and not path.endswith(CACHE_SUFFIX):
        with Path(path).open("rb") as stream:
            start = stream.read(len(FAMILY))
        if start and start != FAMILY:
            raise ReadingError(path, "is not a cache and would be overwritten; name another file")


def through(
    path: str,
    files: Sequence[str],
    options: Options,
    report: Report,
    source: Callable[[], Iterator[Batch]],
) -> Generator[Batch, None, None]:
    """Yield the batches of a valid cache, or those of the source, and write them to the cache."""
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
        if number >= n_yielded:  # the first ones were read from a damaged cache
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
    if length > os.fstat(stream.fileno()).st_size:  # a damaged length must not allocate it
        raise _Unusable
    payload = np.empty(length, np.uint8).data  # writable, as the arrays of a first pass are
    if stream.readinto(payload) != length:  # type: ignore[attr-defined]
        raise _Unusable
    if _core.checksum(np.frombuffer(payload, np.uint8)) != checksum:
        raise _Unusable
    return kind, payload


def _storing(path: str, head: bytes, report: Report, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Write and yield the batches; the file is replaced when the pass is complete."""
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
    checksum = _core.checksum(np.frombuffer(payload, np.uint8))
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
    report.bad_lines = [BadLine.from_parts(*parts) for parts in facts["bad_lines"]]
    report.names = Names(facts["names"])
    for name in FACTS:
        setattr(report, name, facts[name])
