"""Data sets: classes or numbers, dense or sparse, compression, search path."""

import bz2
import io
import lzma
import sys

import numpy as np
import pytest
from closeness import assert_close
from test_datasets import SVM, source

from aggro import datasets
from aggro.datasets import files, read


@pytest.mark.parametrize(
    ("lines", "task", "kind"),
    [
        (b"1 1:1\n2 1:1\n", "multiclass", "i"),
        (b"1 1:1\n2 1:1\n", "regression", "f"),  # integers may be measurements
        (b"1.5 1:1\n2 1:1\n", "binary", "f"),
        (b"1.5 1:1\n2 1:1\n", "regression", "f"),
    ],
)
def test_targets_are_classes_or_numbers(lines, task, kind, tmp_path):
    (tmp_path / "file").write_bytes(lines)
    X, y = read.read(tmp_path / "file", source(lines, task=task, features=1))
    assert y.dtype.kind == kind and X.shape == (2, 1)


def test_columns_count_from_one_and_the_last_may_be_absent(tmp_path):
    (tmp_path / "file").write_bytes(SVM)
    X, _ = read.read(tmp_path / "file", source(features=4))
    assert X.toarray().tolist() == [[0.5, 1, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0]]
    X, _ = read.read(tmp_path / "file", source(features=2), np.float32)
    assert X.dtype == np.float32


@pytest.mark.parametrize(("lines", "dense"), [(b"1 1:1\n0 2:1\n", True), (b"1 1:1\n0\n", False)])
def test_half_full_rows_are_dense(lines, dense, tmp_path, monkeypatch):
    (tmp_path / "toy").write_bytes(lines)
    both = [source(lines, file="toy"), source(lines, file="toy", part="test")]
    monkeypatch.setattr(files, "table", lambda: {"toy": both})
    monkeypatch.setenv("AGGRO_DATA", str(tmp_path))
    data = datasets.load("toy")
    assert isinstance(data.X, np.ndarray) == isinstance(data.X_test, np.ndarray) == dense
    assert data.n_features == 2 and len(data.y_test) == 2
    assert repr(data).endswith(f"{'dense' if dense else 'sparse'})")


def test_escapes_are_resolved():
    text = "a\tone\\ttwo\\rthree\\\\nfour\\xfive"
    X, _ = read.read_texts(text.encode(), escaped=True)
    plain, _ = read.read_texts(b"a\tone two three\\nfourxfive")
    assert (plain != X).nnz == 0


def test_word_counts_are_read():
    X, y = read.read_texts(b"a\tx x x y\n\tz\nb")
    assert y.tolist() == ["a", "", "b"] and np.diff(X.indptr).tolist() == [2, 1, 0]
    ratio = np.sort(X[[0]].data)[::-1]
    assert ratio[0] / ratio[1] == pytest.approx(np.log(4) / np.log(2))
    assert_close(np.sqrt(X.multiply(X).sum(axis=1)).ravel(), [[1, 1, 0]])
    assert read.BITS == 18 and X.shape[1] == 2**18


def test_packed_files_are_unpacked():
    for pack in (bytes, bz2.compress, lzma.compress):
        assert files.unpack(pack(SVM)) == SVM
    for name, begins in (("a.bz2", b"BZh"), ("a.xz", b"\xfd7zXZ"), ("a.svm", SVM)):
        packed = files._pack_as(files.Path(name), SVM)
        assert packed.startswith(begins) and files.unpack(packed) == SVM


def test_own_files_come_before_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = source(file="toy/toy.svm", packed=SVM)
    places = [tmp_path / "aggro" / "toy.svm", tmp_path / "aggro" / "toy" / "toy.svm",
              tmp_path / "own" / "toy.svm", tmp_path / "own" / "toy" / "toy.svm"]  # fmt: skip
    for place in places:  # each precedes the last
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(SVM)
        monkeypatch.setenv("AGGRO_DATA", str(tmp_path / "own"))
        assert files.find(wanted) == place
    monkeypatch.delenv("AGGRO_DATA")
    assert files.find(wanted) == places[1]


class Answer(io.BytesIO):
    """A response of a server."""

    headers = {"Content-Length": str(3 * files.BYTES_AT_ONCE)}  # noqa: RUF012 -- nobody changes it


def test_download_is_read_in_pieces(monkeypatch):
    contents, waited, seen = bytes(range(256)) * (3 * files.BYTES_AT_ONCE // 256), [], []

    def urlopen(address, timeout):
        waited.append(timeout)
        return Answer(contents)

    monkeypatch.setattr(files.urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(
        files._Progress, "add", lambda self, count: seen.append((self.total, count))
    )
    assert files._read_address("http://x", "toy") == contents
    assert waited[0] > 0 and seen == [(len(contents), files.BYTES_AT_ONCE)] * 3


def test_progress_line_has_size_and_share(monkeypatch, capsys):
    clock = [100.0]
    monkeypatch.setattr(files.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress = files._Progress("toy", 4_000_000)
    for wait in (0.0, 0.0, 0.25, 0.0):  # the second is too soon; the end is always shown
        clock[0] += wait
        progress.add(1_000_000)
    lines = capsys.readouterr().err.split("\r")
    assert lines == ["", "toy: 1.0 of 4.0 MB", "toy: 3.0 of 4.0 MB", "toy: 4.0 of 4.0 MB"]
    files._Progress("toy", 0).add(2_000_000)
    assert capsys.readouterr().err == "\rtoy: 2.0 MB"


def test_no_progress_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    files._Progress("toy", 10).add(10)
    assert capsys.readouterr().err == ""


def test_data_sets_are_listed_by_task():
    for task in ("binary", "multiclass", "regression"):
        assert all(datasets.describe(name).task == task for name in datasets.names(task))
    assert sum(len(datasets.names(task)) for task in ("binary", "multiclass", "regression")) == len(
        datasets.names()
    )
    a9a = datasets.describe("a9a")
    assert (a9a.part, a9a.features, a9a.rows) == ("train", 123, 32561)
