"""The nine sets of the paper's Table 3, as rows of raw features and class numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggro import datasets
from studies.papers.support_classes import newsgroups, reuters

NEWSGROUPS = tuple(newsgroups.SUBSETS)
LARGE = ("USPS", "Reuters", "News20")
SETS = (*NEWSGROUPS, *LARGE)
FOLDS = 10


def needs(name: str) -> tuple[str, ...]:
    """Return the names of a set's sources in ``aggro.datasets``."""
    return {"USPS": ("usps",), "News20": ("news20",), "Reuters": ()}.get(name, ("20news",))


def is_here(name: str) -> bool:
    """Return whether a set that is not in ``aggro.datasets`` is available."""
    return name != "Reuters" or reuters.is_here()


@lru_cache(maxsize=1)
def load(name: str) -> tuple[Any, NDArray[np.int64]]:
    """Return rows and classes 0, 1, ..."""
    if name == "Reuters":
        return reuters.load()
    if name in NEWSGROUPS:
        return newsgroups.load(name)
    data = datasets.load(needs(name)[0], dtype=np.float32)
    return data.X, np.unique(data.y, return_inverse=True)[1].astype(np.int64)


def split(count: int, fold: int) -> tuple[NDArray[np.int64], ...]:
    """Return the training, validation and test rows: eight, one and one tenths."""
    part = np.random.default_rng(0).permutation(count) % FOLDS
    choose = part == (fold + 1) % FOLDS
    learn = np.flatnonzero(~choose & (part != fold))
    return learn, np.flatnonzero(choose), np.flatnonzero(part == fold)
