r"""Named arrays and a text in one safetensors file, written atomically and checked when read.

    8 bytes   length n of the header
    n bytes   {"__metadata__":{"sha256":"...","aggro":"..."},"weights":{"dtype":"F64",...},...}
    the rest  the arrays, one after the other

The SHA-256 is that of the whole file with zeros in place of the digest, so any changed bit is
detected. It detects accidents, not forgeries: readers of the arrays must validate them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from aggro.atomic import replacing


class ModelFileError(ValueError):
    """Raised if a model cannot be saved, or a file is not a valid model.

    >>> import aggro
    >>> issubclass(aggro.ModelFileError, ValueError)
    True
    """


Array = NDArray[Any]
LONGEST_HEADER = 100_000_000  # the limit of the safetensors format
START = b'{"__metadata__":{"sha256":"'
DIGEST = slice(len(START), len(START) + 64)
DTYPES = {
    "F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4",
    "I16": "<i2", "U16": "<u2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}


def write(path: str | os.PathLike[str], text: str, arrays: dict[str, Array]) -> None:
    """Write the file atomically: a reader sees the old or the new file."""
    pieces = pieces_of(text, arrays)
    with replacing(path) as stream:
        for piece in pieces:
            stream.write(piece)


def pieces_of(text: str, arrays: dict[str, Array]) -> list[bytes | memoryview]:
    """Return the content of the file, in pieces: the header, then each array."""
    # Wide types come first, so that every array starts at a multiple of its own width.
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    blank = _header(text, dict(ordered))
    digest = hashlib.sha256(_length(blank) + blank)
    for _, array in ordered:
        digest.update(_bytes(array))
    header = blank[: DIGEST.start] + digest.hexdigest().encode() + blank[DIGEST.stop :]
    return [_length(header) + header, *(_bytes(array) for _, array in ordered)]


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, Array]]:
    """Return the text and the arrays; raise ModelFileError if any bit has changed."""
    with Path(path).open("rb") as stream:
        return _read(stream, os.fstat(stream.fileno()).st_size, os.fspath(path))


def parse(content: bytes, name: str) -> tuple[str, dict[str, Array]]:
    """Return the text and the arrays of a file in memory; errors call it ``name``."""
    return _read(io.BytesIO(content), len(content), name)


def _read(stream: IO[bytes], size: int, name: str) -> tuple[str, dict[str, Array]]:
    header = _read_header(stream, size, name)
    data = bytearray(size - 8 - len(header))
    if stream.readinto(data) != len(data) or stream.read(1):  # type: ignore[attr-defined]
        raise ModelFileError(f"{name}: the file changed while it was read; try again.")
    blank = header[: DIGEST.start] + b"0" * 64 + header[DIGEST.stop :]
    digest = hashlib.sha256(_length(blank) + blank)
    digest.update(data)
    if digest.hexdigest().encode() != header[DIGEST]:
        raise ModelFileError(f"{name}: the file is damaged (wrong checksum); save the model again.")
    return _parse(header, data, name)


def _header(text: str, arrays: dict[str, Array]) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"sha256": "0" * 64, "aggro": text}}
    position = 0
    for name, array in arrays.items():
        end = position + array.nbytes
        place = {"shape": list(array.shape), "data_offsets": [position, end]}
        table[name] = {"dtype": NAMES[array.dtype], **place}
        position = end
    header = json.dumps(table, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    if len(header) > LONGEST_HEADER:
        raise ModelFileError(f"The model needs a header of {len(header)} bytes, which is too long.")
    return header


def _length(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little")


def _bytes(array: Array) -> memoryview | bytes:
    return np.ascontiguousarray(array).data.cast("B") if array.size else b""


def _read_header(stream: IO[bytes], size: int, name: str) -> bytes:
    """Read the header; allocate no more than the size of the file."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 or length > min(size - 8, LONGEST_HEADER) or length < DIGEST.stop:
        raise ModelFileError(f"{name}: not a model of aggro, or truncated.")
    header = stream.read(length)
    if not header.startswith(START):
        raise ModelFileError(f"{name}: not a model of aggro.")
    return header


def _parse(header: bytes, data: bytearray, name: str) -> tuple[str, dict[str, Array]]:
    try:
        table = json.loads(header, object_pairs_hook=_unique)
        text = table.pop("__metadata__")["aggro"]
        if not isinstance(text, str):
            raise ModelFileError(f"{name}: the header holds no description of a model.")
        return text, _arrays(table, data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{name}: invalid header ({error}).") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("duplicate name")
    return table


def _arrays(table: dict[str, Any], data: bytearray) -> dict[str, Array]:
    """Return views of the arrays, which together must be exactly the data."""
    arrays, position = {}, 0
    for name, place in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape = np.dtype(DTYPES[place["dtype"]]), place["shape"]
        begin, end = place["data_offsets"]
        whole = all(type(side) is int and 0 <= side <= len(data) + 1 for side in (*shape, end))
        count = 1
        for side in shape if whole and len(shape) <= 2 else [-1]:
            count *= side
        if begin != position or end > len(data) or end - begin != count * dtype.itemsize:
            raise ValueError(f"array {name!r} has the wrong place or size")
        if begin % dtype.itemsize:
            raise ValueError(f"array {name!r} is not aligned")
        arrays[name] = np.frombuffer(data, dtype, count, begin) if count else np.empty(0, dtype)
        arrays[name] = arrays[name].reshape(shape)
        position = end
    if position != len(data):
        raise ValueError("there are bytes that belong to no array")
    return arrays
