"""A cache returns the batches of its files, or is written again."""

import os

import numpy as np
import pytest
from file_helpers import collect, random_svmlight

import aggro
from aggro.io import reader as reader_module
from aggro.io.cache import RECORD


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(random_svmlight(200) + b"1 oops\n")
    return path


@pytest.fixture
def parses(monkeypatch):
    """How often a file was parsed."""
    calls = []
    parse = reader_module.BATCHES["svmlight"]

    def counting(*arguments):
        calls.append(arguments[0])
        return parse(*arguments)

    monkeypatch.setitem(reader_module.BATCHES, "svmlight", counting)
    return calls


SETTINGS = {"batch_bytes": 1000, "skip_bad": True, "cache": True}


def assert_same(ours, theirs):
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[1] == theirs[1]


def test_second_pass_reads_the_cache(path, parses):
    plain = collect(path, batch_bytes=1000, skip_bad=True)
    reader = aggro.io.read(path, **SETTINGS)
    for _ in range(3):
        assert sum(batch.n_rows for batch in reader) == 200
        assert (reader.n_rows, reader.n_bad, reader.bad_lines[0].line, reader.zero_based) == (
            200,
            1,
            201,
            False,
        )
    assert_same(collect(path, **SETTINGS), plain)
    assert len(parses) == 2
    assert [file.name for file in path.parent.iterdir() if "aggrocache" in file.name] == [
        "a.svm.aggrocache"
    ]


def test_cache_with_skipped_lines_is_not_used_for_strict_reading(path, parses):
    collect(path, **SETTINGS)
    for _ in range(2):
        with pytest.raises(aggro.io.BadLine, match="line 201"):
            collect(path, **{**SETTINGS, "skip_bad": False})
    assert_same(collect(path, **SETTINGS), collect(path, batch_bytes=1000, skip_bad=True))
    assert len(parses) == 4  # once each, and once to compare


@pytest.mark.parametrize(
    "setting", [{"unseen": "ignore", "n_features": 50}, {"labels": "text"}, {"zero_based": True},
                {"batch_rows": 7}, {"multilabel": True}, {"unlabelled": "error"}], ids=str,
)  # fmt: skip
def test_cache_of_other_options_is_not_used(path, parses, setting):
    collect(path, **SETTINGS)
    expected = collect(path, **{**SETTINGS, **setting, "cache": None})
    assert_same(collect(path, **{**SETTINGS, **setting}), expected)
    assert len(parses) == 3


def records_of(content):
    """Where the records of a cache begin, and where their payloads do."""
    at = content.index(b"\n") + 1
    while at < len(content):
        kind, length, _ = RECORD.unpack_from(content, at)
        yield kind, at, at + RECORD.size, at + RECORD.size + length
        at += RECORD.size + length


def test_every_changed_byte_is_detected(path, parses):
    """The first and last byte of each part of each record, under its checksum or not."""
    expected = collect(path, **SETTINGS)
    cache = path.with_name("a.svm.aggrocache")
    content = cache.read_bytes()
    records = list(records_of(content))
    assert [kind for kind, *_ in records[:3]] == [b"HEAD", b"FIND", b"ROWS"]
    assert records[-1][0] == b"DONE"
    some = records[:3] + records[-2:]
    places = {0, len(content) - 1}
    for _, start, payload, end in some:
        places |= {start, start + 4, payload - 1, payload, payload + 1, end - 2, end - 1}
    for place in sorted(places):
        damaged = bytearray(content)
        damaged[place] ^= 0x01
        cache.write_bytes(damaged)
        before = len(parses)
        assert_same(collect(path, **SETTINGS), expected)
        assert len(parses) == before + 1, place
        assert cache.read_bytes() == content


def test_findings_are_restored_before_the_first_rows(path):
    """A pass over the cache that is interrupted has restored how the files are read."""
    collect(path, **SETTINGS)
    reader = aggro.io.read(path, **SETTINGS)
    passing = iter(reader)
    next(passing)
    passing.close()
    assert reader.zero_based is False
    csv = path.with_name("t.csv")
    csv.write_text("y,a,c\n" + "1,2,x\n" * 50)
    list(aggro.io.read(csv, label="y", cache=True))
    reader = aggro.io.read(csv, label="y", cache=True)
    next(iter(reader))
    assert reader.columns == {"a": "number", "c": "category"}


