"""Names and words to columns, by the hash Vowpal Wabbit uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.native import core
from aggro.io.strings import Buffers, buffers_of


def hash_names(names: Sequence[str], bits: int = 18) -> NDArray[np.int32]:
    """Return the column of each name among 2**bits: MurmurHash3, but digits are their own number.

    >>> from aggro.io import hash_names
    >>> hash_names(["price", "7"]).tolist()
    [229902, 7]
    """
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    return hash_strings(buffers_of(encoded), "", bits)


def hash_strings(strings: Buffers, prefix: str, bits: int) -> NDArray[np.int32]:
    """Return the column of prefix + string, for each string."""
    indices: NDArray[np.int32] = core().hash_strings(*strings, prefix, bits)
    return indices


def count_words(
    strings: Buffers, prefix: str, bits: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Count prefix + word in each string: indptr, indices, counts."""
    indptr, indices, counts = core().hash_words(*strings, prefix, bits)
    return indptr, indices, counts
