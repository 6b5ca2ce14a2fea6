"""A batch as bytes: a JSON list of its arrays, then the arrays, each at a multiple of 64 bytes."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro.io.batch import Batch
from aggro.io.matrix import SparseRows

ALIGNMENT = 64
LENGTH = struct.Struct("<I")


def pack(batch: Batch) -> bytearray:
    """Turn a batch into bytes.

    >>> packed = pack(Batch(np.eye(2), [(1.0,), (1.0, 2.0)], None))
    >>> unpack(memoryview(packed)).y
    [(1.0,), (1.0, 2.0)]
    """
    arrays = _arrays_of(batch)
    facts = {
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
        "n_features": batch.X.shape[1],
        "sorted": "X" in arrays or batch.X.is_sorted,
    }
    head = json.dumps(facts).encode()
    packed = bytearray(LENGTH.pack(len(head)) + head)
    for array in arrays.values():
        packed += bytes(-len(packed) % ALIGNMENT)
        packed += np.ascontiguousarray(array).data.cast("B") if array.size else b""
    return packed


def unpack(packed: memoryview) -> Batch:
    """Turn bytes into the batch again; its arrays are views of them.

    Of bytes, not of an array: scipy copies what is a small part of a larger array.
    """
    (length,) = LENGTH.unpack_from(packed)
    facts = json.loads(packed[LENGTH.size : LENGTH.size + length].tobytes())
    position = LENGTH.size + length
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in facts["arrays"]:
        position += -position % ALIGNMENT
        dtype, size = np.dtype(kind), int(np.prod(shape))
        arrays[name] = (
            np.frombuffer(packed, dtype, size, position).reshape(shape)
            if size
            else np.empty(shape, dtype)
        )
        position += size * dtype.itemsize
    X: Any = arrays.get("X")
    if X is None:
        values, indices, indptr = arrays["values"], arrays["indices"], arrays["indptr"]
        shape = (len(indptr) - 1, facts["n_features"])
        X = SparseRows(values, indices, indptr, shape, is_sorted=facts["sorted"])
    return Batch(X, _labels_of(arrays), arrays.get("weights"))


def _arrays_of(batch: Batch) -> dict[str, NDArray[Any]]:
    X, y, weights = batch
    arrays = (
        {"X": X}
        if isinstance(X, np.ndarray)
        else {"values": X.data, "indices": X.indices, "indptr": X.indptr}
    )
    if isinstance(y, list):
        arrays["label_values"] = np.array([label for row in y for label in row])
        arrays["label_begin"] = np.cumsum([0, *(len(row) for row in y)])
    elif y is not None:
        arrays["y"] = y
    if weights is not None:
        arrays["weights"] = weights
    return arrays


def _labels_of(arrays: dict[str, NDArray[Any]]) -> Any:
    begin = arrays.get("label_begin")
    if begin is None:
        return arrays.get("y")
    values = arrays["label_values"].tolist()
    return [tuple(values[start:stop]) for start, stop in pairwise(begin.tolist())]
