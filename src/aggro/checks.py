"""Validation of parameter values.

A kind (``Number``, ``Count``, ``Choice``, ``Flag``, ``Memory`` ...) describes the values of a
parameter: how to check one, its types in a model file, and its text on the command line.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType
from typing import Any


def near(name: Any, valid: Iterable[Any]) -> str:
    """Return ' Did you mean ...?' if a valid name is similar."""
    words = [each for each in valid if isinstance(each, str)]
    close = difflib.get_close_matches(str(name), words, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def check_choice(name: str, value: Any, valid: Iterable[Any]) -> None:
    """Raise unless value is one of the valid strings or constants; the message lists them."""
    valid = tuple(valid)
    if not any(value is each or (isinstance(value, str) and value == each) for each in valid):
        listed = ", ".join(map(repr, valid))
        raise ValueError(
            f"{name}={value!r} is not valid; choose one of {listed}.{near(value, valid)}"
        )


def check_number(
    name: str, value: Any, *, above: float, strict: bool = True, instead: str = ""
) -> None:
    """Raise unless value is a real number (not a bool, not NaN) above the bound."""
    real = isinstance(value, (int, float)) or (
        hasattr(value, "dtype") and value.ndim == 0 and value.dtype.kind in "iuf"
    )
    fine = real and not isinstance(value, bool) and (value > above if strict else value >= above)
    if not fine or (isinstance(value, int) and value > sys.float_info.max):
        bound = f"{'greater than' if strict else 'of at least'} {above:g}"
        raise ValueError(f"{name}={value!r} is not valid; give a number {bound}{instead}.")


def check_count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> None:
    """Raise unless value is a whole number within the bounds."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        upper = f" and at most {most}" if most is not None else ""
        raise ValueError(
            f"{name}={value!r} is not valid; give a whole number of at least {least}{upper}."
        )


def check_flag(name: str, value: Any) -> None:
    """Raise unless value is True or False."""
    if value is not True and value is not False:
        raise ValueError(f"{name}={value!r} is not valid; give True or False.")


@dataclass(frozen=True)
class Number:
    """A real number; ``below`` excludes its bound, ``says`` describes the valid values."""

    above: float = 0.0
    strict: bool = True
    below: float | None = None
    says: str = ""
    auto: bool = False  # also valid: "auto"

    @property
    def types(self) -> tuple[type, ...]:
        """The types of its values."""
        return (int, float, str) if self.auto else (int, float)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        if self.auto and isinstance(value, str) and value == "auto":
            return
        instead = ", or 'auto'" if self.auto else ""
        check_number(name, value, above=self.above, strict=self.strict, instead=instead)
        if self.below is not None and value >= self.below:
            raise ValueError(f"{name}={value!r} is not valid; {self.says}.")


@dataclass(frozen=True)
class Count:
    """A whole number."""

    least: int = 1
    most: int | None = None
    types = (int,)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        check_count(name, value, least=self.least, most=self.most)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]
    types = (str,)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        check_choice(name, value, self.words)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    types = (bool,)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        check_flag(name, value)


@dataclass(frozen=True)
class Average:
    """A flag, the number of examples before averaging begins, or a word."""

    words: tuple[str, ...]
    types = (bool, int, str)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        if isinstance(value, str):
            check_choice(name, value, self.words)
        elif not isinstance(value, bool):
            check_count(name, value, least=0)


UNITS = {
    **{f"{prefix}B": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
}


def bytes_of(name: str, value: Any) -> int:
    """Return a number of bytes, given as a number or with a unit.

    >>> bytes_of("memory", "1.5GiB"), bytes_of("memory", "200 MB"), bytes_of("memory", 2e6)
    (1610612736, 200000000, 2000000)
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", value, re.IGNORECASE)
        units = {unit.lower(): size for unit, size in UNITS.items()} | {"": 1}
        if found is not None and found[2].lower() in units:
            size = float(found[1]) * units[found[2].lower()]
            if 1 <= size < 2**63:
                return int(size)
    else:
        real = isinstance(value, (int, float)) or getattr(value, "ndim", 1) == 0
        if real and not isinstance(value, bool) and 1 <= value < 2**63:
            return int(value)
    raise ValueError(
        f"{name}={value!r} is not valid; give a number of bytes of at least 1, or a size such as "
        "'512MiB' or '2GB'."
    )


@dataclass(frozen=True)
class Memory:
    """A number of bytes, a size with a unit, or None for the default."""

    types = (int, float, str, NoneType)

    def check(self, name: str, value: Any) -> None:
        """Raise unless the value is valid."""
        if value is not None:
            bytes_of(name, value)


Kind = Number | Count | Choice | Flag | Average | Memory


def threads_of(n_jobs: int | None) -> int:
    """Return a number of threads: None is one, -1 all cores, -2 all but one.

    >>> threads_of(None), threads_of(3), threads_of(-1) >= 1
    (1, 3, True)
    """
    if n_jobs is None:
        return 1
    if not hasattr(n_jobs, "__index__") or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} is not valid; give a number of threads, -1 for all cores, or None."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
