"""``strip_accents``: letters without their accents, as scikit-learn takes them off."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable


def stripped_unicode(text: str) -> str:
    """Return the text decomposed, without the marks that combine.

    >>> stripped_unicode("déjà vu")
    'deja vu'
    """
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def stripped_ascii(text: str) -> str:
    """Return the text decomposed, without what is not ASCII then."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


STRIP: dict[str, Callable[[str], str]] = {"unicode": stripped_unicode, "ascii": stripped_ascii}


def preparing(strip_accents: str | None, lowercase: bool) -> Callable[[str], str] | None:
    """Return what is done to a text that is not ASCII before it is cut into words."""
    if strip_accents is None:
        return None
    strip = STRIP[strip_accents]
    return (lambda text: strip(text.lower())) if lowercase else strip
