"""Collections of Dask as partitions that workers load one at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed
from dask.local import get_sync
from dask.optimization import cull
from distributed import futures_of
from scipy.sparse import csr_matrix

from aggro.io.batch import joined_rows
from aggro.io.strings import hash_names
from aggro.merging.blocks import Block, Failed, joined
from aggro.text.table import Table, table_of, table_of_rows

BITS = 18  # columns that the names in dicts share, as a power of two


@dataclass(frozen=True)
class Partition:
    """One part of the data: lazy rows, targets and weights, and how to read them.

    Parameters
    ----------
    X, y, weights : lazy blocks
        Without y, X contains pairs of rows and targets.
    options : dict, optional
        How a file is read, whose path X is.
    texts : dict, optional
        The kind of each column where texts are learned; empty for plain texts.
    """

    X: Any
    y: Any = None
    weights: Any = None
    options: dict[str, Any] | None = None
    texts: dict[str, str] | None = None

    def read(self) -> Block:
        """Return the loaded partition as a block."""
        if self.options is not None:
            return self._read_file(self.options)
        X, y, weights = self.X, self.y, self.weights
        if y is None and isinstance(X, tuple) and len(X) in (2, 3):
            X, y, weights = (*X, None)[:3]  # a block of rows and its targets
        elif y is None:
            examples = list(X)
            X, y = [x for x, _ in examples], [label for _, label in examples]
        rows = rows_of(X) if self.texts is None else table_of(listed(X), self.texts or None)
        return Block(rows, array_of(y), array_of(weights))

    def _read_file(self, options: dict[str, Any]) -> Block:
        import aggro

        if self.texts is None:
            batches = [Block(b.X, b.y, b.weights) for b in aggro.io.read(self.X, **options)]
            return joined(batches) if batches else Block(csr_matrix((0, 0)), np.empty(0))
        rest = {name: value for name, value in options.items() if name != "text"}
        columns = self.texts or {str(options.get("text")): "text"}
        if not self.texts and not isinstance(options.get("text"), str):
            raise ValueError(
                "Which column holds texts? Name it: fit(pattern, label=..., text=...)."
            )
        reader = aggro.io.read(self.X, columns=columns, **rest)
        batches = [Block(b.X, b.y, b.weights) for b in reader.without_scipy().raw()]
        if not batches:
            return Block(Table([], count=0), np.empty(0))
        return joined(batches, lambda parts: table_of_rows(joined_rows(parts)))


def partitions_of(
    X: Any, y: Any, weights: Any, options: Mapping[str, Any], texts: Any = None
) -> list[Partition]:
    """Return the partitions of the given data, aligned; ``texts``: see ``Partition``."""
    if isinstance(X, (str, os.PathLike)):
        found = _files(X, y, weights, options)
    elif options:
        raise ValueError(
            f"{', '.join(options)} applies to files, and X is not a pattern of files; leave it out."
        )
    else:
        found = _collections(X, y, weights)
    return [replace(each, texts=texts) for each in found]


def _collections(X: Any, y: Any, weights: Any) -> list[Partition]:
    rows = _parts(X, "X")
    bag = type(X).__module__.startswith("dask.bag")
    if y is None and not bag and not isinstance(X, (list, tuple)):
        raise ValueError("y is None; give one target for each row, in as many partitions as X.")
    nothing = [None] * len(rows)
    targets = nothing if y is None else _aligned(X, y, "y", len(rows))
    votes = nothing if weights is None else _aligned(X, weights, "sample_weight", len(rows))
    return [Partition(*parts) for parts in zip(rows, targets, votes, strict=True)]


def _parts(X: Any, name: str) -> list[Any]:
    """Return the lazy blocks of a collection."""
    if isinstance(X, (list, tuple)) and X and all(isinstance(each, Delayed) for each in X):
        return list(X)
    if type(X).__module__.startswith("dask.array"):
        return list(rows_together(X).to_delayed().ravel())
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    raise ValueError(
        f"{name} is a {type(X).__name__}; give a dask array, data frame or bag, a list of delayed "
        "blocks or a pattern of files. Rows that fit one machine need no cluster: use the "
        "estimator of aggro itself."
    )


def rows_together(X: Any) -> Any:
    """Return a dask array whose blocks have whole rows."""
    return X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X


def _aligned(X: Any, y: Any, name: str, count: int) -> list[Any]:
    """Return the blocks of y: one for each of X, with the same sizes where these are known."""
    chunks = getattr(X, "chunks", None)
    if not type(y).__module__.startswith("dask.array"):
        chunks = None
    if chunks and sum(chunks[0]) == sum(y.chunks[0]):  # unknown sizes are NaN
        y = y.rechunk({0: chunks[0]})
    parts = _parts(y, name)
    if len(parts) != count:
        raise ValueError(
            f"X has {count} partitions but {name} has {len(parts)}; give both the same partitions, "
            f"as by {name}.repartition(npartitions=X.npartitions) or {name}.rechunk(X.chunks[0])."
        )
    return parts


def _files(pattern: Any, y: Any, weights: Any, options: Mapping[str, Any]) -> list[Partition]:
    from aggro.io.sources import expand

    if y is not None or weights is not None:
        raise ValueError(
            "Files contain their own labels: leave y out, and name the column by label=."
        )
    return [Partition(path, options=dict(options)) for path in expand([os.fspath(pattern)])]


# -- in the workers ------------------------------------------------------------------------------


def prepare(part: Any) -> Block | Failed:
    """Return a partition as a block, or why it cannot be read.

    A task that raises would be run again.
    """
    if isinstance(part, Inlined):
        part = part.load()
    try:
        return part.read() if isinstance(part, Partition) else part
    except (ValueError, TypeError) as error:
        return Failed(str(error))


class Inlined:
    """A partition with the tasks that load it, which the task that learns it runs itself.

    Not a dataclass, whose fields Dask would search for tasks.
    """

    def __init__(self, graph: dict[Any, Any], part: Partition, keys: dict[str, Any]) -> None:
        self.graph, self.part = graph, part
        self.keys = keys  # of the lazy fields of the partition

    def load(self) -> Partition:
        """Return the loaded partition."""
        found = get_sync(self.graph, [*self.keys.values()])
        return replace(self.part, **dict(zip(self.keys, found, strict=True)))


def inlined(partitions: Sequence[Partition]) -> list[Partition | Inlined]:
    """Return partitions with their tasks, unless these are shared or the cluster has results."""
    lazy = [{n: v for n, v in vars(part).items() if isinstance(v, Delayed)} for part in partitions]
    graphs = {id(v.dask): v.dask for each in lazy for v in each.values()}  # many share one
    tasks = dict(item for graph in graphs.values() for item in graph.items())
    found = []
    for part, fields in zip(partitions, lazy, strict=True):
        keys = {name: each.key for name, each in fields.items()}
        known = all(key in tasks for key in keys.values())
        graph, _ = cull(tasks, [*keys.values()]) if known else ({}, {})
        found.append(Inlined(dict(graph), replace(part, **dict.fromkeys(fields)), keys))
    users = Counter(key for each in found for key in each.graph)
    return [
        each if _runs_alone(each, users) else part
        for each, part in zip(found, partitions, strict=True)
    ]


def _runs_alone(part: Inlined, users: Counter[Any]) -> bool:
    """Return whether no other partition needs these tasks, and the cluster has no results."""
    if not part.graph.keys() >= set(part.keys.values()):
        return False  # the cluster has the results
    return all(users[key] == 1 for key in part.graph) and not futures_of([*part.graph.values()])


def array_of(y: Any) -> Any:
    """Return the targets or weights of a partition as an array."""
    if hasattr(y, "to_numpy"):
        return y.to_numpy()
    return y if y is None else np.asarray(y if hasattr(y, "__array__") else list(y))


def listed(X: Any) -> Any:
    """Return texts or rows that come one by one as a list; arrays and frames stay."""
    return X if hasattr(X, "shape") else list(X)


def rows_of(X: Any) -> Any:
    """Return a block of rows as an estimator takes it: dicts are hashed."""
    if isinstance(X, Mapping):
        return hashed([X])
    if not hasattr(X, "shape"):
        block = list(X)
        dicts = all(isinstance(each, Mapping) for each in block)
        return hashed(block) if dicts else np.asarray(block)
    if hasattr(X, "tocsr"):
        return X.tocsr()
    if hasattr(X, "iloc") and any(not isinstance(kind, np.dtype) for kind in X.dtypes):
        return X.astype(np.float64)  # columns of Arrow
    return X


def hashed(examples: Sequence[Mapping[Any, Any]], bits: int = BITS) -> csr_matrix:
    """Return dicts as rows of 2**bits columns: text v of feature k is the feature ``k=v``.

    >>> hashed([{"price": 2.5, "kind": "new"}]).shape
    (1, 262144)
    """
    names, values, ends = [], [], [0]
    for example in examples:
        for name, value in example.items():
            text = isinstance(value, str)
            names.append(f"{name}={value}" if text else str(name))
            values.append(1.0 if text else float(value))
        ends.append(len(names))
    columns = hash_names(names, bits) if names else np.empty(0, np.int32)
    return csr_matrix((np.array(values), columns, np.array(ends)), shape=(len(ends) - 1, 2**bits))
