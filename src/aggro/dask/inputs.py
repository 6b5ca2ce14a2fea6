"""What may be given to learn from, as a list of partitions that workers load one at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dask.delayed import Delayed
from scipy.sparse import csr_matrix

from aggro.dask.texts import read_texts, table_of_texts
from aggro.io.strings import hash_names
from aggro.merging.blocks import Block, Failed, joined

BITS = 18  # columns that the names in dicts share, as a power of two


@dataclass(frozen=True)
class Partition:
    """One part of the data: lazy rows, targets and weights, and how to make rows of it."""

    X: Any
    y: Any = None
    weights: Any = None
    kind: str = "rows"  # or "pairs" of dict and target, or "file"; or "text rows" and so on
    options: tuple[tuple[str, Any], ...] = ()


def partitions_of(
    X: Any, y: Any, weights: Any, options: Mapping[str, Any], texts: Any = None
) -> list[Partition]:
    """Return the partitions of what was given, aligned; ``texts`` tells how texts are read."""
    found = _partitions(X, y, weights, options)
    if texts is None:
        return found
    return [
        replace(each, kind=f"text {each.kind}", options=(*each.options, ("columns", texts)))
        for each in found
    ]


def _partitions(X: Any, y: Any, weights: Any, options: Mapping[str, Any]) -> list[Partition]:
    if isinstance(X, (str, os.PathLike)):
        return _files(X, y, weights, options)
    if options:
        raise ValueError(
            f"{', '.join(options)} tells how files are read, and X is no pattern of files."
        )
    rows = _parts(X, "X")
    pairs = y is None
    if pairs and not _is_bag(X) and not isinstance(X, (list, tuple)):
        raise ValueError("y is None; give one target for each row, in as many partitions as X.")
    targets = [None] * len(rows) if pairs else _aligned(X, y, "y", len(rows))
    votes = [None] * len(rows)
    if weights is not None:
        votes = _aligned(X, weights, "sample_weight", len(rows))
    kind = "pairs" if pairs else "rows"
    return [Partition(*parts, kind) for parts in zip(rows, targets, votes, strict=True)]


def _is_bag(X: Any) -> bool:
    return type(X).__module__.startswith("dask.bag")


def _parts(X: Any, name: str) -> list[Any]:
    """Return the lazy blocks of a collection."""
    if isinstance(X, (list, tuple)) and X and all(isinstance(each, Delayed) for each in X):
        return list(X)
    if type(X).__module__.startswith("dask.array"):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    raise ValueError(
        f"{name} is a {type(X).__name__}; give a dask array, data frame or bag, a list of delayed "
        "blocks or a pattern of files. Rows that fit one machine need no cluster: use the "
        "estimator of aggro itself."
    )


def _aligned(X: Any, y: Any, name: str, count: int) -> list[Any]:
    """Return the blocks of y: one for each of X, cut alike where that is known."""
    chunks = getattr(X, "chunks", None)
    if type(y).__module__.startswith("dask.array") and chunks and y.chunks[0] != chunks[0]:
        known = not any(np.isnan(each) for each in (*chunks[0], *y.chunks[0]))
        y = y.rechunk({0: chunks[0]}) if known and sum(chunks[0]) == sum(y.chunks[0]) else y
    parts = _parts(y, name)
    if len(parts) != count:
        raise ValueError(
            f"X has {count} partitions but {name} has {len(parts)}; cut both alike, as by "
            f"{name}.repartition(npartitions=X.npartitions) or {name}.rechunk(X.chunks[0])."
        )
    return parts


def _files(pattern: Any, y: Any, weights: Any, options: Mapping[str, Any]) -> list[Partition]:
    from aggro.io.sources import expand

    if y is not None or weights is not None:
        raise ValueError("Files hold their own labels: leave y out, and name the column by label=.")
    kept = tuple(sorted(options.items()))
    return [Partition(path, kind="file", options=kept) for path in expand([os.fspath(pattern)])]


# -- in the workers --------------------------------------------------------------------------


def prepare(X: Any, y: Any, weights: Any, kind: str, options: Any) -> Block | Failed:
    """Return a partition as a block, or why it cannot be read.

    A task that raised would run again, in vain.
    """
    try:
        return block_of(X, y, weights, kind, dict(options))
    except (ValueError, TypeError) as error:
        return Failed(str(error))


def prepare_all(parts: Sequence[Any]) -> Block | Failed:
    """Return several partitions as one block, or why one of them cannot be read."""
    blocks = [prepare(*part) for part in parts]
    failed = next((block for block in blocks if isinstance(block, Failed)), None)
    return failed or joined(blocks)  # type: ignore[arg-type]  # none has failed


def block_of(X: Any, y: Any, weights: Any, kind: str, options: dict[str, Any]) -> Block:
    """Return rows, targets and weights as an estimator takes them."""
    of_texts = kind.startswith("text ")
    if kind.removeprefix("text ") == "file":
        return read_texts(X, options) if of_texts else _read(X, options)
    X, y, weights = without_pairs(X, y, weights, kind.removeprefix("text "))
    rows = table_of_texts(X, options["columns"]) if of_texts else rows_of(X)
    return Block(rows, array_of(y), array_of(weights))


def without_pairs(X: Any, y: Any, weights: Any, kind: str) -> tuple[Any, Any, Any]:
    """Return rows, targets and weights apart, whether or not they came together."""
    if kind != "pairs":
        return X, y, weights
    if isinstance(X, tuple) and len(X) in (2, 3):
        return (*X, None)[:3]  # a block of rows and its targets
    examples = list(X)
    return [x for x, _ in examples], [label for _, label in examples], weights


def array_of(y: Any) -> Any:
    """Return the targets or weights of a partition as an array."""
    if hasattr(y, "to_numpy"):
        return y.to_numpy()
    if y is None or isinstance(y, np.ndarray):
        return y
    return np.asarray(list(y) if not hasattr(y, "__array__") else y)


def rows_of(X: Any) -> Any:
    """Return a block of rows as an estimator takes it: dicts are hashed."""
    if isinstance(X, (list, tuple, Mapping)) or type(X).__name__ in ("map", "filter", "generator"):
        block = list(X) if not isinstance(X, Mapping) else [X]
        if all(isinstance(each, Mapping) for each in block):
            return hashed(block)
        return np.asarray(block)
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


def _read(path: str, options: dict[str, Any]) -> Block:
    """Return all rows of a file."""
    import aggro

    batches = [Block(batch.X, batch.y, batch.weights) for batch in aggro.io.read(path, **options)]
    return joined(batches) if batches else Block(csr_matrix((0, 0)), np.empty(0))
