"""Truncated, concatenated and damaged files give an error or all rows."""

import bz2
import gzip
import lzma
import os
import random
import struct
import subprocess
import sys
from functools import partial

import pytest

import aggro
from aggro.io.sources import compressor_of, open_bytes

TEXT = b"".join(b"%d 1:0.%03d 2:%d\n" % (i % 2, i * 37 % 1000, i) for i in range(60))
COMPRESSORS = {
    ".gz": partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": partial(lzma.compress, format=lzma.FORMAT_ALONE),
    ".zst": None,
}


@pytest.fixture(params=COMPRESSORS)
def suffix(request):
    return request.param


@pytest.fixture
def compress(suffix):
    if suffix != ".zst":
        return COMPRESSORS[suffix]
    if sys.version_info >= (3, 14):
        return __import__("compression.zstd", fromlist=["compress"]).compress
    return pytest.importorskip("zstandard").compress


def contents(path):
    with open_bytes(str(path)) as stream:
        return stream.read()


def n_rows(path, **settings):
    return sum(batch.n_rows for batch in aggro.io.read(path, **settings))


def assert_an_error_names_the_file(path, **settings):
    with pytest.raises(aggro.io.ReadingError, match=path.name):
        list(aggro.io.read(path, **settings))


def test_members_are_read_one_after_another(tmp_path, suffix, compress):
    path = tmp_path / f"a.svm{suffix}"
    for padding in (b"", bytes(4), bytes(1 << 17)):
        path.write_bytes(compress(TEXT) + padding + compress(b"") + compress(TEXT) + padding)
        assert contents(path) == 2 * TEXT
        assert n_rows(path) == 120


def test_a_compressed_file_truncated_anywhere_is_an_error(tmp_path, suffix, compress):
    path = tmp_path / f"a.svm{suffix}"
    first = compress(TEXT)
    whole = first + compress(TEXT)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size == len(first):  # a member boundary: complete, as far as anyone can know
            assert contents(path) == TEXT
            continue
        with pytest.raises(EOFError, match="the file is cut off"):
            contents(path)
    path.write_bytes(whole[: len(first) // 2])
    assert_an_error_names_the_file(path)
    with pytest.raises(aggro.io.ReadingError, match=path.name):
        aggro.io.load_svmlight(path)


def test_large_truncated_file_is_an_error(tmp_path, suffix, compress):
    path = tmp_path / f"a.svm{suffix}"
    text = b"".join(b"1 1:%.17g\n" % random.random() for _ in range(30_000))
    path.write_bytes(compress(text)[:-9])
    assert_an_error_names_the_file(path, batch_bytes=1 << 16)


@pytest.mark.parametrize("garbage", [b"x", b"1 1:1\n", b"\xff" * 100, os.urandom(1000)])
def test_garbage_behind_the_compressed_data_is_an_error(tmp_path, suffix, compress, garbage):
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(compress(TEXT) + b"\x01" + garbage)
    assert_an_error_names_the_file(path)


def test_written_files_are_read_back(tmp_path, suffix, compress):
    path = tmp_path / f"a.svm{suffix}"
    with path.open("wb") as raw, compressor_of(str(path))(raw) as stream:
        stream.write(TEXT)
    assert contents(path) == TEXT


def test_skippable_zstd_frames_are_empty(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.svm.zst"
    skippable = struct.pack("<II", 0x184D2A50, 5) + b"index"
    path.write_bytes(skippable + zstandard.compress(TEXT) + skippable)
    assert contents(path) == TEXT
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EOFError):
        contents(path)


MEMORY = """
import resource, sys
from aggro.io.sources import open_bytes
buffer, size = bytearray(1 << 20), 0
with open_bytes(sys.argv[1]) as stream:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while count := stream.readinto(buffer):
        size += count
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert size == 1 << 29, size
assert grown < 150_000, grown  # KiB
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit")
@pytest.mark.parametrize("suffix", [".gz", ".zst"], indirect=True)
def test_decompression_takes_bounded_memory(tmp_path, suffix, compress):
    path = tmp_path / f"zeros{suffix}"
    path.write_bytes(compress(bytes(1 << 29)))
    subprocess.run([sys.executable, "-c", MEMORY, str(path)], check=True)


@pytest.mark.parametrize("name", ["a.zip", "a.csv.zip", "a.tar", "a.tar.gz", "a.tgz", "a.svm.lz4"])
def test_archives_and_other_compressions_are_rejected_by_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(TEXT)
    with pytest.raises(aggro.io.ReadingError, match=r"not supported; unpack it"):
        aggro.io.read(path, format="csv", skip_bad=True)
    with pytest.raises(aggro.io.ReadingError, match=r"not supported; unpack it"):
        aggro.io.load_svmlight(path)


# -- Arrow and Parquet -----------------------------------------------------------------------


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow")
    integers = pa.array([-1] * 21, pa.int32())  # their bytes look like a marker
    return pa.table({"y": [i % 2 for i in range(21)], "a": integers, "b": ["x", "y", "z"] * 7})


def stream_of(table):
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, 7)
    return sink.getvalue().to_pybytes()


def assert_truncated_anywhere_is_an_error(path, whole):
    path.write_bytes(whole)
    assert n_rows(path, label="y") >= 21
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert_an_error_names_the_file(path, label="y")


def test_a_truncated_arrow_stream_is_an_error(tmp_path, table):
    assert_truncated_anywhere_is_an_error(tmp_path / "a.arrows", stream_of(table))


def test_arrow_streams_are_read_one_after_another(tmp_path, table):
    path = tmp_path / "a.arrows"
    path.write_bytes(2 * stream_of(table))
    assert n_rows(path, label="y") == 42
    path.write_bytes(stream_of(table) + b"garbage")
    assert_an_error_names_the_file(path, label="y")


def test_compressed_arrow_streams_are_read(tmp_path, table, suffix, compress):
    whole = compress(2 * stream_of(table))
    assert_truncated_anywhere_is_an_error(tmp_path / f"a.arrows{suffix}", whole)


def test_a_truncated_arrow_file_is_an_error(tmp_path, table):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, 7)
    whole = path.read_bytes()
    assert_truncated_anywhere_is_an_error(path, whole)
    packed = tmp_path / "a.arrow.gz"
    packed.write_bytes(gzip.compress(whole))
    with pytest.raises(aggro.io.ReadingError, match=r"a\.arrow\.gz: .* plain file"):
        list(aggro.io.read(packed))


def test_a_truncated_parquet_file_is_an_error(tmp_path, table):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, row_group_size=7)
    whole = path.read_bytes()
    assert_truncated_anywhere_is_an_error(path, whole)
    path.write_bytes(whole + b"garbage.")
    assert_an_error_names_the_file(path, label="y")
