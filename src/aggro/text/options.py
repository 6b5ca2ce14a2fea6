"""How texts become words, and words columns: every option checked once."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Collection, Sequence
from typing import Any

from aggro import _core
from aggro.text.accents import STRIP, preparing
from aggro.text.stop_words import ENGLISH

ANALYZERS = ("word", "char", "char_wb")
NORMS = ("l1", "l2", None)
WORDS = r"(?u)\b\w\w+\b"
# Patterns the core knows: whether words end at spaces only, and the fewest characters of a word.
PATTERNS = {
    WORDS: (False, 2),
    r"\b\w\w+\b": (False, 2),
    r"(?u)\b\w+\b": (False, 1),
    r"\b\w+\b": (False, 1),
    r"\w+": (False, 1),
    r"(?u)\S+": (True, 1),
    r"\S+": (True, 1),
}
MOST_FEATURES = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class Options:
    """How texts become rows; the names and meanings are scikit-learn's.

    >>> Options(ngram_range=(1, 2)).n_features
    1048576
    """

    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    stop_words: Any = None
    token_pattern: str = WORDS
    strip_accents: str | None = None
    n_features: int = 2**20
    alternate_sign: bool = True
    norm: str | None = "l2"
    binary: bool = False
    sublinear_tf: bool = False
    min_df: float = 0
    max_df: float = 1.0
    forgetting: float = 0.0

    def __post_init__(self) -> None:
        _one_of("analyzer", self.analyzer, ANALYZERS)
        _one_of("norm", self.norm, NORMS)
        _one_of("strip_accents", self.strip_accents, (None, *STRIP))
        if self.token_pattern not in PATTERNS:
            raise ValueError(
                f"token_pattern={self.token_pattern!r} is not one that the core cuts by; give "
                f"{WORDS!r} (words of two letters or more), {chr(92)}b{chr(92)}w+{chr(92)}b (of "
                f"one) or {chr(92)}S+ (whatever stands between spaces)."
            )
        _check_range(self.ngram_range)
        _check_whole("n_features", self.n_features, 1, MOST_FEATURES)
        for name in ("min_df", "max_df"):
            _check_share(name, getattr(self, name))
        if not (_is_number(self.forgetting) and 0 <= self.forgetting < 1):
            raise ValueError(
                f"forgetting={self.forgetting!r} is not valid; give a number from 0 up to, but "
                "not including, 1."
            )
        stops(self.stop_words)

    def core(
        self,
        ranges: Sequence[tuple[int, int]] = (),
        *,
        tf: bool = True,
        idf: bool = False,
        compact: bool = False,
        names: int = 0,
    ) -> _core.Words:
        """Return the vectoriser of the core: rows for each range of n-grams."""
        at_spaces, shortest = PATTERNS[self.token_pattern]
        known = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        bounds = {
            name: (float(known[name]), _is_share(known[name])) for name in ("min_df", "max_df")
        }
        counted = idf or bounds != {"min_df": (0.0, False), "max_df": (1.0, True)}
        return _core.Words(
            {
                **known,
                **bounds,
                "norm": self.norm or "none",
                "stop_words": sorted(stops(self.stop_words)),
                "split_at_spaces": at_spaces,
                "shortest": shortest,
                "ranges": [(int(low), int(high)) for low, high in ranges or [self.ngram_range]],
                "tf": tf,
                "idf": idf,
                "compact": compact,
                "counted": counted,
                "most_names": names,
            }
        )

    @property
    def prepare(self) -> Callable[[str], str] | None:
        """What Python does to a text that is not ASCII before the core reads it."""
        return preparing(self.strip_accents, self.lowercase)


def stops(stop_words: Any) -> Collection[str]:
    """Return the words that are left out."""
    if stop_words is None:
        return ()
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ValueError(
                f"stop_words={stop_words!r} is not a list that is known; give 'english', a list of "
                "words, or None."
            )
        return ENGLISH
    words = list(stop_words)
    strange = [word for word in words if not isinstance(word, str)]
    if strange:
        raise ValueError(f"stop_words holds {strange[0]!r}; give strings.")
    return set(words)


def _one_of(name: str, value: Any, choices: Sequence[Any]) -> None:
    if not any(value is c or (isinstance(value, str) and value == c) for c in choices):
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name}={value!r} is not valid; give one of {listed}.")


def _check_range(given: Any) -> None:
    pair = given if isinstance(given, (tuple, list)) and len(given) == 2 else (0, 0)
    whole = all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in pair)
    if not (whole and 1 <= pair[0] <= pair[1]):
        raise ValueError(
            f"ngram_range={given!r} is not valid; give the shortest and the longest n-gram, such "
            "as (1, 2)."
        )


def _check_whole(name: str, value: Any, low: int, high: int) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not (whole and low <= value <= high):
        raise ValueError(
            f"{name}={value!r} is not valid; give a whole number from {low} to {high}."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return not isinstance(value, numbers.Integral)


def _check_share(name: str, value: Any) -> None:
    fits = _is_number(value) and (0 <= value <= 1 if _is_share(value) else value >= 0)
    if not fits:
        raise ValueError(
            f"{name}={value!r} is not valid; give a share of the documents between 0.0 and 1.0, or "
            "a whole number of them."
        )
