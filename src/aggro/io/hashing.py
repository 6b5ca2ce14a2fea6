"""Hashed columns of strings, by the hash of Vowpal Wabbit, and the names behind the columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import _core
from aggro.io.options import MOST_HASH_BITS

MOST_NAMES = 1 << 16
LONGEST_NAME = 100  # letters
Buffers = tuple[NDArray[np.uint8], NDArray[Any]]


def hash_names(names: Sequence[str], bits: int = 18) -> NDArray[np.int32]:
    """Return the column of each name among 2**bits: MurmurHash3, but digits are their own number.

    >>> from aggro.io import hash_names
    >>> hash_names(["price", "7"]).tolist()
    [229902, 7]
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return hash_strings(buffers_of(encoded), "", bits)


def hash_strings(strings: Buffers, prefix: str, bits: int) -> NDArray[np.int32]:
    """Return the column of prefix + string for each string."""
    indices: NDArray[np.int32] = _core.hash_strings(*strings, prefix, bits)
    return indices


def count_words(
    strings: Buffers, prefix: str, bits: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count prefix + word in each string: indptr, indices, counts."""
    indptr, indices, counts = _core.hash_words(*strings, prefix, bits)
    return indptr, indices, counts


def lowered(strings: Buffers) -> Buffers:
    """Return strings in lower case, each letter independently of its position.

    >>> data, offsets = lowered(buffers_of(["ÀB".encode(), b"c"]))
    >>> data.tobytes().decode(), offsets.tolist()
    ('àbc', [0, 3, 4])
    """
    data, offsets = strings
    used = data[offsets[0] : offsets[-1]] if len(offsets) else data[:0]
    if not np.any(used & 0x80):
        capital = (data >= ord("A")) & (data <= ord("Z"))
        return data + (capital * np.uint8(32)), offsets
    whole = data.tobytes()
    return buffers_of(
        [
            lower(whole[i:j].decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
            for i, j in pairwise(offsets.tolist())
        ]
    )


def lower(text: str) -> str:
    """Return a text in lower case, each letter independently; str.lower depends on the position.

    >>> lower("ΟΔΟΣ"), len(lower("İ"))
    ('οδοσ', 1)
    """
    return text.replace("Σ", "σ").replace("İ", "i").lower()


def buffers_of(encoded: list[bytes]) -> Buffers:
    """Return encoded strings in the layout of Arrow: all bytes, and offsets.

    >>> buffers_of([b"a", b"bc"])[1].tolist()
    [0, 1, 3]
    """
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(each) for each in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


class Names:
    """The first 65,536 names that were hashed, by their hashes of 30 bits.

    >>> names = Names()
    >>> names.add(hash_names(["city=Oslo"], MOST_HASH_BITS), lambda i: "city=Oslo")
    >>> list(names), by_column(names, bits=18, first=2)
    (['city=Oslo'], {223139: 'city=Oslo'})
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        listed = list(names)
        keys = hash_names(listed, MOST_HASH_BITS).tolist() if listed else []
        self.known = dict(zip(keys, listed, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.known.values())

    def add(self, keys: NDArray[np.int32], name_of: Callable[[int], str]) -> None:
        """Keep the names of new keys; ``name_of(i)`` returns the name of ``keys[i]``."""
        if len(self.known) >= MOST_NAMES:
            return
        distinct, places = np.unique(keys, return_index=True)
        for key, place in zip(distinct.tolist(), places.tolist(), strict=True):
            if key not in self.known and len(self.known) < MOST_NAMES:
                name = name_of(place)
                if len(name) <= LONGEST_NAME:
                    self.known[key] = name


def by_column(names: Iterable[str], bits: int, first: int) -> dict[int, str]:
    """Return the names by their columns, of which the ``first`` is that of hash 0.

    Names that share a column are joined by " | ".
    """
    listed = list(names)
    found: dict[int, list[str]] = defaultdict(list)
    if listed:
        columns = hash_names(listed, bits).tolist()
        for column, name in zip(columns, listed, strict=True):
            found[first + column].append(name)
    return {column: " | ".join(each) for column, each in found.items()}
