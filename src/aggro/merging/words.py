"""What text encoders have counted: words are identified by their columns, not by their positions.

The state of an encoder is a dictionary of arrays, and so is the difference of two states, of the
columns that were met in between. Differences can be added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from aggro.learner import Array
from aggro.text.encoder import Encoder

State = dict[str, Array]
NAMES = ("names", "name_ends", "name_counts")
SUMS = ("number_squares", "number_counts")


def since(before: State, after: State) -> State:
    """Return what was counted between two states of an encoder."""
    change = {name: after[name] - before[name] for name in SUMS if name in after}
    for table in _tables(after):
        columns, counts = _counted(after, table)
        known, old = _counted(before, table)
        counts = counts - _counts_of(columns, known, old)
        met = (counts > 0) | ~np.isin(columns, known)
        change |= _table(after, table, columns[met], counts[met])
        documents = table.replace("columns", "documents")
        if documents in after:
            change[documents] = np.array([after[documents][0] - before[documents][0], 1.0])
    for source in _named(after):
        known_names = names_in(before, source)
        more = {w: n - known_names.get(w, 0) for w, n in names_in(after, source).items()}
        change |= state_of_names(source, {word: n for word, n in more.items() if n > 0})
    return change


def together(states: Sequence[State]) -> State:
    """Return the sum of states; columns and names keep the order of their first appearance."""
    first = states[0]
    total = {
        name: np.sum([each[name] for each in states], axis=0) for name in SUMS if name in first
    }
    for table in _tables(first):
        columns, counts = (
            np.concatenate(part)
            for part in zip(*(_counted(each, table) for each in states), strict=True)
        )
        _, places, which = np.unique(columns, return_index=True, return_inverse=True)
        order = np.argsort(places)
        total |= _table(first, table, columns[places[order]], np.bincount(which, counts)[order])
        documents = table.replace("columns", "documents")
        if documents in first:
            total[documents] = np.array([sum(each[documents][0] for each in states), 1.0])
    for source in _named(first):
        names: dict[bytes, int] = {}
        for each in states:
            for word, count in names_in(each, source).items():
                names[word] = names.get(word, 0) + count
        total |= state_of_names(source, names)
    return total


def nameless(state: State) -> State:
    """Return a state without names."""
    empty = {name: array[:0] for name, array in state.items() if name.partition("_")[2] in NAMES}
    return state | empty


# -- positions and columns -----------------------------------------------------------------------


def keys_of(encoder: Encoder, which: int) -> Array:
    """Return the key of each feature of a range, equal in all encoders; -1 for unused features.

    The feature at position p of source s of m is the number p m + s. Its key is c m + s, where c is
    the column at that position.
    """
    state, sources = encoder.state(), encoder.sources
    keys = np.full(encoder.features(which), -1, np.int64)
    columns = [state[f"text{i}_columns_{which}"] for i in range(len(encoder.texts))]
    if encoder.categories is not None:
        columns.append(state["category_columns_0"])
    if encoder.numbers is not None:
        columns.append(np.arange(encoder.columns))
    for source, each in enumerate(columns):
        keys[np.arange(len(each)) * sources + source] = each.astype(np.int64) * sources + source
    return keys


def finder(known: Array) -> Callable[[Array], Array]:
    """Return a function that finds the feature of each of some known keys, and -1 of -1."""
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    return lambda keys: np.where(keys < 0, -1, order[np.searchsorted(ordered, keys)])


# -- the arrays of a state -----------------------------------------------------------------------


def _tables(state: State) -> list[str]:
    """Return the names of the columns of each source and range."""
    return [name for name in state if "_columns_" in name]


def _counted(state: State, table: str) -> tuple[Array, Array]:
    """Return columns and their document counts, or zeros where these are not counted."""
    columns = state[table]
    counts = np.zeros(len(columns))
    known = state.get(table.replace("columns", "with"), counts)
    counts[: len(known)] = known
    return columns, counts


def _table(like: State, table: str, columns: Array, counts: Array) -> State:
    counted = table.replace("columns", "with")
    return {table: columns} | ({counted: counts} if counted in like else {})


def _counts_of(columns: Array, known: Array, counts: Array) -> Array:
    """Return the counts of some columns; 0 for those that are not known."""
    table = np.zeros(max(columns.max(initial=0), known.max(initial=0)) + 1)
    table[known] = counts
    return np.asarray(table[columns])


def _named(state: State) -> list[str]:
    """Return the sources that remember names."""
    return [name.removesuffix("_names") for name in state if name.endswith("_names")]


def names_in(state: State, source: str) -> dict[bytes, int]:
    """Return the names that a source remembers, with their counts."""
    data, ends, counts = (state[f"{source}_{part}"] for part in NAMES)
    whole, places = data.tobytes(), pairwise([0, *ends.tolist()])
    return dict(zip((whole[i:j] for i, j in places), counts.tolist(), strict=True))


def state_of_names(source: str, names: dict[bytes, int]) -> State:
    """Return names with their counts as a part of a state."""
    data = np.frombuffer(b"".join(names), np.uint8)
    ends = np.cumsum([len(word) for word in names], dtype=np.int64)
    arrays: tuple[Array, ...] = (data, ends, np.array(list(names.values()), np.int64))
    return {f"{source}_{part}": array for part, array in zip(NAMES, arrays, strict=True)}
