"""Names behind hashed columns, as many as fit into a bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from aggro.io import hashing
from aggro.io.options import MOST_HASH_BITS

MOST_NAMES = 1 << 16
LONGEST_NAME = 100  # letters


class Names:
    """The first 65,536 names that were hashed, by their hashes of 30 bits.

    >>> names = Names()
    >>> names.add(hashing.hash_names(["city=Oslo"], MOST_HASH_BITS), lambda i: "city=Oslo")
    >>> list(names), by_column(names, bits=18, first=2)
    (['city=Oslo'], {223139: 'city=Oslo'})
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        listed = list(names)
        keys = hashing.hash_names(listed, MOST_HASH_BITS).tolist() if listed else []
        self.known = dict(zip(keys, listed, strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.known.values())

    def add(self, keys: NDArray[np.int32], name_of: Callable[[int], str]) -> None:
        """Keep the names of new keys; ``name_of`` returns the name at a place of ``keys``."""
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
        columns = hashing.hash_names(listed, bits).tolist()
        for column, name in zip(columns, listed, strict=True):
            found[first + column].append(name)
    return {column: " | ".join(each) for column, each in found.items()}
