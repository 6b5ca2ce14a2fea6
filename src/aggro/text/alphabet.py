"""What characters are, as the running Python sees them: told to the core when a text needs it.

Python's Unicode grows with its versions. Asking the interpreter, instead of keeping a table, cuts
words exactly where its ``re`` would, whatever the version. It takes some hundredths of a second.
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


def tell() -> None:
    """Tell the core what every character is."""
    kinds = np.zeros(CHARACTERS, np.uint8)
    lower = np.arange(USED[0][1], dtype=np.uint32)
    for begin, end in USED:
        characters = np.arange(begin, end, dtype=np.uint32)
        kinds[begin:end] = _kinds(characters)
        small = _numbers(_text(characters).translate(SPECIAL).lower())
        kinds[begin:end] |= CAPITAL * (small != characters).astype(np.uint8)
        if begin < len(lower):
            lower[begin:end] = small
    _core.tell_letters(kinds, lower)


def _kinds(characters: np.ndarray) -> np.ndarray:
    """Return what the characters are, but for capitals."""
    kinds = np.zeros(len(characters), np.uint8)
    text = _text(characters)
    for pattern, kind in ((r"\w+", WORD), (r"\s+", SPACE)):
        for found in re.finditer(pattern, text):
            kinds[found.start() : found.end()] |= kind
    # A capital sigma closes a word after a letter with case, and looks through what is ignorable.
    alone, behind = (_closes(characters, before) for before in (" ", "a"))
    kinds[alone] |= CASED
    kinds[behind & ~alone] |= IGNORABLE
    return kinds


def _closes(characters: np.ndarray, before: str) -> np.ndarray:
    """Tell whether a sigma behind each character, itself behind another, is a final one."""
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
