"""What vectorisers of texts have counted apart: words are known by their columns, not by places.

All that an encoder knows is a dictionary of arrays, its state. What it has learned since a start is
one, too, of the columns that it met since; so states are taken from each other, and added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from aggro.learn.learner import Array
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
        names, old_names = _names(after, source), _names(before, source)
        new = {name: count - old_names.get(name, 0) for name, count in names.items()}
        change |= _listed(source, {name: count for name, count in new.items() if count > 0})
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
        names: dict[bytes, int] = {}
        for each in states:
            for name, count in _names(each, source).items():
                names[name] = names.get(name, 0) + count
        total |= _listed(source, names)
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


def _names(state: State, source: str) -> dict[bytes, int]:
    """Return the names that a source remembers, and how often each came."""
    data, ends, counts = (state[f"{source}_{part}"] for part in NAMES)
    whole = data.tobytes()
    parts = pairwise([0, *ends.tolist()])
    return {whole[i:j]: n for (i, j), n in zip(parts, counts.tolist(), strict=True)}


def _listed(source: str, names: dict[bytes, int]) -> State:
    ends = np.cumsum([len(name) for name in names], dtype=np.int64)
    counts = np.array(list(names.values()), np.int64)
    arrays: list[Array] = [np.frombuffer(b"".join(names), np.uint8), ends, counts]
    return {f"{source}_{part}": array for part, array in zip(NAMES, arrays, strict=True)}


def _once(columns: Array) -> Array:
    """Return the columns in the order in which they come first."""
    return np.asarray(columns[np.sort(np.unique(columns, return_index=True)[1])])
