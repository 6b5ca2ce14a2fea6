"""Names and words to columns, by the hash Vowpal Wabbit uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.files.native import core


def hash_names(names: Sequence[str], bits: int = 18) -> NDArray[np.int32]:
    """Return the column of each name among 2**bits: MurmurHash3, but digits are their own number.

    >>> hash_names(["price", "7"]).tolist()
    [229902, 7]
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(name) for name in encoded], out=offsets[1:])
    indices: NDArray[np.int32] = core().hash_strings(_bytes(b"".join(encoded)), offsets, "", bits)
    return indices


def hash_strings(column: Any, prefix: str, bits: int) -> NDArray[np.int32]:
    """Return the column of prefix + string, for each string of an Arrow array."""
    indices: NDArray[np.int32] = core().hash_strings(*string_buffers(column), prefix, bits)
    return indices


def count_words(
    column: Any, prefix: str, bits: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count prefix + word in each string of an Arrow array: indptr, indices, counts."""
    indptr, indices, counts = core().hash_words(*string_buffers(column), prefix, bits)
    return indptr, indices, counts


def parse_numbers(column: Any) -> NDArray[np.float64]:
    """Return the number in each string of an Arrow array, NaN where there is none."""
    numbers: NDArray[np.float64] = core().parse_numbers(*string_buffers(column))
    return numbers


def string_buffers(column: Any) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the bytes and offsets of an Arrow string or large_string array, as views."""
    _, offsets, data = column.buffers()
    kind: Any = np.int64 if str(column.type).startswith("large_") else np.int32
    if offsets is None:
        return _bytes(b""), np.zeros(len(column) + 1, kind)
    begin = np.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
    return _bytes(data if data is not None else b""), begin


def _bytes(data: Any) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
