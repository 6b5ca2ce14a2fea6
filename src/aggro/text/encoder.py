"""Representations of documents: several ranges of n-grams and weightings in one reading of each.

A row of a table has several sources: each column of text is one, all categories together are one,
and so are all numbers. The features of source s of m are the numbers s, s + m, s + 2m ..., so that
each source may grow, and a single column of text has the positions of its words.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array
from aggro.reference_row import ReferenceRow, next_change
from aggro.selection.search_space import INTERVAL
from aggro.text.options import Options
from aggro.text.table import Table, numbers_of
from aggro.transaction import Checkpoint

TF, IDF = "tf", "idf"
MOST_NAMES = 2**18  # words that are remembered by default
CATEGORIES = Options(token_pattern=r"\S+", lowercase=False, alternate_sign=False, norm=None)


@dataclasses.dataclass
class Rows:
    """Sparse rows of one range of n-grams, with their values by each weighting."""

    starts: Array
    indices: Array
    values: dict[str, Array]


@dataclasses.dataclass(frozen=True)
class Matrix:
    """Sparse rows of one representation."""

    data: Array
    indices: Array
    indptr: Array


class Encoder:
    """The representations of a text learner (see ``Representations``), and what is known of words.

    ``choices`` has the number of a range of n-grams and the weighting of each representation.
    """

    def __init__(
        self,
        options: Options,
        ranges: Sequence[tuple[int, int]],
        kinds: Sequence[str],
        texts: int = 1,
        categories: bool = False,
        numbers: int = 0,
        names: int = 0,
        references: bool = False,
        features: str = "linear",
        seed: int = 0,
    ) -> None:
        self.options, self.ranges, self.kinds = options, list(ranges), list(kinds)
        self.names, self.prepare = names, options.prepare
        tf, idf = (kind in self.kinds for kind in (TF, IDF))
        how: dict[str, Any] = {"tf": tf, "idf": idf, "compact": True, "names": names}
        self.texts = [options.core(self.ranges, **how) for _ in range(texts)]
        place = dataclasses.replace(CATEGORIES, n_features=options.n_features)
        self.categories = place.core(compact=True, names=names) if categories else None
        self.columns, self.mapping, self.seed = numbers, features, seed
        self.numbers = numbers_of(numbers, features, seed)
        self.choices = [(i, kind) for kind in reversed(self.kinds) for i in range(len(self.ranges))]
        blank = ReferenceRow.of(np.zeros(1))
        self.references = [blank] * len(self.choices) if references else []
        self._advanced = self.references  # by the rows of the present transaction

    @property
    def descriptions(self) -> list[dict[str, Any]]:
        """The range of n-grams and the weighting of each representation."""
        return [
            {"ngram_range": self.ranges[which], "idf": kind == IDF} for which, kind in self.choices
        ]

    @property
    def sources(self) -> int:
        """How many sources there are."""
        return len(self.cores) + (self.numbers is not None)

    @property
    def cores(self) -> list[Any]:
        """The vectorisers of the core: one for each column of text and one for all categories."""
        return [*self.texts, *([] if self.categories is None else [self.categories])]

    def features(self, which: int) -> int:
        """Return the present number of features of the rows of a range."""
        most = max((core.sizes[which] for core in self.texts), default=0)
        if self.categories is not None:
            most = max(most, self.categories.sizes[0])
        if self.numbers is not None:
            most = max(most, self.numbers.width)
        return max(most * self.sources, 1)

    # -- rows -------------------------------------------------------------------------------

    def encode(
        self,
        rows: Table,
        order: Array | None,
        needed: Sequence[int],
        widths: Sequence[int],
        *,
        learn: bool,
        threads: int = 1,
    ) -> list[_core.Rows]:
        """Return the rows of a table as some representations see them."""
        block = rows if order is None else rows.take(_as_slice(order))
        encoded = self.rows(block, learn, threads)
        if learn:
            everything = np.arange(len(block))
            self._advanced = [
                each.after(self.matrix(encoded, number), everything, 1)
                for number, each in enumerate(self.references)
            ]
        found = []
        for number, width in zip(needed, widths, strict=True):
            matrix = self.matrix(encoded, number)
            features = max(width, self.features(self.choices[number][0]))
            found.append(_core.Rows(matrix.data, matrix.indices, matrix.indptr, features))
        return found

    def matrix(self, rows: list[Rows], number: int) -> Matrix:
        """Return encoded rows as one representation sees them."""
        which, kind = self.choices[number]
        each = rows[which]
        return Matrix(each.values[kind], each.indices, each.starts)

    def reference(
        self, number: int, reference_row: _core.Rows | None, width: int
    ) -> _core.Rows | None:
        """Return the reference row of a representation."""
        return self.references[number].rows(width) if self.references else None

    def rows(self, table: Table, learn: bool, threads: int = 1) -> list[Rows]:
        """Return the rows of documents for each range; ``learn`` counts each document first."""
        how: dict[str, Any] = {"learn": learn, "threads": threads, "single": True}
        found = [
            texts.rows(core, prepare=self.prepare, **how)
            for texts, core in zip(table.texts, self.texts, strict=True)
        ]
        if self.sources == 1 and found:
            return [self._weighed(*each) for each in found[0]]
        others = []
        if self.categories is not None:
            assert table.categories is not None
            others.append(table.categories.rows(self.categories, **how)[0][:3])
        if self.numbers is not None:
            assert table.numbers is not None
            entries, self.numbers = self.numbers.entries(table.numbers, learn)
            others.append(entries)
        return [
            self._joined([each[which] for each in found], others, len(table))
            for which in range(len(self.ranges))
        ]

    def _weighed(self, starts: Array, indices: Array, tf: Array, idf: Array) -> Rows:
        both = {TF: tf, IDF: idf}
        return Rows(starts, indices, {kind: both[kind] for kind in self.kinds})

    def _joined(self, texts: list[Any], others: list[Any], count: int) -> Rows:
        """Return the rows of all sources, concatenated."""
        parts = [self._weighed(*each) for each in texts]
        parts += [Rows(s, i, dict.fromkeys(self.kinds, v)) for s, i, v in others]
        lengths = np.array([np.diff(part.starts) for part in parts]).reshape(len(parts), count)
        row = np.concatenate([np.repeat(np.arange(count), each) for each in lengths])
        order = np.argsort(row, kind="stable")
        starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))]).astype(np.int64)
        indices = np.concatenate(
            [part.indices.astype(np.int64) * self.sources + s for s, part in enumerate(parts)]
        )
        values = {
            kind: np.concatenate([part.values[kind] for part in parts]).astype(np.float32)[order]
            for kind in self.kinds
        }
        return Rows(starts, indices[order], values)

    def block_size(self) -> int:
        """Return how many documents to encode at once: until the reference rows change."""
        return next_change(self.references[0].met, 1) if self.references else INTERVAL

    # -- transactions -----------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint | None:
        """Return None: documents are checked before the first of them is learned."""
        return None

    def begin(self) -> None:
        """Begin a transaction: what is learned from here on can be undone."""
        self._before = self.numbers
        for core in self.cores:
            core.begin()

    def commit(self) -> None:
        """Keep what was learned."""
        self.references = self._advanced

    def prune(self, examples: int) -> None:
        """Free what ``rollback`` needs; at intervals, also remove the least frequent names."""
        for core in self.cores:
            core.keep()
            if examples % INTERVAL == 0:
                core.prune()

    def rollback(self) -> None:
        """Undo what was learned since ``begin``."""
        for core in self.cores:
            core.restore()
        self.numbers, self._advanced = self._before, self.references

    # -- copies and files -------------------------------------------------------------------

    def only(self, number: int) -> Encoder:
        """Return an encoder of one representation, which continues as this one would."""
        which, kind = self.choices[number]
        new = Encoder(
            self.options,
            [self.ranges[which]],
            [kind],
            len(self.texts),
            self.categories is not None,
            self.columns,
            self.names,
            features=self.mapping,
            seed=self.seed,
        )
        state = self.state()
        for name in list(state):
            source, _, part = name.partition("_")
            if source.startswith("text") and part[-1:].isdigit():
                array = state.pop(name)
                if part.endswith(f"_{which}"):
                    state[f"{source}_{part.rpartition('_')[0]}_0"] = array
        new.load_state(state)
        new.set_references(self.references[number : number + 1])
        return new

    def set_references(self, references: Sequence[ReferenceRow]) -> None:
        """Set the reference row of each representation; none if margins are not recorded."""
        self.references = self._advanced = list(references)

    def state(self) -> dict[str, Array]:
        """Return the state as arrays by name."""
        found = {
            f"text{i}_{name}": array
            for i, core in enumerate(self.texts)
            for name, array in core.state().items()
        }
        if self.categories is not None:
            found |= {f"category_{name}": a for name, a in self.categories.state().items()}
        if self.numbers is not None:
            found |= {f"number_{name}": a for name, a in self.numbers.arrays().items()}
        return found

    def load_state(self, state: dict[str, Array]) -> None:
        """Restore a state that ``state`` has returned."""
        sources = {f"text{i}_": core for i, core in enumerate(self.texts)}
        if self.categories is not None:
            sources["category_"] = self.categories
        for prefix, core in sources.items():
            core.load_state(_part(state, prefix), self.names)
        if self.numbers is not None:
            self.numbers = self.numbers.loaded(_part(state, "number_"))

    def __getstate__(self) -> dict[str, Any]:
        cores = ("texts", "categories", "numbers", "_before", "_advanced")
        kept = {name: value for name, value in self.__dict__.items() if name not in cores}
        kept.pop("prepare")
        return {**kept, "n_texts": len(self.texts), "known": self.state()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        categories = any(name.startswith("category_") for name in kept["known"])
        shape = (kept["n_texts"], categories, kept["columns"], kept["names"])
        how = {"features": kept["mapping"], "seed": kept["seed"]}
        Encoder.__init__(self, kept["options"], kept["ranges"], kept["kinds"], *shape, **how)
        self.load_state(kept["known"])
        self.set_references(kept["references"])


def _part(state: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {name[len(prefix) :]: a for name, a in state.items() if name.startswith(prefix)}


def _as_slice(order: Array) -> Any:
    """Return consecutive positions as a slice, which needs no copy of the documents."""
    if len(order) and (np.diff(order) == 1).all():
        return slice(int(order[0]), int(order[-1]) + 1)
    return order


# -- the words of hashed columns -----------------------------------------------------------------


def listed(state: dict[str, Any]) -> tuple[list[str], Array]:
    """Return the words that a vectoriser remembers, and their counts."""
    data, ends = state["names"].tobytes(), state["name_ends"].tolist()
    begins = [0, *ends][:-1]
    words = [data[i:j].decode("utf-8", "surrogatepass") for i, j in zip(begins, ends, strict=True)]
    return words, state["name_counts"]


def hashes_of(words: list[str]) -> Array:
    """Return the signed hash of each word, which gives its column and its sign."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    data = np.frombuffer(b"".join(encoded), np.uint8)
    return np.asarray(_core.murmur3(data, ends))


def columns_of(hashes: Array, n_features: int) -> Array:
    """Return the column of each hash."""
    return np.abs(hashes.astype(np.int64)) % n_features


def words_of(state: dict[str, Any], n_features: int) -> dict[int, list[tuple[str, int]]]:
    """Return the words of each column with their counts, the most frequent first."""
    words, counts = listed(state)
    columns = columns_of(hashes_of(words), n_features)
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for i in np.argsort(-counts, kind="stable").tolist():
        found[int(columns[i])].append((words[i], int(counts[i])))
    return dict(found)
