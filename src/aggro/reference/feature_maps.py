"""Non-linear features of a table: random Fourier features and random binnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .rules import Array

MASK = (1 << 64) - 1
CAPACITY = 512  # rows in the sample that defines the ranks
LIMIT = 4.0  # of standardised values
PLACES = 64  # cells of a grid
MISSING = -1000.0  # the rank of a missing value
OFFSETS = 0x6F66667365747321


class RandomBits:
    """SplitMix64.

    >>> hex(RandomBits(0).bits())
    '0xe220a8397b1dcdaf'
    """

    def __init__(self, state: int) -> None:
        self.state = state & MASK

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, count: int) -> int:
        """Return a whole number below ``count``."""
        return self.bits() % count

    def uniform(self) -> float:
        """Return a number in (0, 1]."""
        return ((self.bits() >> 11) + 1) * 2.0**-53

    def normal(self) -> float:
        """Return a number of the standard normal distribution (Box and Muller)."""
        length = np.sqrt(-2 * np.log(self.uniform()))
        return float(length * np.cos(2 * np.pi * self.uniform()))


def mixed(seed: int, key: int) -> int:
    """Combine a seed and a key into a new seed."""
    return RandomBits(seed ^ (key * 0xD1B54A32D192ED03 & MASK)).bits()


class Columns:
    """Statistics of columns: moments, a sample of rows, and ranks in it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.table: list[Array] = []  # all rows learned so far
        self.sampled: list[int] = []  # the rows in the sample
        self.ranked = np.empty((0, 0))  # the sample when ranks were last computed

    def grow(self, columns: int) -> None:
        """Add columns with zeros in earlier rows."""
        self.table = [np.append(row, np.zeros(columns - len(row))) for row in self.table]
        if self.table:
            late = np.zeros((len(self.ranked), columns - self.ranked.shape[1]))
            self.ranked = np.hstack([self.ranked, late])

    def learn(self, row: Array) -> None:
        """Count a row; compute ranks after 1, 4, 16, 64 ... rows."""
        self.table.append(row)
        rows = len(self.table)
        if rows <= CAPACITY:
            self.sampled.append(rows - 1)
        else:
            slot = RandomBits(self.seed + rows * 0x9E3779B97F4A7C15).below(rows)
            if slot < CAPACITY:
                self.sampled[slot] = rows - 1
        if rows.bit_count() == 1 and rows.bit_length() % 2 == 1:
            self.find_ranks()

    def find_ranks(self) -> None:
        """Use the current sample for ranks."""
        self.ranked = np.array([self.table[i] for i in self.sampled])

    def standardised(self, row: Array) -> Array:
        """Return the row minus the mean, in standard deviations."""
        if not self.table:
            return np.zeros(len(row))
        table = np.array(self.table)
        known = [column[~np.isnan(column)] for column in table.T]
        mean = np.array([column.mean() if len(column) else 0.0 for column in known])
        deviation = np.array([column.std() if len(column) else 0.0 for column in known])
        moved = np.divide(row - mean, deviation, out=np.zeros(len(row)), where=deviation > 0)
        standardised: Array = np.clip(np.nan_to_num(moved), -LIMIT, LIMIT)
        return standardised

    def ranks(self, row: Array) -> Array:
        """Return the share of sampled values below each value, counting equal ones half."""
        ranks = np.full(len(row), 0.5)
        for j in range(len(row) if len(self.ranked) else 0):
            known = np.sort(self.ranked[:, j][~np.isnan(self.ranked[:, j])])
            if len(known):
                sides = [np.searchsorted(known, row[j], side) for side in ("left", "right")]
                ranks[j] = sum(sides) / (2 * len(known))
        return np.where(np.isnan(row), np.nan, ranks)


