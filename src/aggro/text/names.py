"""The words behind hashed columns."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from aggro.learner import Array

MOST_NAMES = 2**18


def listed(state: dict[str, Any]) -> tuple[list[str], Array]:
    """Return the words that a vectoriser remembers, and how often each came."""
    data, ends = state["names"].tobytes(), state["name_ends"].tolist()
    begins = [0, *ends[:-1]]
    words = [data[i:j].decode("utf-8", "surrogatepass") for i, j in zip(begins, ends, strict=True)]
    return words, state["name_counts"]


def hashes_of(words: list[str]) -> Array:
    """Return the hash of each word, as whole numbers with a sign: the column and its sign."""
    from aggro import _core

    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return np.asarray(_core.murmur3(data, ends))


def columns_of(hashes: Array, n_features: int) -> Array:
    """Return the column of each hash."""
    return np.abs(hashes.astype(np.int64)) % n_features


def words_of(state: dict[str, Any], n_features: int) -> dict[int, list[tuple[str, int]]]:
    """Return the words behind each column, most used first, and how often they came."""
    words, counts = listed(state)
    columns = columns_of(hashes_of(words), n_features)
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for i in np.argsort(-counts, kind="stable").tolist():
        found[int(columns[i])].append((words[i], int(counts[i])))
    return dict(found)
