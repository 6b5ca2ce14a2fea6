"""The sets of the paper as streams of rows in random order, normalised or raw."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import datasets

Array = NDArray[Any]

IMAGES = ("usps", "mnist")
TABLES = ("bupa", "crx")
TWEETS = "sentiment140-100k"
SETS = (*TABLES, *IMAGES, "webkb-course", TWEETS)

# The share of emotional tweets of the six users in the paper, whose tweets are not public.
USERS = (0.155, 0.194, 0.416, 0.189, 0.170, 0.174)
TWEETS_EACH = 1500


@lru_cache(maxsize=1)
def stream(name: str, seed: int, raw: bool = False) -> tuple[Any, Array]:
    """Return rows and labels 0 and 1 in the order in which they are learned."""
    random = np.random.default_rng([len(name), seed + 100])
    X, y = _load(name, raw)
    if name in IMAGES:
        rows, y = _one_class(y, random)
    elif name == TWEETS:
        rows, y = _user(y, USERS[seed % len(USERS)], random)
    else:
        rows = random.permutation(len(y))
        y = (y[rows] == y.max()).astype(np.int64)
    X = X[rows]
    dense = name in (*TABLES, *IMAGES) and not isinstance(X, np.ndarray)
    return (X.toarray() if dense else X), y


@lru_cache(maxsize=1)
def _load(name: str, raw: bool) -> tuple[Any, Array]:
    found = datasets.load(name)
    X = found.X
    if raw:
        return X, found.y
    if name in TABLES:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        X = (X - X.mean(0)) / np.where(X.std(0) > 0, X.std(0), 1.0)
    if name in (*TABLES, *IMAGES):
        lengths = np.sqrt(np.asarray((X.multiply(X) if hasattr(X, "indptr") else X * X).sum(1)))
        X = _divided(X, np.where(lengths > 0, lengths, 1.0).reshape(-1, 1))
    return X, found.y


def _divided(X: Any, by: Array) -> Any:
    return X.multiply(1 / by).tocsr() if hasattr(X, "indptr") else X / by


def _one_class(y: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Return a random class and as many rows of the others, in random order."""
    label = random.choice(np.unique(y))
    inside = np.flatnonzero(y == label)
    outside = random.choice(np.flatnonzero(y != label), len(inside), replace=False)
    rows = random.permutation(np.concatenate([inside, outside]))
    return rows, (y[rows] == label).astype(np.int64)


def _user(y: Array, share: float, random: np.random.Generator) -> tuple[Array, Array]:
    """Return tweets with this share of positive ones; the order within each class is kept."""
    positive = (random.random(TWEETS_EACH) < share).astype(np.int64)
    rows = np.empty(TWEETS_EACH, np.int64)
    for label, name in enumerate(("neg", "pos")):
        places = positive == label
        rows[places] = np.sort(random.choice(np.flatnonzero(y == name), places.sum(), False))
    return rows, positive


@lru_cache(maxsize=1)
def in_their_span(name: str, seed: int, raw: bool = False) -> Array:
    """Return the rows of a stream in an orthonormal basis of their span.

    A full metric that starts as the identity and its predictions are invariant to rotation. With
    fewer rows than features the matrix becomes much smaller.
    """
    X, _ = stream(name, seed, raw)
    products = X @ X.T
    products = products if isinstance(products, np.ndarray) else products.toarray()
    values, vectors = np.linalg.eigh(products)
    kept = values > 1e-9 * values[-1]
    vectors[products.diagonal() == 0] = 0  # empty rows stay exactly empty
    return np.ascontiguousarray(vectors[:, kept] * np.sqrt(values[kept]))
