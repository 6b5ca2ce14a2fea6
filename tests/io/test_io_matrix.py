"""Sparse rows without SciPy equal SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp

from aggro.io.batch import SparseRows, from_entries


def entries(seed, rows=7, columns=5, count=40):
    random = np.random.default_rng(seed)
    places = random.integers(0, rows, count), random.integers(0, columns, count)
    return (*places, random.integers(-4, 5, count).astype(float), (rows, columns))


@pytest.mark.parametrize("seed", range(5))
def test_duplicate_entries_are_summed(seed):
    rows, columns, values, shape = entries(seed)
    ours = from_entries(rows, columns, values, shape)
    theirs = sp.coo_matrix((values, (rows, columns)), shape=shape).tocsr()
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.is_sorted
    assert ours.to_scipy().has_canonical_format
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_empty_matrix_is_valid():
    nothing = np.empty(0, np.int64)
    ours = from_entries(nothing, nothing, np.empty(0), (3, 4))
    np.testing.assert_array_equal(ours.toarray(), np.zeros((3, 4)))


PARTS = [slice(2, 5), slice(None), slice(3, None), slice(5, 2), slice(6, 99), slice(-2, None)]


@pytest.mark.parametrize("part", [*PARTS, np.array([4, 0, 0]), np.arange(7) % 2 == 1], ids=str)
def test_rows_can_be_selected(part):
    ours = from_entries(*entries(1))
    chosen = ours[part]
    np.testing.assert_array_equal(chosen.toarray(), ours.toarray()[part])
    assert chosen.indptr.dtype == chosen.indices.dtype == np.int32
    assert chosen.indptr[0] == 0


def test_columns_can_be_added_but_not_removed():
    rows = from_entries(*entries(2))
    rows.resize((7, 9))
    assert rows.to_scipy().shape == (7, 9)
    with pytest.raises(ValueError, match="cannot become"):
        rows.resize((7, 8))
    with pytest.raises(ValueError, match="cannot become"):
        rows.resize((6, 9))


def test_columns_are_sorted_within_rows():
    rows = SparseRows(np.arange(4.0), np.array([3, 1, 2, 0]), np.array([0, 2, 4]), (2, 4))
    before = rows.toarray()
    rows.sort_indices()
    assert (rows.indices.tolist(), rows.data.tolist()) == ([1, 3, 0, 2], [1, 0, 3, 2])
    np.testing.assert_array_equal(rows.toarray(), before)


def test_wide_columns_have_wide_indices():
    wide = SparseRows(np.ones(1), np.array([5], np.int32), np.array([0, 1]), (1, 2**31))
    assert wide.indices.dtype == wide.indptr.dtype == np.int64
    narrow = SparseRows(np.ones(1), np.array([5], np.int32), np.array([0, 1]), (1, 2**31 - 1))
    assert narrow.indices.dtype == narrow.indptr.dtype == np.int32
