"""Values of options, read so that a wrong one is told in plain words."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable

from aggro.checks import bytes_of

LARGEST_SEED = 2**32 - 1


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None


def between(least: int, most: int) -> Callable[[str], float]:
    """Return what reads a number within bounds."""

    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:  # also no number
            raise ArgumentTypeError(f"{text!r} is not a number from {least:,} to {most:,}")
        return value

    return read


def size(text: str) -> str:
    """Read a number of bytes with or without a unit."""
    try:
        bytes_of("memory", text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a size, such as 512MiB or 2GB") from None
    return text


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def at_least(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number within bounds."""

    def read(text: str) -> int:
        value = whole(text)
        if value < least or (most is not None and value > most):
            upper = "" if most is None else f" and at most {most}"
            raise ArgumentTypeError(f"{text} must be at least {least}{upper}")
        return value

    return read


def pair(text: str) -> tuple[int, int]:
    """Read two whole numbers, the second not below the first."""
    try:
        low, high = (int(each) for each in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not two whole numbers, such as 1,2") from None
    if not 1 <= low <= high:
        raise ArgumentTypeError(f"{text!r}: the first must be at least 1, and at most the second")
    return low, high


def price(text: str) -> float | str:
    """Read a number or the word auto."""
    try:
        return "auto" if text == "auto" else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor 'auto'") from None


def prices(text: str) -> list[float | str]:
    """Read numbers, or the word auto, separated by commas."""
    return list(dict.fromkeys(price(each) for each in names(text)))


def names(text: str) -> list[str]:
    """Read names separated by commas; there must be one, and twice the same counts once."""
    found = list(dict.fromkeys(filter(None, (each.strip() for each in text.split(",")))))
    if not found:
        raise ArgumentTypeError(f"{text!r} names nothing")
    return found


def average(text: str) -> int | str:
    """Read from which example on to average, or the word reservoir or auto."""
    if text in ("reservoir", "auto"):
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is neither a number of examples nor 'reservoir' nor 'auto'"
        ) from None
