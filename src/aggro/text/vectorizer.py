"""A drop-in replacement of scikit-learn's HashingVectorizer, many times faster."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin

from aggro.checks import check_flag, threads_of
from aggro.learner import Array
from aggro.sklearn_api import store_parameters
from aggro.text.encoder import MOST_NAMES, words_of
from aggro.text.options import WORDS, Options
from aggro.text.sources import Listed, Texts, texts_of

# Parameters of scikit-learn that would need Python code for each document.
ONLY = {"input": "content", "preprocessor": None, "tokenizer": None}
OPTIONS = tuple(field.name for field in dataclasses.fields(Options))


class HashingVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    r"""Texts to a sparse matrix of hashed words, as scikit-learn's class of the same name.

    With equal options the matrix is the same to the last bit. Without ``idf``, ``min_df``
    and ``max_df`` nothing is learned, and ``transform`` needs no ``fit``.

    Parameters
    ----------
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, stop_words
        As in scikit-learn. Documents are ``content``; no ``preprocessor`` or ``tokenizer`` of your
        own.
    token_pattern, ngram_range, analyzer, n_features, binary, norm, alternate_sign, dtype
        As in scikit-learn. ``token_pattern`` is the default, ``\b\w+\b`` or ``\S+``.
    sublinear_tf : bool, default=False
        Take 1 + ln(count) for a count.
    idf : bool, default=False
        True counts the documents of each column and weights each document by the counts so far:
        1 + ln((1 + documents) / (1 + documents with the column)).
    min_df, max_df : float or int, default=0 and 1.0
        Ignore columns that occur in fewer, or in more, of the documents so far: a share of them, or
        a whole number. A column that occurs once is never too frequent.
    forgetting : float, default=0.0
        The weight of past documents that a new one replaces, for streams with drift.
    keep_names : bool or int, default=False
        Remember the words of columns (``names_``): the given number of the most frequent ones, by
        default a quarter of a million.
    n_jobs : int, default=None
        Threads: None is one, -1 all cores. The result is the same for any number.

    Examples
    --------
    >>> from aggro.text import HashingVectorizer
    >>> HashingVectorizer(n_features=16).transform(["free money", "lunch at noon"]).shape
    (2, 16)
    """

    def __init__(
        self,
        *,
        input: str = "content",
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: str | None = None,
        lowercase: bool = True,
        preprocessor: None = None,
        tokenizer: None = None,
        stop_words: Any = None,
        token_pattern: str = WORDS,
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: Any = np.float64,
        sublinear_tf: bool = False,
        idf: bool = False,
        min_df: float = 0,
        max_df: float = 1.0,
        forgetting: float = 0.0,
        keep_names: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        store_parameters(self, locals())

    # -- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> HashingVectorizer:
        """Count the documents of X, from scratch; return the vectoriser.

        Parameters
        ----------
        X : list, array or column of texts
            Documents.
        y : ignored
            For compatibility with scikit-learn.
        """
        fresh = self._new_core()
        self._rows(fresh, self._texts(X), learn=True)
        self._core, self._made_with = fresh, self._key()
        return self

    def partial_fit(self, X: Any, y: Any = None) -> HashingVectorizer:
        """Count the documents of X in addition; return the vectoriser."""
        self._learn(X)
        return self

    def partial_fit_transform(self, X: Any) -> csr_matrix:
        """Count each document of X and weight it by the counts so far; return the rows.

        The rows do not depend on how a stream is divided into calls.
        """
        return self._matrix(*self._learn(X))

    def _learn(self, X: Any) -> tuple[Array, Array, Array]:
        texts = self._texts(X)
        core = self._known_core()
        core.begin()
        try:
            rows = self._rows(core, texts, learn=True)
        except BaseException:
            core.restore()
            raise
        core.keep()
        core.prune()
        return rows

    # -- transforming -----------------------------------------------------------------------

    def transform(self, X: Any) -> csr_matrix:
        """Return the rows of the documents of X, weighted by the counts so far.

        Parameters
        ----------
        X : list, array or column of texts
            Documents: str, or bytes in ``encoding``.
        """
        return self._matrix(*self._rows(self._known_core(), self._texts(X)))

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        """Count the documents of X, then return their rows."""
        return self.fit(X).transform(X)

    @property
    def names_(self) -> dict[int, list[tuple[str, int]]]:
        """The words of each column with their counts, the most frequent first.

        Words whose hashes collide share a column.
        """
        if not self.keep_names:
            raise AttributeError("names_ exists only with keep_names=True.")
        return words_of(self._known_core().state(), self.n_features)

    # -- the core ---------------------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        own = (self.idf, self.keep_names)
        stops = self.stop_words
        stops = stops if stops is None or isinstance(stops, str) else tuple(stops)
        return (*(getattr(self, n) if n != "stop_words" else stops for n in OPTIONS), *own)

    def _options(self) -> Options:
        for name, only in ONLY.items():
            if getattr(self, name) != only:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} needs Python code for each document; use "
                    "scikit-learn's HashingVectorizer for that, whose columns are the same."
                )
        if np.dtype(self.dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype={self.dtype!r} is not valid; give float32 or float64.")
        check_flag("idf", self.idf)
        given = {name: getattr(self, name) for name in OPTIONS}
        return Options(**{**given, "ngram_range": tuple(given["ngram_range"])})

    def _new_core(self) -> Any:
        most = MOST_NAMES if self.keep_names is True else int(self.keep_names)
        idf = bool(self.idf)
        return self._options().core(tf=not idf, idf=idf, names=most)

    def _known_core(self) -> Any:
        """Return the vectoriser of the core: a new one if an option has changed."""
        key = self._key()
        if self.__dict__.get("_made_with") != key:
            self._core, self._made_with = self._new_core(), key
        return self._core

    def _rows(self, core: Any, texts: Texts, learn: bool = False) -> tuple[Array, Array, Array]:
        single = np.dtype(self.dtype) == np.float32
        threads = threads_of(self.n_jobs)
        prepare = self._options().prepare
        ((starts, indices, tf, idf),) = texts.rows(
            core, learn=learn, threads=threads, single=single, prepare=prepare
        )
        return starts, indices, idf if self.idf else tf

    def _matrix(self, starts: Array, indices: Array, values: Array) -> csr_matrix:
        if len(indices) < np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        shape = (len(starts) - 1, self.n_features)
        return csr_matrix((values, indices, starts), shape=shape)

    def _texts(self, X: Any) -> Texts:
        texts = texts_of(X)
        plain = self.encoding.lower() in ("utf-8", "utf8") and self.decode_error == "strict"
        if plain or not isinstance(texts, Listed):
            return texts
        decode: Callable[[Any], Any] = lambda doc: (  # noqa: E731  # two lines, used once
            doc.decode(self.encoding, self.decode_error) if isinstance(doc, bytes) else doc
        )
        return Listed([decode(document) for document in texts.documents])

    # -- pickling ---------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        kept = dict(self.__dict__)
        core = kept.pop("_core", None)
        return kept if core is None else {**kept, "_state": core.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        state = kept.pop("_state", None)
        self.__dict__.update(kept)
        if state is not None:
            self._core = self._new_core()
            most = MOST_NAMES if self.keep_names is True else int(self.keep_names)
            self._core.load_state(state, most)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = bool(self.idf)
        return tags
