"""Data sets by name: search path, checksums and messages."""

import bz2
import hashlib
import lzma
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from closeness import assert_close

from aggro import datasets
from aggro.datasets import files, read

SVM = b"1 1:0.5 2:1\n-1 1:1\n1 2:2\n"
TEXT = "ham\tHello, hello\\nworld\nspam\tBUY\u0085 now\\tnow\n".encode()
CLOSED = "http://127.0.0.1:9/toy"


def sha(contents):
    return hashlib.sha256(contents).hexdigest()


def source(contents=SVM, packed=None, **changes):
    kept = {
        **{"name": "toy", "part": "train", "task": "binary", "order": "-", "kind": "svmlight"},
        **{"rows": 3, "features": 2, "file": "toy/toy.bz2", "address": "-"},
        **{"sha256": sha(packed or bz2.compress(contents)), "unpacked_sha256": sha(contents)},
    }
    return files.Source(**{**kept, **changes})


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.setenv("AGGRO_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "own" / "toy").mkdir(parents=True)
    return tmp_path / "own"


@pytest.fixture
def toy(monkeypatch):
    def put(*sources):
        monkeypatch.setattr(files, "table", lambda: {"toy": list(sources)})

    return put


def publish(path, contents):
    path.write_bytes(contents)
    return path.as_uri()


# -- sources -------------------------------------------------------------------------------------


def test_own_folder_comes_first(own, toy):
    (own / "toy" / "toy.bz2").write_bytes(bz2.compress(SVM))
    toy(source())
    data = datasets.load("toy")
    np.testing.assert_array_equal(data.X, [[0.5, 1], [1, 0], [0, 2]])
    assert data.y.tolist() == [1, -1, 1]
    assert (data.task, data.ordered, data.X_test) == ("binary", False, None)


def test_files_may_be_flat_and_unpacked(own, toy):
    (own / "toy.bz2").write_bytes(SVM)
    toy(source())
    assert datasets.load("toy").X.shape == (3, 2)


def test_wrong_file_is_rejected(own):
    (own / "toy" / "toy.bz2").write_bytes(bz2.compress(SVM[:-4]))
    with pytest.raises(datasets.DataError, match=r"not the file of 'toy'.*sha256"):
        files.find(source())


def test_truncated_file_is_rejected(own):
    (own / "toy" / "toy.bz2").write_bytes(bz2.compress(SVM)[:-5])
    with pytest.raises(datasets.DataError, match="cut short"):
        files.find(source())


@pytest.mark.parametrize("pack", [lambda b: b, bz2.compress, lzma.compress])
def test_download_is_kept_in_the_cache(own, tmp_path, pack):
    public = publish(tmp_path / "public", pack(SVM))
    found = files.find(source(address=public))
    assert found == datasets.cache_folder() / "toy" / "toy.bz2"
    (tmp_path / "public").unlink()
    assert files.find(source(address=public)) == found
    assert [path.name for path in found.parent.iterdir()] == ["toy.bz2"]


def test_member_of_a_zip_archive_is_downloaded(own, tmp_path):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("readme", "no")
        archive.writestr("toy", SVM)
    address = (tmp_path / "z.zip").as_uri()
    found = files.find(source(address=address + "#toy"))
    assert files.unpack(found.read_bytes()) == SVM
    found.unlink()
    with pytest.raises(datasets.DataError, match="cannot be unpacked"):
        files.find(source(address=address + "#gone"))


def test_download_with_wrong_checksum_is_discarded(own, tmp_path):
    public = publish(tmp_path / "public", b"<html>moved</html>")
    with pytest.raises(datasets.DataError, match="sha256 differs"):
        files.find(source(address=public))
    assert not datasets.cache_folder().exists()


def test_without_a_network_the_error_says_what_to_do(own):
    with pytest.raises(
        datasets.DataError, match=r"cannot be fetched from .*AGGRO_DATA/toy/toy.bz2"
    ):
        files.find(source(address=CLOSED))


def test_without_an_address_the_error_says_so(own):
    with pytest.raises(datasets.DataError, match=r"no public address.*AGGRO_DATA/toy/toy.bz2"):
        files.find(source())


def test_cache_folder_has_a_default(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / ".cache" / "aggro"


def test_terminal_shows_progress(own, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    files.find(source(address=publish(tmp_path / "public", SVM)))
    assert "toy: 0.0 of 0.0 MB" in capsys.readouterr().err


# -- contents ------------------------------------------------------------------------------------


def test_texts_become_rows_of_length_one():
    X, y = read.read_texts(TEXT, escaped=True)
    assert X.shape == (2, 2**18)
    assert y.tolist() == ["ham", "spam"]
    assert np.diff(X.indptr).tolist() == [2, 2]
    hello, world = np.log1p(2), np.log1p(1)
    expected = np.sort([hello, world]) / np.hypot(hello, world)
    assert_close(np.sort(X[0].data), expected)
    assert_close(np.sort(X[1].data), expected)


def test_escapes_are_kept_in_files_without_escaping():
    X, _ = read.read_texts(b"a\tone\\ntwo")
    assert np.diff(X.indptr).tolist() == [2]  # one, ntwo
    assert (read.read_texts(b"a\tone ntwo")[0] != X).nnz == 0


def test_backslashes_are_resolved_once():
    a, _ = read.read_texts(b"a\tone\\\\ntwo", escaped=True)
    b, _ = read.read_texts(b"a\tone ntwo")
    assert (a != b).nnz == 0


def test_empty_text_is_an_empty_row():
    X, _ = read.read_texts(b"a\t\nb\tword\n")
    assert np.diff(X.indptr).tolist() == [0, 1]
    assert np.isfinite(X.data).all()


def test_float32_rows_are_returned():
    X, _ = read.read_texts(TEXT, dtype=np.float32)
    assert X.dtype == np.float32


def test_parts_are_joined_and_tested(own, toy):
    for name in ("toy.bz2", "toy.val.bz2", "toy.t.bz2"):
        (own / "toy" / name).write_bytes(bz2.compress(SVM))
    toy(
        source(file="toy/toy.t.bz2", part="test", order="time"),
        source(order="time"),
        source(file="toy/toy.val.bz2", part="validation", order="time"),
    )
    data = datasets.load("toy")
    assert data.X.shape == (6, 2)
    assert data.X_test.shape == (3, 2)
    assert data.ordered
    assert repr(data) == ("Dataset('toy', binary, 6 + 3 rows x 2 features, dense, in time order)")


def test_sparse_rows_stay_sparse(own, toy):
    contents = b"1 1:1\n0 4:1\n"
    (own / "toy" / "toy.bz2").write_bytes(bz2.compress(contents))
    toy(source(contents, features=5))
    assert datasets.load("toy").X.nnz == 2


# -- the table --------------------------------------------------------------------------------


def test_unknown_name_lists_near_ones():
    with pytest.raises(ValueError, match=r"'electricty'.*electricity"):
        datasets.load("electricty")


def test_table_is_consistent():
    assert len(datasets.names()) >= 40
    assert set(datasets.names("regression")) < set(datasets.names())
    for name in datasets.names():
        sources = files.files_of(name)
        assert datasets.describe(name).part == "train"
        assert len({(s.task, s.order, s.kind, s.features) for s in sources}) == 1
        for s in sources:
            assert len(s.sha256) == len(s.unpacked_sha256) == 64
            assert s.task in ("binary", "multiclass", "regression")
            assert s.order in ("time", "class", "-")
            assert s.address == "-" or s.address.startswith("https://")


def test_needs_no_sklearn():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from aggro import datasets; from aggro.datasets import read\n"
        "assert len(datasets.names()) and read.read_texts(b'a\\tb c')[0].nnz == 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
