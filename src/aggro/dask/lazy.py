"""Predictions as lazy as the data: an array for an array, a series for a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.delayed import delayed

from aggro.dask.inputs import block_of, partitions_of, rows_of
from aggro.dask.texts import listed
from aggro.text.base import TextEstimator


def lazily(local: Any, method: str, X: Any) -> Any:
    """Return what a method of a plain estimator says of X, in the kind that X is of."""
    module = type(X).__module__
    if module.startswith("dask.array"):
        return _array(local, method, X)
    if hasattr(X, "map_partitions") and hasattr(X, "index"):
        return _frame(local, method, X)
    shared = delayed(local, traverse=False)
    if module.startswith("dask.bag"):
        return X.map_partitions(_answers, shared, method)
    if isinstance(X, (list, tuple)) and X and hasattr(X[0], "key"):
        return [delayed(_answers)(block, shared, method) for block in X]
    return _answers(X, local, method)


def _answers(X: Any, local: Any, method: str) -> Any:
    if isinstance(local, TextEstimator):
        texts = listed(X)
        asked = texts if len(texts) else _example(local)
        return getattr(local, method)(asked)[: len(texts)]
    block = rows_of(X)
    if hasattr(block, "indptr") and block.shape[1] < local.n_features_in_:
        block.resize((block.shape[0], local.n_features_in_))
    if block.shape[0] == 0:
        return getattr(local, method)(_example(local))[:0]
    return getattr(local, method)(block)


def _example(local: Any) -> Any:
    """Return one row to predict, to see what answers look like."""
    if not isinstance(local, TextEstimator):
        return np.zeros((1, local.n_features_in_))
    if local.columns is None:
        return [""]
    return [{name: 0.0 if kind == "number" else "" for name, kind in local.columns.items()}]


def _array(local: Any, method: str, X: Any) -> Any:
    import dask.array as da

    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    like = _answers(_example(local), _nameless(local), method)
    shared = delayed(local, traverse=False)
    blocks = [
        da.from_delayed(
            delayed(_answers)(block, shared, method),
            shape=(size, *like.shape[1:]),
            dtype=like.dtype,
        )
        for block, size in zip(X.to_delayed().ravel(), X.chunks[0], strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _frame(local: Any, method: str, X: Any) -> Any:
    import pandas as pd

    like = _answers(_example(local), _nameless(local), method)[:0]
    columns = getattr(local, "classes_", range(like.shape[1])) if like.ndim == 2 else None
    if columns is None:
        meta: Any = pd.Series(like, name=method)
    else:
        meta = pd.DataFrame(like, columns=columns)
    return X.map_partitions(_in_frame, local, method, columns, meta=meta)


def _in_frame(block: Any, local: Any, method: str, columns: Any) -> Any:
    import pandas as pd

    answers = _answers(block, local if len(block) else _nameless(local), method)
    if columns is None:
        return pd.Series(answers, index=block.index, name=method)
    return pd.DataFrame(answers, index=block.index, columns=columns)


def _nameless(local: Any) -> Any:
    """Return an estimator that takes rows without names, to see what its answers look like."""
    import copy

    nameless = copy.copy(local)
    if "_fitted" in vars(nameless):
        nameless._fitted = nameless._fitted.changed(feature_names=None)
    return nameless


def scored(local: Any, X: Any, y: Any, weights: Any) -> Any:
    """Return the accuracy or R² of all partitions together."""
    if _is_listed(X):
        return _scored_by_part(local, X, y, weights)
    answers = lazily(local, "predict", X)
    if not hasattr(answers, "dask"):
        return local.score(X, y, weights)
    answers, truth, votes = (
        each.values if hasattr(each, "values") else each for each in (answers, y, weights)
    )
    if hasattr(local, "classes_"):
        right = answers == truth
        return _mean(right.all(axis=1) if right.ndim == 2 else right, votes)
    off, spread = (truth - answers) ** 2, (truth - _mean(truth, votes)) ** 2
    return 1.0 - _mean(off, votes) / _mean(spread, votes)


def _is_listed(X: Any) -> bool:
    """Tell whether X is a bag or a list of delayed blocks, whose lengths nobody knows."""
    bag = type(X).__module__.startswith("dask.bag")
    return bag or (isinstance(X, (list, tuple)) and bool(X) and hasattr(X[0], "key"))


def _scored_by_part(local: Any, X: Any, y: Any, weights: Any) -> Any:
    import dask.array as da

    texts = (local.columns or {}) if isinstance(local, TextEstimator) else None
    shared = delayed(local, traverse=False)
    sums = [
        delayed(_sums)(p.X, p.y, p.weights, p.kind, p.options, shared)
        for p in partitions_of(X, y, weights, {}, texts)
    ]
    return da.from_delayed(delayed(_score)(sums, hasattr(local, "classes_")), (), float)


def _sums(X: Any, y: Any, weights: Any, kind: str, options: Any, local: Any) -> Any:
    """Return the weight of some rows, of the right ones, and the sums that R² is made of."""
    block = block_of(X, y, weights, kind, dict(options))
    y, weights = block.y, block.weights
    if len(y) == 0:
        return np.zeros(5)
    votes, answers = np.ones(len(y)) if weights is None else weights, local.predict(block.X)
    if hasattr(local, "classes_"):
        return np.array([votes.sum(), votes[answers == y].sum(), 0.0, 0.0, 0.0])
    return np.array([votes.sum(), 0.0, votes @ (y - answers) ** 2, votes @ y, votes @ y**2])


def _score(sums: Any, classes: bool) -> Any:
    total, right, off, first, second = np.sum(sums, axis=0)
    return np.asarray(right / total if classes else 1.0 - off / (second - first**2 / total))


def _mean(values: Any, votes: Any) -> Any:
    return values.mean() if votes is None else (values * votes).sum() / votes.sum()
