"""Porter's stemmer (Program 14, 1980, with his two later departures), as UCD used it."""

from __future__ import annotations

import re
from functools import cache

STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("logi", "log"),
)  # fmt: skip
STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
STEP_4 = [
    "ement",
    "ance",
    "ence",
    "able",
    "ible",
    "ment",
    "ant",
    "ent",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "ion",
    "al",
    "er",
    "ic",
    "ou",
]  # the longest first


@cache
def stem(word: str) -> str:
    """Return the stem of a word in lower-case letters.

    >>> [stem(w) for w in ("caresses", "relational", "hopping", "happy", "generalizations")]
    ['caress', 'relat', 'hop', 'happi', 'gener']
    """
    if len(word) <= 2:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, STEP_2)
    word = _replace(word, STEP_3)
    return _tidy(_strip(word))


def _kinds(text: str) -> str:
    """Spell a word as consonants and vowels."""
    kinds = ""
    for i, letter in enumerate(text):
        y_is_vowel = letter == "y" and i > 0 and kinds[-1] == "c"
        kinds += "v" if letter in "aeiou" or y_is_vowel else "c"
    return kinds


def _measure(text: str) -> int:
    """Count the changes from vowels to consonants."""
    return len(re.findall("v+c+", _kinds(text)))


def _has_vowel(text: str) -> bool:
    return "v" in _kinds(text)


def _double(text: str) -> bool:
    return len(text) > 1 and text[-1] == text[-2] and _kinds(text)[-1] == "c"


def _short(text: str) -> bool:
    """Tell whether it ends in consonant, vowel, consonant, the last not w, x or y."""
    return _kinds(text)[-3:] == "cvc" and text[-1] not in "wxy"


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for end in ("ed", "ing"):
        base = word.removesuffix(end)
        if base != word and _has_vowel(base):
            if base.endswith(("at", "bl", "iz")):
                return base + "e"
            if _double(base) and base[-1] not in "lsz":
                return base[:-1]
            return base + "e" if _measure(base) == 1 and _short(base) else base
    return word


def _replace(word: str, table: tuple[tuple[str, str], ...]) -> str:
    for end, other in table:
        if word.endswith(end):
            base = word.removesuffix(end)
            return base + other if _measure(base) > 0 else word
    return word


def _strip(word: str) -> str:
    for end in STEP_4:
        if word.endswith(end):
            base = word.removesuffix(end)
            fits = _measure(base) > 1 and (end != "ion" or base.endswith(("s", "t")))
            return base if fits else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        size = _measure(base)
        if size > 1 or (size == 1 and not _short(base)):
            word = base
    if _measure(word) > 1 and word.endswith("ll"):
        word = word[:-1]
    return word
