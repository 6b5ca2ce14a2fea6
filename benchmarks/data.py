"""Generated data: words of texts, and dense measurements."""

from __future__ import annotations

import functools

import numpy as np
import scipy.sparse as sp


@functools.lru_cache(maxsize=2)
def texts(rows, words, per_row, classes=2, contrast=0.4, seed=0):
    """Return tf-idf rows of length one as CSR and their classes.

    Words are drawn by Zipf's law; ``contrast`` says how much classes differ in their words. With
    the default, a first pass of PA-I is as hard as on newspaper texts: 5 % mistakes, and a third of
    the rows cause an update.
    """
    rng = np.random.default_rng(seed)
    frequency = rng.permutation(1 / np.arange(1, words + 1) ** 0.8)
    labels = rng.integers(0, classes, rows)
    sizes = np.maximum(rng.poisson(per_row * 1.08, rows), 1)  # repeated words are merged
    row = np.repeat(np.arange(rows), sizes)
    word, uniform = np.empty(len(row), np.int64), rng.random(len(row))
    for label in range(classes):
        own = np.cumsum(frequency * np.exp(contrast * rng.standard_normal(words)))
        here = labels[row] == label
        word[here] = np.searchsorted(own / own[-1], uniform[here]).clip(0, words - 1)
    X = sp.csr_matrix((np.ones(len(row)), (row, word)), shape=(rows, words))
    X.sort_indices()
    seen = np.maximum(np.bincount(X.indices, minlength=words), 1)
    X.data = (1 + np.log(X.data)) * np.log(rows / seen)[X.indices]
    lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X, labels.astype(np.int64)


@functools.lru_cache(maxsize=2)
def measurements(rows, features, classes=2, apart=4.0, seed=0):
    """Return dense rows of length about one and their classes.

    Classes are Gaussian clouds whose centres lie ``apart`` deviations from each other.
    """
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((classes, features)) * apart / np.sqrt(2 * features)
    labels = rng.integers(0, classes, rows)
    X = rng.standard_normal((rows, features)) + centres[labels]
    return X / np.sqrt(features), labels.astype(np.int64)


def split(X, y, test=0.1):
    """Return the first rows for training, and the last for testing."""
    cut = int(len(y) * (1 - test))
    return X[:cut], y[:cut], X[cut:], y[cut:]
