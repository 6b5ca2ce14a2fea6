"""Data sets of the study: rows, targets, orders."""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggro import datasets

SETS = Path(__file__).with_name("sets.txt")
FRESH = Path(__file__).with_name("fresh.txt")
MOST_ROWS = 20_000
ORDERS = 5


@dataclass
class Problem:
    """Rows and targets; classes are numbered from zero."""

    name: str
    task: str
    X: Any
    y: np.ndarray
    classes: int
    orders: list[np.ndarray]

    @property
    def is_regression(self) -> bool:
        """Return whether targets are numbers."""
        return self.task == "regression"

    @property
    def rows(self) -> int:
        """Return the number of rows of an order."""
        return len(self.orders[0])

    def scale(self, order: int, rows: int | None = None) -> float:
        """Return the divisor of errors: rows, or the error of the best constant."""
        y = self.y[self.orders[order][:rows]]
        return float(np.abs(y - np.median(y)).sum()) if self.is_regression else float(len(y))

    def unit(self) -> float:
        """Return 1 / mean squared norm, the unit of C in the Euclidean metric."""
        squares = self.X.multiply(self.X).sum() if self.sparse else (self.X**2).sum()
        return 1.0 / (float(squares) / self.X.shape[0] + 1.0)

    @property
    def sparse(self) -> bool:
        """Return whether the rows are a CSR matrix."""
        return not isinstance(self.X, np.ndarray)


def _lines(table: Path) -> list[list[str]]:
    lines = [line.split() for line in table.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line[0].startswith("#")]


def _table(path: Path) -> dict[str, list[str]]:
    lines = {name: rest for name, *rest in _lines(path)}
    return {
        name: rest if len(rest) > 1 else [name, *(rest or [str(MOST_ROWS)])]
        for name, rest in lines.items()
    }


def listed() -> dict[str, list[str]]:
    """Return the sets of sets.txt: file, two classes or all, maximum number of rows."""
    return _table(SETS)


def fresh() -> dict[str, list[str]]:
    """Return the sets of fresh.txt."""
    return _table(FRESH)


@functools.lru_cache(maxsize=1)
def problem(name: str) -> Problem:
    """Return a set without unused columns, with numbered classes."""
    source, *pair, most = (listed() | fresh())[name]
    data = datasets.load(source)
    X, y, classes = data.X, data.y.astype(float) if data.task == "regression" else data.y, 0
    if pair:
        there = np.isin(y.astype(str), pair)
        X, y = X[there], y[there]
    if data.task != "regression":
        names, y = np.unique(y, return_inverse=True)
        classes = len(names)
    count = min(len(y), int(most))
    random = np.random.default_rng(zlib.crc32(name.encode()))
    orders = [random.permutation(len(y))[:count] for _ in range(ORDERS)]
    if data.ordered:
        orders = [np.arange(count)]
    if not isinstance(X, np.ndarray):
        X = X[:, np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]))]
        X.sort_indices()
        if X.shape[1] > 3000 and classes > 2:
            X = X.astype(np.float32)
    task = "binary" if pair else data.task
    return Problem(name, task, X, y, classes, orders)