@dataclass
class FeatureMap:
    """Standardised columns, random Fourier features and random binnings of rows.

    ``fourier`` is the (even) number of Fourier features, ``grids`` that of grids over the columns
    of the first row. NaN is a missing value.

    Examples
    --------
    >>> from aggro.reference import FeatureMap
    >>> features = FeatureMap(fourier=2, grids=0, seed=0)
    >>> features.grow(1)
    >>> for value in (1.0, 3.0):
    ...     features.learn([value])
    >>> features.map([3.0])[2:].tolist()
    [1.0]
    """

    fourier: int
    grids: int
    seed: int
    columns: int = 0
    known: Columns = field(init=False)
    sides: list[list[tuple[int, float, float]]] = field(init=False, default_factory=list)
    blocks: list[tuple[range, range]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.known = Columns(mixed(self.seed, 3))

    def grow(self, columns: int) -> None:
        """Add columns up to this number; their features come after all others."""
        fresh, first = range(self.columns, columns), len(self.sides)
        if not self.blocks:
            self.gamma, self.gain = 1.6 / max(columns, 4), columns**-0.5
        share = -(-self.grids * len(fresh) // columns)
        for grid in range(first, min(first + share, 2 * self.grids)):
            self.sides.append(self._grid(grid, fresh, columns))
        self.blocks.append((fresh, range(first, len(self.sides))))
        self.columns = columns
        self.known.grow(columns)

    def _grid(self, grid: int, fresh: range, columns: int) -> list[tuple[int, float, float]]:
        """Return the columns of a grid, its shifts and the number of cells per rank."""
        random = RandomBits(mixed(mixed(self.seed, 2), grid))
        many = min(columns, 2 + random.below(3))
        chosen = [fresh.start + random.below(len(fresh))]
        while len(chosen) < many:
            column = random.below(columns)
            chosen += [] if column in chosen else [column]
        sides = []
        for column in chosen:
            gamma = -np.log(random.uniform()) - np.log(random.uniform())
            sides.append((column, random.uniform(), 1 / (0.25 * gamma + 1e-3)))
        return sides

    def learn(self, row: Sequence[float] | Array) -> None:
        """Count a row."""
        self.known.learn(np.asarray(row, dtype=np.float64))

    def map(self, row: Sequence[float] | Array) -> Array:
        """Return the features of a row."""
        values = np.asarray(row, dtype=np.float64)
        standardised, ranks = self.known.standardised(values), self.known.ranks(values)
        parts = [self._waves(standardised, ranks)]
        for columns, grids in self.blocks:
            parts.append(self.gain * standardised[columns.start : columns.stop])
            parts += [self._cell(self.sides[grid], ranks) for grid in grids]
        return np.concatenate(parts)

    def _waves(self, standardised: Array, ranks: Array) -> Array:
        """Return random Fourier features, half of them of ranks."""
        seed, half = mixed(self.seed, 1), self.fourier // 2
        random = RandomBits(mixed(seed, OFFSETS))
        turns = np.array([random.uniform() for _ in range(self.fourier)])
        centred = np.nan_to_num((ranks - 0.5) * np.sqrt(12))
        for j in range(self.columns):
            random = RandomBits(mixed(seed, j))
            direction = [random.normal() for _ in range(self.fourier)]
            values = np.repeat([standardised[j], centred[j]], half)
            turns += values * direction * np.sqrt(2 * self.gamma) / (2 * np.pi)
        waves: Array = np.sqrt(2 / max(self.fourier, 1)) * np.cos(2 * np.pi * turns)
        return waves

    def _cell(self, sides: list[tuple[int, float, float]], ranks: Array) -> Array:
        """Return an indicator of the hashed cell of a grid."""
        ranks, key = np.where(np.isnan(ranks), MISSING, ranks), 0
        cells = [int(np.floor(shift + ranks[j] * per_rank)) for j, shift, per_rank in sides]
        for cell in [*cells, 0, 0, 0][:4]:
            key = (key + cell + 1) * 0x9E3779B1 & 0xFFFFFFFF
            key ^= key >> 15
        place = (key * 0x9E3779B1 & 0xFFFFFFFF) >> 26
        cell_of_row: Array = np.eye(PLACES)[place] / np.sqrt(self.grids)
        return cell_of_row
