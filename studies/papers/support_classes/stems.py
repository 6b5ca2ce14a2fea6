"""Porter's stems, as UCD used them, by the library of the Snowball project."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    found: str = _stemmer().stemWord(word)
    return found


@cache
def _stemmer() -> Any:
    from snowballstemmer import stemmer

    return stemmer("porter")
