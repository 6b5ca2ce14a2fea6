"""Properties of all characters, from the running Python, for the core.

Python's Unicode grows with its versions. With the properties of the interpreter instead of a table,
words are split exactly as its ``re`` splits them. This takes some hundredths of a second, once.
"""

from __future__ import annotations

import re

import numpy as np

from aggro import _core

CHARACTERS = 0x110000
WORD, SPACE, CAPITAL, CASED, IGNORABLE = 1, 2, 4, 8, 16  # as in core/text/letters.hpp
# All letters, spaces and marks; the planes between and behind these are empty or private.
USED = ((0, 0x40000), (0xE0000, 0xE1000))
SPECIAL = {0x130: "i", 0x3A3: "\u03c3"}  # their lower case is more than one character, or varies
SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2


def load() -> None:
    """Pass the properties of every character to the core."""
    kinds = np.zeros(CHARACTERS, np.uint8)
    lower = np.arange(USED[0][1], dtype=np.uint32)
    for begin, end in USED:
        characters = np.arange(begin, end, dtype=np.uint32)
        kinds[begin:end] = _kinds(characters)
        small = _numbers(_text(characters).translate(SPECIAL).lower())
        kinds[begin:end] |= CAPITAL * (small != characters).astype(np.uint8)
        if begin < len(lower):
            lower[begin:end] = small
    _core.set_characters(kinds, lower)


def _kinds(characters: np.ndarray) -> np.ndarray:
    """Return the properties of characters, except for capitals."""
    kinds = np.zeros(len(characters), np.uint8)
    text = _text(characters)
    for pattern, kind in ((r"\w+", WORD), (r"\s+", SPACE)):
        for found in re.finditer(pattern, text):
            kinds[found.start() : found.end()] |= kind
    # A capital sigma is final after a cased letter; ignorable characters in between do not matter.
    alone, behind = (_closes(characters, before) for before in (" ", "a"))
    kinds[alone] |= CASED
    kinds[behind & ~alone] |= IGNORABLE
    return kinds


def _closes(characters: np.ndarray, before: str) -> np.ndarray:
    """Return whether a sigma is final behind each character, which follows ``before``."""
    table = np.full((len(characters), 4), ord(" "), np.uint32)
    table[:, 0], table[:, 1], table[:, 2] = ord(before), characters, SIGMA
    special = np.isin(characters, list(SPECIAL))
    table[special, 1] = ord("A")  # these are capital letters
    small = _numbers(_text(table.ravel()).lower())
    return np.asarray(small.reshape(-1, 4)[:, 2] == FINAL_SIGMA)


def _text(characters: np.ndarray) -> str:
    return characters.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _numbers(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
