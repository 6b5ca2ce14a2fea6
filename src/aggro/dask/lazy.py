"""Predictions as lazy as the data: an array for an array, a series for a frame."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from dask.delayed import delayed

from aggro.dask.inputs import Partition, listed, partitions_of, rows_of, rows_together
from aggro.text.base import TextEstimator


def lazily(local: Any, method: str, X: Any) -> Any:
    """Return what a method of a plain estimator returns for X, in the type of X."""
    if type(X).__module__.startswith("dask.array"):
        return _array(local, method, rows_together(X))
    if hasattr(X, "map_partitions") and hasattr(X, "index"):
        return _frame(local, method, X)
    if type(X).__module__.startswith("dask.bag"):
        return X.map_partitions(_scores, delayed(local, traverse=False), method)
    if _is_list_of_blocks(X):
        shared = delayed(local, traverse=False)
        return [delayed(_scores)(block, shared, method) for block in X]
    return _scores(X, local, method)


def _is_list_of_blocks(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and bool(X) and hasattr(X[0], "key")


def _scores(X: Any, local: Any, method: str) -> Any:
    """Return what a method returns for a block, which may be empty."""
    if isinstance(local, TextEstimator):
        rows = listed(X)
        count = len(rows)
    else:
        rows = rows_of(X)
        count = rows.shape[0]
        if hasattr(rows, "indptr") and rows.shape[1] < local.n_features_in_:
            rows.resize((count, local.n_features_in_))
    return getattr(local, method)(rows) if count else _like(local, method)


def _like(local: Any, method: str) -> Any:
    """Return an empty result of a method."""
    if isinstance(local, TextEstimator):
        kinds = local.columns or {}
        row = {name: 0.0 if kind == "number" else "" for name, kind in kinds.items()}
        return getattr(local, method)([row or ""])[:0]
    nameless = copy.copy(local)
    nameless._fitted = nameless._fitted.changed(feature_names=None)
    return getattr(nameless, method)(np.zeros((1, local.n_features_in_)))[:0]


def _array(local: Any, method: str, X: Any) -> Any:
    import dask.array as da

    like = _like(local, method)
    shared = delayed(local, traverse=False)
    blocks = [
        da.from_delayed(
            delayed(_scores)(block, shared, method), (size, *like.shape[1:]), like.dtype
        )
        for block, size in zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _frame(local: Any, method: str, X: Any) -> Any:
    like = _like(local, method)
    columns = getattr(local, "classes_", range(like.shape[1])) if like.ndim == 2 else None
    meta = _in_frame(like, None, method, columns)
    return X.map_partitions(_frame_of_block, local, method, columns, meta=meta)


def _frame_of_block(block: Any, local: Any, method: str, columns: Any) -> Any:
    return _in_frame(_scores(block, local, method), block.index, method, columns)


def _in_frame(scores: Any, index: Any, method: str, columns: Any) -> Any:
    import pandas as pd

    if columns is None:
        return pd.Series(scores, index=index, name=method)
    return pd.DataFrame(scores, index=index, columns=columns)


# -- the score of all partitions -----------------------------------------------------------------


def scored(local: Any, X: Any, y: Any, weights: Any) -> Any:
    """Return the accuracy or R² of all partitions together, as an array of no dimension."""
    if not (hasattr(X, "dask") or _is_list_of_blocks(X)):
        return local.score(X, y, weights)
    import dask.array as da

    texts = (local.columns or {}) if isinstance(local, TextEstimator) else None
    shared = delayed(local, traverse=False)
    sums = [delayed(_sums)(part, shared) for part in partitions_of(X, y, weights, {}, texts)]
    return da.from_delayed(delayed(_score)(sums, hasattr(local, "classes_")), (), float)


def _sums(part: Partition, local: Any) -> Any:
    """Return the accuracy of rows, or for each target the squared error, and moments of y."""
    block = part.read()
    if not len(block):
        return np.zeros((4, 1))
    y, weights = block.y, np.ones(len(block)) if block.weights is None else block.weights
    predicted, total = local.predict(block.X), weights.sum()
    y, predicted = y.reshape(len(y), -1), predicted.reshape(len(y), -1)
    if hasattr(local, "classes_"):
        return np.array([[weights @ (predicted == y).all(axis=1)], [total], [0.0], [0.0]])
    mean = np.average(y, axis=0, weights=weights)
    spread, error = (weights @ (y - each) ** 2 for each in (mean, predicted))
    return np.array([error, np.full(len(mean), total), mean, spread])


def _score(sums: Any, classes: bool) -> Any:
    error, weight, mean, spread = np.stack([each for each in sums if each[1].any()], axis=1)
    total = weight.sum(axis=0)
    if classes:
        return np.mean(error.sum(axis=0) / total)
    apart = mean - (weight * mean).sum(axis=0) / total
    return np.mean(1.0 - error.sum(axis=0) / (spread + weight * apart**2).sum(axis=0))
