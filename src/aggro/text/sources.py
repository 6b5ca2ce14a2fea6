"""Sequences of texts: lists, NumPy, pandas, polars and Arrow, as the core reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from aggro import _core
from aggro.learner import Array


class Texts(Protocol):
    """Some documents."""

    def __len__(self) -> int: ...

    def rows(
        self,
        core: _core.Words,
        *,
        learn: bool = False,
        threads: int = 1,
        single: bool = False,
        prepare: Callable[[str], str] | None = None,
    ) -> list[tuple[Array, Array, Array, Array]]:
        """Return the rows that a vectoriser makes of them."""

    def take(self, order: Any) -> Texts:
        """Return the documents of these numbers, or of a slice."""

    def check(self) -> None:
        """Raise if a document is not a text; the message names the first one."""


class Listed:
    """Documents in a list: str, or bytes of UTF-8."""

    def __init__(self, documents: list[Any]) -> None:
        self.documents = documents

    def __len__(self) -> int:
        return len(self.documents)

    def rows(
        self, core: _core.Words, *, prepare: Callable[[str], str] | None = None, **how: Any
    ) -> list[tuple[Array, Array, Array, Array]]:
        """Return the rows that a vectoriser makes of them."""
        return core.rows(self.documents, prepare=prepare, **how)

    def take(self, order: Any) -> Listed:
        """Return the documents of these numbers, or of a slice."""
        if isinstance(order, slice):
            return Listed(self.documents[order])
        return Listed([self.documents[i] for i in order])

    def check(self) -> None:
        """Raise if a document is not a text; the message names the first one."""
        _core.check_texts(self.documents)


class Laid:
    """Documents in the layout of Arrow: all bytes in one array, their offsets in another."""

    def __init__(self, data: Array, offsets: Array) -> None:
        self.data, self.offsets = data, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(
        self, core: _core.Words, *, prepare: Callable[[str], str] | None = None, **how: Any
    ) -> list[tuple[Array, Array, Array, Array]]:
        """Return the rows that a vectoriser makes of them."""
        if prepare is not None:
            return self.take(range(len(self))).rows(core, prepare=prepare, **how)
        return core.rows(self.data, self.offsets, **how)

    def take(self, order: Any) -> Texts:
        """Return the documents of these numbers, or of a slice."""
        if isinstance(order, slice):
            begin, end, _ = order.indices(len(self))
            return Laid(self.data, self.offsets[begin : max(end, begin) + 1])
        ends = self.offsets
        return Listed([self.data[ends[i] : ends[i + 1]].tobytes() for i in order])

    def check(self) -> None:
        """Raise if a document is not a text; the message names the first one."""
        _core.check_texts(self.data, self.offsets)


def texts_of(X: Any, what: str = "X") -> Texts:
    """Return documents as the core reads them; raise unless X is a sequence of texts."""
    if isinstance(X, (str, bytes)):
        raise ValueError(f"{what} is one string; give a list of texts, such as [text].")
    if isinstance(X, list):
        return Listed(X)
    if isinstance(X, (Listed, Laid)):
        return X
    if getattr(X, "ndim", 1) != 1 or hasattr(X, "columns"):
        raise ValueError(
            f"{what} has {getattr(X, 'ndim', 2)} dimensions; give one column of texts, or give "
            "the kind of each column with columns={...}."
        )
    # chunked arrays of older pyarrow have chunks, but no stream
    if any(hasattr(X, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "iterchunks")):
        laid = _from_arrow(X, what)
        if laid is not None:
            return laid
    return Listed(X.tolist() if hasattr(X, "tolist") else list(X))


def _from_arrow(X: Any, what: str) -> Laid | None:
    """Return the buffers of an Arrow column of texts; None where there is no pyarrow, or none."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return None
    column = X if isinstance(X, (pa.Array, pa.ChunkedArray)) else pa.chunked_array(X)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    more = (pa.types.is_large_binary, getattr(pa.types, "is_string_view", lambda _: False))
    if not any(is_kind(column.type) for is_kind in (*kinds, *more)):
        return None
    column = column.cast(pa.large_binary())
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if column.null_count:
        row = column.is_null().to_numpy(zero_copy_only=False).argmax()
        raise ValueError(f"document {row} is null; expected a string")
    _, offsets, data = column.buffers()
    size = len(column)
    if size == 0:
        return Laid(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + size + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return Laid(bytes_, ends)
