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
    """Return what a set is made of, by the names of ``aggro.datasets``."""
    return {"USPS": ("usps",), "News20": ("news20",), "Reuters": ()}.get(name, ("20news",))


def is_here(name: str) -> bool:
    """Tell whether a set that ``aggro.datasets`` does not know can be had."""
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
    """Return the rows to learn from, to choose C by, and to judge by: eight, one and one parts."""
    part = np.random.default_rng(0).permutation(count) % FOLDS
    choose = part == (fold + 1) % FOLDS
    learn = np.flatnonzero(~choose & (part != fold))
    return learn, np.flatnonzero(choose), np.flatnonzero(part == fold)
