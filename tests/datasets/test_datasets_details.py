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
from aggro.datasets import fetch, read, table


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
    monkeypatch.setattr(table, "table", lambda: {"toy": both})
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
        assert fetch.unpack(pack(SVM)) == SVM
    for name, begins in (("a.bz2", b"BZh"), ("a.xz", b"\xfd7zXZ"), ("a.svm", SVM)):
        packed = fetch._pack_as(fetch.Path(name), SVM)
        assert packed.startswith(begins) and fetch.unpack(packed) == SVM


def test_own_files_come_before_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wanted = source(file="toy/toy.svm", packed=SVM)
    places = [tmp_path / "aggro" / "toy.svm", tmp_path / "aggro" / "toy" / "toy.svm",
              tmp_path / "own" / "toy.svm", tmp_path / "own" / "toy" / "toy.svm"]  # fmt: skip
    for place in places:  # each precedes the last
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(SVM)
        monkeypatch.setenv("AGGRO_DATA", str(tmp_path / "own"))
        assert fetch.find(wanted) == place
    monkeypatch.delenv("AGGRO_DATA")
    assert fetch.find(wanted) == places[1]


def test_concurrent_downloads_share_one_file(tmp_path):
    target = tmp_path / "deep" / "file"
    fetch._keep(b"one", target)
    fetch._keep(b"two", target)
    assert target.read_bytes() == b"two"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


class Answer(io.BytesIO):
    """A response of a server."""

    headers = {"Content-Length": str(3 * fetch.BYTES_AT_ONCE)}  # noqa: RUF012 -- nobody changes it


def test_download_is_read_in_pieces(monkeypatch):
    contents, waited, seen = bytes(range(256)) * (3 * fetch.BYTES_AT_ONCE // 256), [], []

    def urlopen(address, timeout):
        waited.append(timeout)
        return Answer(contents)

    monkeypatch.setattr(fetch.urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(fetch, "_bar", lambda title, total: Bar(title, total, seen))
    assert fetch._read_address("http://x", "toy") == contents
    assert waited[0] > 0 and seen == [("toy", 3 * fetch.BYTES_AT_ONCE), *[fetch.BYTES_AT_ONCE] * 3]


class Bar:
    def __init__(self, title, total, seen):
        self.seen = seen
        seen.append((title, total))

    def __enter__(self):
        return self.seen.append

    def __exit__(self, *_):
        pass


def test_progress_line_has_size_and_share(monkeypatch, capsys):
    clock = [100.0]
    monkeypatch.setattr(fetch.time, "monotonic", lambda: clock[0])
    bar = fetch._PlainBar("toy", 4_000_000)
    bar(1_000_000)
    bar(1_000_000)  # too soon after the last
    clock[0] += 0.25
    bar(1_000_000)
    bar(1_000_000)  # the end is always shown
    said = capsys.readouterr().err.split("\r")
    assert said == ["", "toy: 1.0 of 4.0 MB", "toy: 3.0 of 4.0 MB", "toy: 4.0 of 4.0 MB"]
    fetch._PlainBar("toy", 0)(2_000_000)
    assert capsys.readouterr().err == "\rtoy: 2.0 MB"


def test_no_progress_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with fetch._bar("toy", 10) as advance:
        advance(10)
    assert capsys.readouterr().err == ""


def test_data_sets_are_listed_by_task():
    for task in ("binary", "multiclass", "regression"):
        assert all(datasets.describe(name).task == task for name in datasets.names(task))
    assert sum(len(datasets.names(task)) for task in ("binary", "multiclass", "regression")) == len(
        datasets.names()
    )
    a9a = datasets.describe("a9a")
    assert (a9a.part, a9a.features, a9a.rows) == ("train", 123, 32561)
