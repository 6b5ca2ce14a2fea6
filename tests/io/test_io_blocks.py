"""Sources and block sizes do not change the rows."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from file_helpers import collect, random_svmlight

import aggro
from aggro.io.sources import Block, compressor_of, read_ahead, sampled, whole_lines

TEXT = b"1 1:0.5 3:2 # x\r\n\n-1 2:1\n# note\n2 qid:1 10:1e-3\n3"


@pytest.mark.parametrize("size", range(1, len(TEXT) + 2))
def test_block_size_does_not_change_the_rows(tmp_path, size):
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT)
    X, y, _ = collect(path, batch_bytes=size, zero_based=True)
    expected_X, expected_y = aggro.io.load_svmlight(io.BytesIO(TEXT), zero_based=True)
    np.testing.assert_array_equal(X, expected_X.toarray())
    assert y == expected_y.tolist()


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("size", [10, 1000, 1 << 20])
def test_batch_rows_is_exact(tmp_path, rows, size):
    path = tmp_path / "a.svm"
    path.write_bytes(random_svmlight(50))
    counts = [batch.n_rows for batch in aggro.io.read(path, batch_rows=rows, batch_bytes=size)]
    assert sum(counts) == 50
    assert all(count == min(rows, 50) for count in counts[:-1])


@pytest.mark.parametrize("size", range(1, 20))
def test_blocks_end_at_line_ends(size):
    blocks = [bytes(block.data) for block in whole_lines(io.BytesIO(TEXT), size, 1000)]
    assert b"".join(blocks) == TEXT
    assert all(block.endswith(b"\n") for block in blocks[:-1])


COMPRESSORS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_read(tmp_path, suffix):
    data = random_svmlight(100)
    compress = COMPRESSORS.get(suffix)
    if compress is None:
        compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(compress(data))
    X, y = aggro.io.load_svmlight(path)
    expected_X, expected_y = aggro.io.load_svmlight(io.BytesIO(data))
    assert (expected_X != X).nnz == 0
    assert y.tolist() == expected_y.tolist()


def test_error_names_the_missing_extra(monkeypatch, tmp_path):
    (tmp_path / "a.svm.zst").write_bytes(b"")
    module = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install zstandard"):
        list(aggro.io.read(tmp_path / "a.svm.zst"))
    with pytest.raises(ImportError, match=r"pip install zstandard"):
        compressor_of("to-be-written.zst")  # before there is anything to write


def test_folders_patterns_and_lists_are_expanded(tmp_path):
    for name in ["b.svm", "a.svm", ".hidden"]:
        (tmp_path / name).write_bytes(b"1 1:1\n")
    assert collect(tmp_path)[0].shape == (2, 1)
    assert collect(tmp_path / "*.svm")[0].shape == (2, 1)
    assert collect([tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "a.svm"])[0].shape == (3, 1)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        aggro.io.read(tmp_path / "nowhere")


def test_standard_input_is_read_once():
    code = (
        "import aggro\n"
        "reader = aggro.io.read('-')\n"
        "print(sum(batch.n_rows for batch in reader))\n"
        "next(iter(reader))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"1 1:1\n" * 10, capture_output=True, check=False
    )
    assert done.stdout.split() == [b"10"]
    assert b"once only" in done.stderr


def test_an_abandoned_reader_leaves_no_thread(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(random_svmlight(2000))
    before = threading.active_count()
    passing = iter(aggro.io.read(path, batch_bytes=100))
    next(passing)
    passing.close()
    assert threading.active_count() == before


def test_errors_of_the_thread_are_raised():
    def failing():
        yield 1
        raise OSError("gone")

    ahead = read_ahead(failing())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="gone"):
        next(ahead)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_bounded(tmp_path):
    path = tmp_path / "large.svm"
    line = b"1 " + b" ".join(b"%d:0.25" % column for column in range(1, 200)) + b"\n"
    path.write_bytes(line * 30_000)
    code = (
        "import resource, sys, scipy.sparse\n"
        "import aggro\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "next(iter(aggro.io.read(sys.argv[1], batch_bytes=1 << 20))); before = peak()\n"
        "rows = sum(b.n_rows for b in aggro.io.read(sys.argv[1], batch_bytes=1 << 20))\n"
        "print(rows, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, check=True, env=os.environ
    )
    rows, growth = map(int, done.stdout.split())
    assert rows == 30_000
    assert growth < 24 * 1024 < path.stat().st_size / 1024 * 3


@pytest.mark.parametrize("length", [1, 3, 4, 100])
def test_sample_is_whole_only_at_the_end_of_the_file(length):
    """Wherever the blocks end: at the size of the sample, before it or behind."""
    data = b"a\nbb\nc\n"
    parts = [data[i : i + length] for i in range(0, len(data), length)]
    for size in range(1, 10):
        blocks = [Block(memoryview(part), part is parts[-1], False) for part in parts]
        sample, again = sampled(iter(blocks), size)
        assert sample.is_whole == (size >= len(data))
        assert list(again) == blocks
        assert data.startswith(sample.data) and sample.data.endswith(b"\n")
        assert not sample.is_whole or sample.data == data


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.csv", "a.jsonl"])
def test_properties_are_unknown_before_the_first_row(tmp_path, name):
    path = tmp_path / name
    path.write_text("y,a\n" if name == "a.csv" else "")
    reader = aggro.io.read(path)
    assert list(reader) == []
    assert (reader.n_rows, reader.n_bad, reader.bad_lines) == (0, 0, [])
    assert reader.n_features == 0
