"""Options of reading texts: how they are split into words and words become columns."""

from __future__ import annotations

import dataclasses
import numbers
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from aggro import _core
from aggro.checks import check_choice, check_count, check_flag

ANALYZERS = ("word", "char", "char_wb")
NORMS = ("l1", "l2", None)
WORDS = r"(?u)\b\w\w+\b"
# Patterns that the core implements: whether words end at spaces only, and their least length.
PATTERNS = {
    WORDS: (False, 2),
    r"\b\w\w+\b": (False, 2),
    r"(?u)\b\w+\b": (False, 1),
    r"\b\w+\b": (False, 1),
    r"\w+": (False, 1),
    r"(?u)\S+": (True, 1),
    r"\S+": (True, 1),
}
MOST_FEATURES, MOST_DOCUMENTS = 2**31 - 1, 2**63 - 1


def _without_accents(text: str) -> str:
    """Return the decomposed text without combining marks, as scikit-learn does.

    >>> _without_accents("déjà vu")
    'deja vu'
    """
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _ascii(text: str) -> str:
    """Return the decomposed text without characters that are not ASCII, as scikit-learn does."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii")


STRIP: dict[str, Callable[[str], str]] = {"unicode": _without_accents, "ascii": _ascii}


@dataclasses.dataclass(frozen=True)
class Options:
    """How texts become rows; names and meanings are those of scikit-learn.

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
        check_choice("analyzer", self.analyzer, ANALYZERS)
        check_choice("norm", self.norm, NORMS)
        check_choice("strip_accents", self.strip_accents, (None, *STRIP))
        for name in ("lowercase", "alternate_sign", "binary", "sublinear_tf"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.token_pattern, str) or self.token_pattern not in PATTERNS:
            raise ValueError(
                f"token_pattern={self.token_pattern!r} is not supported; give {WORDS!r} (words of "
                f"two letters or more), {chr(92)}b{chr(92)}w+{chr(92)}b (of one letter or more) or "
                f"{chr(92)}S+ (everything between spaces)."
            )
        _check_range(self.ngram_range)
        check_count("n_features", self.n_features, most=MOST_FEATURES)
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
        """Return a vectoriser of the core, which makes rows for each range of n-grams."""
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
        """The function that Python applies to texts beyond ASCII before the core reads them."""
        if self.strip_accents is None:
            return None
        strip = STRIP[self.strip_accents]
        return (lambda text: strip(text.lower())) if self.lowercase else strip


def stops(stop_words: Any) -> Collection[str]:
    """Return the words that are ignored."""
    if stop_words is None:
        return ()
    if isinstance(stop_words, str) or not isinstance(stop_words, Iterable):
        if stop_words != "english":
            raise ValueError(
                f"stop_words={stop_words!r} is not a known list; give 'english', a list of "
                "words, or None."
            )
        return frozenset(_ENGLISH.split())
    words = list(stop_words)
    strange = [word for word in words if not isinstance(word, str)]
    if strange:
        raise ValueError(f"stop_words holds {strange[0]!r}; give strings.")
    return set(words)


def _check_range(given: Any) -> None:
    pair = given if isinstance(given, (tuple, list)) and len(given) == 2 else (0, 0)
    whole = all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in pair)
    if not (whole and 1 <= pair[0] <= pair[1]):
        raise ValueError(
            f"ngram_range={given!r} is not valid; give the shortest and the longest n-gram, such "
            "as (1, 2)."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return not isinstance(value, numbers.Integral)


def _check_share(name: str, value: Any) -> None:
    fits = _is_number(value) and (
        0 <= value <= 1 if _is_share(value) else 0 <= value <= MOST_DOCUMENTS
    )
    if not fits:
        raise ValueError(
            f"{name}={value!r} is not valid; give a share of the documents between 0.0 and 1.0, or "
            "a whole number of them."
        )


# The list of the Glasgow Information Retrieval Group, as in scikit-learn.
_ENGLISH = """
a about above across after afterwards again against all almost alone along already also although
always am among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere
are around as at back be became because become becomes becoming been before beforehand behind
being below beside besides between beyond bill both bottom but by call can cannot cant co con
could couldnt cry de describe detail do done down due during each eg eight either eleven else
elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen fifty
fill find fire first five for former formerly forty found four from front full further get give go
had has hasnt have he hence her here hereafter hereby herein hereupon hers herself him himself his
how however hundred i ie if in inc indeed interest into is it its itself keep last latter latterly
least less ltd made many may me meanwhile might mill mine more moreover most mostly move much must
my myself name namely neither never nevertheless next nine no nobody none noone nor not nothing
now nowhere of off often on once one only onto or other others otherwise our ours ourselves out
over own part per perhaps please put rather re same see seem seemed seeming seems serious several
she should show side since sincere six sixty so some somehow someone something sometime sometimes
somewhere still such system take ten than that the their them themselves then thence there
thereafter thereby therefore therein thereupon these they thick thin third this those though three
through throughout thru thus to together too top toward towards twelve twenty two un under until
up upon us very via was we well were what whatever when whence whenever where whereafter whereas
whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why
will with within without would yet you your yours yourself yourselves
"""
