"""Columns of numbers beside texts: each is scaled on its own."""

import numpy as np
import pytest
from closeness import assert_close

from aggro.text.table import Sizes


def plain(numbers):
    """Divide each number by the root mean square of its column so far."""
    scaled = np.zeros_like(numbers)
    for i, row in enumerate(numbers):
        for j, value in enumerate(row):
            met = numbers[: i + 1, j]
            size = np.sqrt(np.sum(met**2) / max(np.count_nonzero(met), 1))
            scaled[i, j] = value / size if size > 0 else value
    return scaled


@pytest.mark.parametrize("cuts", [[], [1], [3, 4, 9]])
def test_each_column_is_scaled_by_its_own_mean_square(cuts):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(12, 3)) * [1.0, 100.0, 0.01] * (rng.random((12, 3)) < 0.7)
    sizes, found = Sizes.of(3), []
    for part in np.split(numbers, cuts):
        scaled, sizes = sizes.scaled(part, learn=True)
        found.append(scaled)
    assert_close(np.vstack(found), plain(numbers), rtol=1e-12)
    assert_close(sizes.squares, (numbers**2).sum(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(sizes.counts, np.count_nonzero(numbers, axis=0))
    same, unchanged = sizes.scaled(numbers[:2], learn=False)
    assert unchanged is sizes
    assert_close(same, numbers[:2] / np.sqrt(sizes.squares / sizes.counts), rtol=1e-12)
