"""What text encoders have counted: words are identified by their columns, not by their positions.

The state of an encoder is a dictionary of arrays, and so is the difference of two states, of the
columns that were met in between. Differences can be added.
"""

from __future__ import annotations

from collections import Counter
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
    change = together([after, before], [1, -1])
    for table in _tables(after):
        met = ~np.isin(change[table], before[table])
        counted = table.replace("columns", "with")
        if counted in after:
            met |= change[counted] > 0
            change[counted] = change[counted][met]
        change[table] = change[table][met]
    for source in _named(after):
        more = {word: count for word, count in names_in(change, source).items() if count > 0}
        change |= state_of_names(source, more)
    return change


def together(states: Sequence[State], signs: Sequence[int] | None = None) -> State:
    """Return the sum of states; columns and names keep the order of their first appearance.

    ``signs``: 1 for a state that is added, -1 for one that is subtracted.
    """
    pairs = list(zip(states, signs or [1] * len(states), strict=True))
    first = states[0]
    total = {
        name: np.sum([sign * each[name] for each, sign in pairs], axis=0)
        for name in SUMS
        if name in first
    }
    for table in _tables(first):
        columns = np.concatenate([each[table] for each in states])
        counts = np.concatenate([sign * _counts(each, table) for each, sign in pairs])
        _, places, which = np.unique(columns, return_index=True, return_inverse=True)
        order = np.argsort(places)
        total[table] = columns[places[order]]
        counted, documents = (table.replace("columns", name) for name in ("with", "documents"))
        if counted in first:
            total[counted] = np.bincount(which, counts, len(places))[order]
        if documents in first:
            total[documents] = np.array([sum(n * each[documents][0] for each, n in pairs), 1.0])
    for source in _named(first):
        names: Counter[bytes] = Counter()
        for each, sign in pairs:
            for word, count in names_in(each, source).items():
                names[word] += sign * count
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


def _counts(state: State, table: str) -> Array:
    """Return the document counts of columns, or zeros where these are not counted."""
    counts = np.zeros(len(state[table]))
    known = state.get(table.replace("columns", "with"), counts)
    counts[: len(known)] = known
    return counts


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