def test_cache_only_replaces_a_cache(path, tmp_path):
    precious = tmp_path / "model.aggro"
    precious.write_bytes(b"a model")
    for place in (precious, path):
        with pytest.raises(aggro.io.ReadingError, match="name another file"):
            aggro.io.read(path, cache=place)
    assert precious.read_bytes() == b"a model"
    (tmp_path / "empty").touch()
    for _ in range(2):
        collect(path, skip_bad=True, cache=tmp_path / "empty")
    assert (tmp_path / "empty").read_bytes().startswith(b"AGGROCACHE")


def test_caches_in_a_folder_are_not_read_as_data(tmp_path):
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "1.svm").write_bytes(b"1 1:1\n")
    for given in (folder, folder / "*"):
        for _ in range(2):
            assert collect(given, cache=True)[0].shape == (1, 1)
    assert (folder / "1.svm.aggrocache").exists()
    with pytest.raises(aggro.io.ReadingError, match="is a cache of other files"):
        aggro.io.read(folder / "1.svm.aggrocache")


@pytest.mark.parametrize("change", ["content", "time", "settings"])
def test_a_stale_cache_is_rebuilt(path, parses, change):
    collect(path, **SETTINGS)
    settings = dict(SETTINGS)
    if change == "content":
        path.write_bytes(random_svmlight(100, seed=1))
    elif change == "time":
        os.utime(path, ns=(1, 1))
    else:
        settings["dtype"] = "float32"
    expected = collect(path, **{**settings, "cache": None})
    assert_same(collect(path, **settings), expected)
    assert_same(collect(path, **settings), expected)
    assert len(parses) == 3


@pytest.mark.parametrize("place", [0.0, 0.02, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("damage", ["flip", "cut"])
def test_a_damaged_cache_is_rebuilt(path, parses, place, damage):
    expected = collect(path, **SETTINGS)
    cache = path.with_name("a.svm.aggrocache")
    content = bytearray(cache.read_bytes())
    at = int(place * len(content))
    if damage == "flip":
        content[at] ^= 0x10
    cache.write_bytes(content if damage == "flip" else content[:at])
    assert_same(collect(path, **SETTINGS), expected)
    assert len(parses) == 2
    assert_same(collect(path, **SETTINGS), expected)
    assert len(parses) == 2


def test_abandoned_pass_leaves_no_file(path):
    passing = iter(aggro.io.read(path, **SETTINGS))
    next(passing)
    passing.close()
    assert [file.name for file in path.parent.iterdir()] == ["a.svm"]


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (b"1,2 1:1\n1:1\nx,y 2:1\n", {"multilabel": True, "labels": "text"}),
        (b"1,2 1:1\n1:1\n", {"multilabel": True}),
        (b"spam 1:1\nham 3000000000:2\n", {}),
        (b"1 2 |a b\n", {"format": "vw"}),
        (b"1\n2\n", {}),
    ],
)
def test_every_kind_of_batch_is_restored(tmp_path, content, settings):
    path = tmp_path / "data"
    path.write_bytes(content)
    first, second = (
        list(aggro.io.read(path, cache=tmp_path / "kept", **settings)) for _ in range(2)
    )
    for ours, theirs in zip(first, second, strict=True):
        assert (ours.X != theirs.X).nnz == 0
        assert ours.X.shape == theirs.X.shape
        assert list(ours.y) == list(theirs.y)
        assert (ours.weights is None) == (theirs.weights is None)


def test_dense_batches_can_be_cached(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.csv"
    path.write_text("y,a,b\n1,2,3\n0,4,5\n")
    expected = collect(path, label="y")
    for _ in range(2):
        assert_same(collect(path, label="y", cache=True), expected)


def test_standard_input_cannot_be_cached():
    with pytest.raises(ValueError, match="standard input"):
        aggro.io.read("-", cache="kept")
