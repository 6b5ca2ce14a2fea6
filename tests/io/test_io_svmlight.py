"""svmlight files are read as scikit-learn reads them, with fewer restrictions."""

import bz2
import io
import os
from pathlib import Path

import numpy as np
import pytest
from file_helpers import collect, random_svmlight

import aggro

datasets = pytest.importorskip("sklearn.datasets")
DATA = os.environ.get("AGGRO_DATA")


def assert_same(ours, theirs):
    (X, y), (expected_X, expected_y) = ours, theirs
    assert X.shape == expected_X.shape
    assert X.dtype == expected_X.dtype
    assert X.data.tobytes() == expected_X.data.tobytes()
    np.testing.assert_array_equal(X.indices, expected_X.indices)
    np.testing.assert_array_equal(X.indptr, expected_X.indptr)
    if isinstance(y, list):
        assert y == expected_y
    else:
        assert y.tobytes() == np.asarray(expected_y).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", ["auto", True, False])
@pytest.mark.parametrize("first", [0, 1])
def test_load_svmlight_equals_scikit_learn(dtype, zero_based, first):
    if first == 0 and zero_based is False:
        pytest.skip("an error in both")
    data = random_svmlight(300, first=first)
    settings = {"dtype": dtype, "zero_based": zero_based}
    assert_same(
        aggro.io.load_svmlight(io.BytesIO(data), **settings),
        datasets.load_svmlight_file(io.BytesIO(data), **settings),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n# nothing\n",
        b"1 1:2",
        b"1 1:2\r\n2 3:4\r\n",
        b"  1\t1:2   3:4 \n",
        b"1 1:2#no space\n# 5 6:7\n1\n",
        b"1 qid:3 1:2\n1 qid:4 1:1\n",
        b"1e2 1:1e-7 2:.5 3:5. 4:+1 5:-0\n",
        b"1 12345678:1 123456789:2\n",
        b"1\x0b1:2\x0c3:4\r5:6\n",
    ],
)
def test_spacing_and_comments_are_accepted(data):
    assert_same(
        aggro.io.load_svmlight(io.BytesIO(data)), datasets.load_svmlight_file(io.BytesIO(data))
    )


def test_multilabel_files_are_read():
    data = b"1,2 1:1\n 1:2\n3 2:1\n2,1.5,-1 3:1\n1\n"
    assert_same(
        aggro.io.load_svmlight(io.BytesIO(data), multilabel=True),
        datasets.load_svmlight_file(io.BytesIO(data), multilabel=True),
    )


def test_query_ids_are_returned():
    data = b"1 qid:3 1:2\n1 qid:12 1:1\n"
    assert aggro.io.load_svmlight(io.BytesIO(data), query_id=True)[2].tolist() == [3, 12]


def test_n_features_sets_the_width():
    assert aggro.io.load_svmlight(io.BytesIO(b"1 1:2\n"), n_features=7)[0].shape == (1, 7)
    with pytest.raises(ValueError, match="n_features"):
        aggro.io.load_svmlight(io.BytesIO(b"1 9:2\n"), n_features=7)


def test_unsorted_and_repeated_indices_keep_their_order(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 5:1 2:2 5:3 1:4\n")
    (batch,) = aggro.io.read(path)
    assert batch.X.indices.tolist() == [4, 1, 0]
    assert batch.X.data.tolist() == [4.0, 2.0, 4.0]


def test_names_are_accepted_as_labels(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes("spam 1:1\nha\u00e9 2:1\nspam 1:2\n".encode())
    assert collect(path)[1] == ["spam", "ha\u00e9", "spam"]


def test_indices_beyond_32_bits():
    X, _ = aggro.io.load_svmlight(io.BytesIO(b"1 1:1\n1 2:1 3000000000:5\n"))
    assert X.shape == (2, 3_000_000_000)
    assert X.indices.dtype == np.int64


def test_unseen_features_can_be_ignored(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1 9:2\n1 9:1\n1 2:3\n")
    X, _, _ = collect(path, n_features=2, unseen="ignore")
    assert X.tolist() == [[1, 0], [0, 0], [0, 3]]
    with pytest.raises(aggro.io.BadLine, match="n_features"):
        collect(path, n_features=2)


def test_the_base_is_decided_by_the_first_batch(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n1 2:1\n1 0:1\n")
    reader = aggro.io.read(path, batch_rows=2)
    with pytest.raises(aggro.io.BadLine, match="zero_based=True"):
        list(reader)
    assert reader.zero_based is False
    assert collect(path, batch_rows=2, zero_based=True)[0].shape == (3, 3)


@pytest.mark.parametrize("start", [0, 1])
def test_index_beyond_the_memory_is_rejected(tmp_path, start):
    path = tmp_path / "a.svm"
    path.write_text(f"1 {start}:1\n0 9:1\n2 576460752303423491:1\n1 10:1\n")
    message = (
        r"line 3, column 3: '576460752303423491:1' asks for 576,460,752,303,423,49[12] columns"
    )
    with pytest.raises(aggro.io.BadLine, match=message + r".* at most 1,099,511,627,776"):
        list(aggro.io.read(path, widest=2**40))
    for widest, rows in ((2**40, 3), (10 + 1 - start, 3), (10 - start, 2)):
        reader = aggro.io.read(path, widest=widest, skip_bad=True, zero_based=start == 0)
        assert sum(batch.n_rows for batch in reader) == rows
    assert sum(batch.n_rows for batch in aggro.io.read(path)) == 4


@pytest.mark.parametrize("first, widest_index", [(0, 4), (1, 5)])
def test_widest_counts_columns_for_either_base(tmp_path, first, widest_index):
    path = tmp_path / "a.svm"
    for index, fits in ((widest_index, True), (widest_index + 2, False)):
        path.write_text(f"1 {first}:1\n0 {index}:1\n")
        reader = aggro.io.read(path, widest=5, skip_bad=True)
        assert sum(batch.n_rows for batch in reader) == 1 + fits
        assert reader.n_bad == 1 - fits


@pytest.mark.skipif(DATA is None, reason="AGGRO_DATA is not set")
@pytest.mark.parametrize(
    "name", ["a1a/a1a.t", "ionosphere/ionosphere.svm", "letter/letter.scale", "news20/news20"]
)
def test_data_sets_equal_scikit_learn(name):
    path = Path(DATA, name + ".bz2")
    data = io.BytesIO(bz2.decompress(path.read_bytes()))
    assert_same(aggro.io.load_svmlight(path), datasets.load_svmlight_file(data))
