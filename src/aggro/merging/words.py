"""What vectorisers of texts have counted apart: words are known by their columns, not by places.

All that an encoder knows is a dictionary of arrays, its state. What it has learned since a start is
one, too, of the columns that it met since; so states are taken from each other, and added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aggro.learner import Array
from aggro.text.encoder import Encoder

State = dict[str, Array]
NAMES = ("names", "name_ends", "name_counts")
SUMS = ("number_squares", "number_counts")


def since(before: State, after: State) -> State:
    """Return what was counted between two states of an encoder."""
    change = {name: after[name] - before[name] for name in SUMS if name in after}
    for where in _tables(after):
        columns, counts = _counted(after, where)
        known, old = _counted(before, where)
        counts = counts - _found(columns, known, old)
        met = (counts > 0) | ~np.isin(columns, known)
        change |= _table(after, where, columns[met], counts[met])
        documents = where.replace("columns", "documents")
        if documents in after:
            change[documents] = np.array([after[documents][0] - before[documents][0], 1.0])
    for source in _named(after):
        names = Names.of(after, source)
        change |= names.less(Names.of(before, source)).state(source)
    return change


def together(states: Sequence[State]) -> State:
    """Return all that was counted; columns come in the order in which the states have them."""
    first = states[0]
    total = {
        name: np.sum([each[name] for each in states], axis=0) for name in SUMS if name in first
    }
    for where in _tables(first):
        counted = [_counted(each, where) for each in states]
        columns = _once(np.concatenate([each for each, _ in counted]))
        counts = sum((_found(columns, *each) for each in counted), np.zeros(len(columns)))
        total |= _table(first, where, columns, counts)
        documents = where.replace("columns", "documents")
        if documents in first:
            total[documents] = np.array([sum(each[documents][0] for each in states), 1.0])
    for source in _named(first):
        total |= Names.all_of([Names.of(each, source) for each in states]).state(source)
    return total


def nameless(state: State) -> State:
    """Return a state that remembers no names."""
    empty = {name: array[:0] for name, array in state.items() if _part(name) in NAMES}
    return state | empty


# -- places and columns ------------------------------------------------------------------------


def keys_of(encoder: Encoder, which: int) -> Array:
    """Return what each feature of a range is called everywhere; -1 for one that nobody uses.

    The feature at place p of source s of m is the number p m + s. Its key is c m + s, where c is
    the column at that place, which all encoders have in common.
    """
    state, sources = encoder.state(), encoder.sources
    keys = np.full(encoder.features(which), -1, np.int64)
    columns = [state[f"text{i}_columns_{which}"] for i in range(len(encoder.texts))]
    if encoder.categories is not None:
        columns.append(state["category_columns_0"])
    if encoder.numbers is not None:
        columns.append(np.arange(len(encoder.numbers.squares)))
    for source, each in enumerate(columns):
        keys[np.arange(len(each)) * sources + source] = each.astype(np.int64) * sources + source
    return keys


def key_space(encoder: Encoder) -> int:
    """Return a number above all keys."""
    numbers = 0 if encoder.numbers is None else len(encoder.numbers.squares)
    return max(encoder.options.n_features, numbers) * encoder.sources


def finder(known: Array) -> Callable[[Array], Array]:
    """Return what finds keys among those of an encoder: the feature of each, and -1 for -1."""
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    return lambda keys: np.where(keys < 0, -1, order[np.searchsorted(ordered, keys)])


# -- the arrays of a state ---------------------------------------------------------------------


def _tables(state: State) -> list[str]:
    """Return the names of the columns of each source and range."""
    return [name for name in state if "_columns_" in name]


def _counted(state: State, where: str) -> tuple[Array, Array]:
    """Return columns, and in how many documents each was met, where that is counted."""
    columns = state[where]
    counts = np.zeros(len(columns))
    known = state.get(where.replace("columns", "with"), counts)
    counts[: len(known)] = known
    return columns, counts


def _table(like: State, where: str, columns: Array, counts: Array) -> State:
    counted = where.replace("columns", "with")
    return {where: columns} | ({counted: counts} if counted in like else {})


def _found(columns: Array, known: Array, counts: Array) -> Array:
    """Return the counts of some columns among those that are known; 0 for others."""
    table = np.zeros(max(columns.max(initial=0), known.max(initial=0)) + 1)
    table[known] = counts
    return np.asarray(table[columns])


def _part(name: str) -> str:
    return name.partition("_")[2]


def _named(state: State) -> list[str]:
    """Return the sources that remember names."""
    return [name.partition("_")[0] for name in state if _part(name) == "names"]


def _once(columns: Array) -> Array:
    """Return the columns in the order in which they come first."""
    return np.asarray(columns[np.sort(np.unique(columns, return_index=True)[1])])


# -- names ---------------------------------------------------------------------------------------

FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # odd, and of many bits


@dataclass
class Names:
    """Names that a source remembers, all bytes in a row, and how often each came.

    Names are told apart by 64 bits: two of a million are taken for one with a chance of 1e-8, and
    then one of them is not told in explanations.
    """

    data: Array
    ends: Array
    counts: Array

    @staticmethod
    def of(state: State, source: str) -> Names:
        """Return the names of a source."""
        return Names(*(state[f"{source}_{part}"] for part in NAMES))

    def state(self, source: str) -> State:
        """Return the names as a part of a state."""
        arrays = (self.data, self.ends, self.counts)
        return {f"{source}_{part}": array for part, array in zip(NAMES, arrays, strict=True)}

    @staticmethod
    def all_of(several: Sequence[Names]) -> Names:
        """Return the names of several, each once, where it came first, and counted together."""
        counts = np.concatenate([each.counts for each in several])
        bytes_before = np.cumsum([0, *(len(each.data) for each in several[:-1])])
        ends = [each.ends + n for each, n in zip(several, bytes_before, strict=True)]
        whole = Names(np.concatenate([each.data for each in several]), np.concatenate(ends), counts)
        hashes = np.concatenate([each.hashes() for each in several])
        _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        whole.counts = np.bincount(which, counts, len(first)).astype(np.int64)[which]
        return whole.take(np.sort(first))

    def less(self, known: Names) -> Names:
        """Return how often each came beyond what is known; only those that did."""
        if len(known.ends):
            order = np.argsort(old := known.hashes())
            hashes = self.hashes()
            places = order[np.searchsorted(old, hashes, sorter=order).clip(max=len(old) - 1)]
            more = self.counts - np.where(old[places] == hashes, known.counts[places], 0)
        else:
            more = self.counts
        left = Names(self.data, self.ends, more)
        return left if (more > 0).all() else left.take(np.flatnonzero(more > 0))

    def take(self, which: Array) -> Names:
        """Return some of the names."""
        starts, lengths = self._places()
        ends = np.cumsum(lengths[which])
        moved = np.repeat(starts[which] - (ends - lengths[which]), lengths[which])
        return Names(self.data[moved + np.arange(len(moved))], ends, self.counts[which])

    def hashes(self) -> Array:
        """Return a number of 64 bits for each name: polynomials of its bytes at two places."""
        starts, lengths = self._places()
        within = np.arange(len(self.data)) - np.repeat(starts, lengths)
        letters = self.data.astype(np.uint64) + np.uint64(1)
        sums, filled = np.zeros((2, len(lengths)), np.uint64), lengths > 0
        for total, factor in zip(sums, FACTORS, strict=True):
            powers = np.full(lengths.max(initial=0), factor, np.uint64).cumprod()
            terms = letters * powers[within]
            total[filled] = np.add.reduceat(terms, starts[filled]) if filled.any() else 0
        return np.asarray(sums[0] ^ (sums[1] >> np.uint64(29)) * np.uint64(FACTORS[0]))

    def _places(self) -> tuple[Array, Array]:
        starts = np.append(0, self.ends[:-1])[: len(self.ends)]
        return starts, self.ends - starts
