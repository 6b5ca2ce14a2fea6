"""Representations of numeric columns: as they are, and as non-linear features of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro import _core
from aggro.learner import Array
from aggro.selection.representation import Identity, Representations
from aggro.settings import Settings
from aggro.transaction import Checkpoint

# Fourier features and grids (see ``aggro.FeatureMap``).
SIZES = {"fourier": (256, 0), "bins": (0, 128), "both": (256, 128)}
BLOCK = 1024  # rows that are mapped at a time
SELECTED = ("linear", "both")  # by ``features="auto"``; "both" is rarely worse than either part
MOST_COLUMNS = 300  # of rows for which ``features="auto"`` selects among feature maps
# ``fit`` on MANY_ROWS or more makes several passes and uses a multiple of SIZES: LARGEST for one
# output, and less for several outputs, whose models are larger.
MANY_ROWS, LARGEST = 1000, 4
GROWN = {True: LARGEST, False: 2}


def kinds_of(settings: Settings, columns: int) -> tuple[str, ...]:
    """Return the representations that rows with this number of columns have."""
    if settings.features != "auto":
        return (settings.features,)
    narrow = columns <= MOST_COLUMNS and not settings.mergeable
    return SELECTED if narrow else ("linear",)


def growth_of(rows: int, outputs: int) -> int:
    """Return how many times SIZES the maps of ``fit`` are.

    >>> growth_of(999, 1), growth_of(1000, 1), growth_of(1000, 3)
    (1, 4, 2)
    """
    return GROWN[outputs == 1] if rows >= MANY_ROWS else 1


class FeatureMaps:
    """The raw columns ("linear") and feature maps of them, which share their statistics.

    Parameters
    ----------
    kinds : sequence of str
        Values of the setting ``features``, each a representation.
    columns : int
        Number of columns.
    dtype : float32 or float64
        Type of the features.
    seed : int
        Draws directions and grids.
    growth : int, default=1
        Multiplies the numbers of features.
    mapped : int, optional
        Number of columns that are mapped; the others, such as hashed categories, follow the
        features. By default all.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        columns: int,
        dtype: Any,
        seed: int,
        growth: int = 1,
        mapped: int | None = None,
    ) -> None:
        self.kinds = tuple(kinds)
        self.mapped = [kind for kind in self.kinds if kind in SIZES]
        self.seed, self.dtype, self.growth = seed, np.dtype(dtype), growth
        self.core = _core.FeatureMap([self.size(kind) for kind in self.mapped], seed)
        self.core.grow(columns if mapped is None else mapped)
        self.columns, self.appends = columns, mapped is not None
        self._before = self.core  # the present transaction

    def size(self, kind: str) -> tuple[int, int]:
        """Return the numbers of Fourier features and of grids of a representation."""
        fourier, grids = SIZES[kind]
        return fourier * self.growth, grids * self.growth

    @property
    def descriptions(self) -> Sequence[dict[str, Any]]:
        """The features of each representation."""
        return [{"features": kind} for kind in self.kinds]

    def encode(
        self,
        rows: _core.Rows,
        order: Array | None,
        needed: Sequence[int],
        widths: Sequence[int],
        *,
        learn: bool,
        threads: int = 1,
    ) -> list[_core.Rows]:
        """Return the rows at these positions as each needed representation sees them."""
        kinds = [self.kinds[number] for number in needed]
        layouts = [self.mapped.index(kind) for kind in kinds if kind in SIZES]
        single = self.dtype == np.float32
        how = {"order": order, "single": single, "missing": False, "append": self.appends}
        mapped = iter(self.core.map(rows, layouts, learn=learn, **how))
        return [
            _core.Rows(*next(mapped)) if kind in SIZES else _taken(rows, order) for kind in kinds
        ]

    def width(self, number: int) -> int:
        """Return the number of columns of a representation."""
        kind = self.kinds[number]
        if kind not in SIZES:
            return self.columns
        return self.core.features(self.mapped.index(kind)) + self.columns - self.core.columns

    def grow(self, columns: int) -> None:
        """Add columns up to this number; they are mapped unless some columns are not."""
        self.columns = columns
        if not self.appends:
            self.core.grow(columns)

    def mapped_of(self, columns: int) -> int:
        """Return how many of this number of columns are mapped."""
        return self.core.columns if self.appends else columns

    def reference(
        self, number: int, reference_row: _core.Rows | None, width: int
    ) -> _core.Rows | None:
        """Return the features of the centre of all columns, which are the same at any time."""
        kind = self.kinds[number]
        if reference_row is None or kind not in SIZES:
            return reference_row
        blank = _core.FeatureMap(
            [self.size(kind)], self.seed
        )  # to which every row is in the centre
        blank.grow(self.core.columns)
        how = {"single": self.dtype == np.float32, "append": self.appends}
        (features,) = blank.map(reference_row, [0], **how)
        return _core.Rows(*features)

    def block_size(self) -> int:
        """Return how many rows are encoded at a time."""
        return BLOCK

    def checkpoint(self) -> Checkpoint:
        """Return what restores the statistics of the columns after any number of blocks."""
        before = self.core.copy()

        def restore() -> None:
            self.core = self._before = before.copy()

        return restore

    def begin(self) -> None:
        """Begin a transaction: what ``encode`` learns from here on can be undone."""
        self._before = self.core.copy()

    def commit(self) -> None:
        """Keep what was learned since ``begin``."""
        self._before = self.core

    def prune(self, examples: int) -> None:
        """Do nothing: the statistics have a fixed size."""

    def rollback(self) -> None:
        """Undo what was learned since ``begin``."""
        self.core = self._before

    def only(self, number: int) -> Representations:
        """Return a copy with this representation alone, which continues as this one would."""
        kind = self.kinds[number]
        if kind not in SIZES:
            return Identity()
        kept = copy.copy(self)
        kept.kinds, kept.mapped = (kind,), [kind]
        kept.core = kept._before = self.core.only(self.mapped.index(kind))
        return kept

    def __copy__(self) -> FeatureMaps:
        copied = FeatureMaps.__new__(FeatureMaps)
        vars(copied).update(vars(self))
        copied.core = copied._before = self.core.copy()
        return copied


def remembered_rows(core: _core.FeatureMap, most: int) -> Array:
    """Return some of the rows that a feature map has learned, as they were."""
    state = core.state()
    rows = state["sample"].reshape(len(state["mean"]), -1)[:, : int(state["rows"][0])]
    return np.asarray(rows.T[:: max(1, -(-rows.shape[1] // most))])


def _taken(rows: _core.Rows, order: Array | None) -> _core.Rows:
    return rows if order is None else _core.take_rows(rows, order)
