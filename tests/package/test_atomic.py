"""Files are written atomically, keep their permissions, and nothing else is replaced."""

import os
import shutil
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

import aggro
from aggro import atomic
from aggro.atomic import check_writable, replacing, replacing_text
from aggro.persistence import container

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes are POSIX")


def write(path, content=b"new"):
    with replacing(path) as stream:
        stream.write(content)


def entries(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_new_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "new"
    with replacing(path) as stream:
        stream.write(b"all of it")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert entries(tmp_path) == ["new"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_keeps_the_old_file_and_leaves_no_other(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), replacing(path) as stream:
        stream.write(b"half of")
        raise error
    with pytest.raises(error), replacing_text(path) as stream:
        stream.write("half of")
        raise error
    assert path.read_bytes() == b"old"
    assert entries(tmp_path) == ["file"]


def test_content_is_synced_before_the_rename_and_the_folder_after(tmp_path, monkeypatch):
    happened = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(handle):
        status = os.fstat(handle)
        folder = stat.S_ISDIR(status.st_mode)
        happened.append("folder" if folder else f"file of {status.st_size}")
        real_fsync(handle)

    def replace(self, target):
        happened.append("replace")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    write(tmp_path / "file", b"12345")
    assert happened[:2] == ["file of 5", "replace"]
    assert happened[2:] == (["folder"] if os.name == "posix" else [])


@posix
@pytest.mark.parametrize("mode", [0o640, 0o600, 0o664, 0o444 | 0o200])
def test_mode_is_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@posix
def test_private_file_is_never_readable_by_others(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as stream:
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == 0o600
        stream.write(b"new")


@posix
def test_owner_and_group_are_kept(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    given = []
    status = path.stat()
    as_of = list(status)
    as_of[4:6] = [status.st_uid + 1, status.st_gid + 1]
    handle = os.open(path, os.O_RDONLY)
    monkeypatch.setattr(os, "fchown", lambda handle, owner, group: given.append((owner, group)))
    atomic._own(handle, os.stat_result(as_of))
    assert given == [(status.st_uid + 1, -1), (-1, status.st_gid + 1)]
    atomic._own(handle, status)  # nothing to change
    os.close(handle)
    assert len(given) == 2


@posix
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_root_keeps_the_owner(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    write(path)
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o640)


@posix
def test_links_are_kept(tmp_path):
    (tmp_path / "inner").mkdir()
    target, link, dangling = tmp_path / "inner/target", tmp_path / "link", tmp_path / "dangling"
    target.write_bytes(b"old")
    link.symlink_to("inner/target")
    dangling.symlink_to("inner/later")
    write(link)
    write(dangling, b"later")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert dangling.is_symlink() and (tmp_path / "inner/later").read_bytes() == b"later"
    assert entries(tmp_path / "inner") == ["later", "target"]


@posix
def test_loop_of_links_is_an_error_with_the_path(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        write(tmp_path / "a")
    assert Path(caught.value.filename) == tmp_path / "a"


@posix
@pytest.mark.parametrize("through_a_link", [False, True])
def test_pipe_is_written_directly(tmp_path, through_a_link):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if through_a_link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(path, b"x" * 100_000)
    reader.join()
    assert got == [b"x" * 100_000]
    assert pipe.is_fifo()


@posix
@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there are no names of open files")
def test_open_descriptor_is_written_directly(tmp_path):
    """As for ``-o /dev/stdout >> log``: the log is neither replaced nor truncated."""
    log = tmp_path / "log"
    log.write_bytes(b"before\n")
    with log.open("ab") as stream:
        write(f"/dev/fd/{stream.fileno()}", b"after\n")
        assert os.fstat(stream.fileno()).st_ino == log.stat().st_ino
    assert log.read_bytes() == b"before\nafter\n"
    assert entries(tmp_path) == ["log"]


@pytest.fixture
def places(tmp_path):
    """Return paths that must not be replaced, with their errors."""
    found = {"folder": "folder", "nowhere/file": "no folder", "plain/file": "no folder"}
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_bytes(b"")
    if hasattr(socket, "AF_UNIX"):
        where = Path.cwd()
        os.chdir(tmp_path)  # names of sockets are limited
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind("socket")
        finally:
            os.chdir(where)
        found["socket"] = "neither a file nor a pipe"
    return tmp_path, found


def model():
    return aggro.PassiveAggressiveClassifier().partial_fit(np.eye(2), [0, 1])


def test_every_writer_rejects_targets_that_cannot_be_replaced(places):
    folder, found = places
    before = {name: (folder / name).lstat().st_mode for name in entries(folder)}
    sweep = aggro.sweep(np.eye(4), [0, 1, 0, 1], C=[0.1, 1.0])
    for name, why in found.items():
        path = folder / name
        for act in (check_writable, write, lambda p: aggro.save(model(), p), sweep.plot):
            with pytest.raises(OSError, match=why) as caught:
                act(path)
            assert Path(caught.value.filename) == path
    assert {name: (folder / name).lstat().st_mode for name in entries(folder)} == before


@pytest.mark.parametrize("which", ["file", "folder"])
def test_missing_permission_is_reported_before_writing(tmp_path, monkeypatch, which):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    closed = path if which == "file" else tmp_path
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p) != closed and real(p, mode))
    for act in (check_writable, write):
        with pytest.raises(PermissionError, match="may not be written") as caught:
            act(path)
        assert Path(caught.value.filename) == path
    assert path.read_bytes() == b"old" and entries(tmp_path) == ["file"]


@posix
def test_pipes_are_written_and_files_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"old")
    assert check_writable(tmp_path / "pipe") is True
    assert check_writable(tmp_path / "file") is False
    with (tmp_path / "file").open() as stream:
        assert check_writable(f"/dev/fd/{stream.fileno()}") is True


def test_check_leaves_no_file(tmp_path):
    assert check_writable(tmp_path / "new") is False
    assert entries(tmp_path) == []


def test_errors_name_the_given_path(tmp_path, monkeypatch):
    path = tmp_path / "file"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(path)
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    with pytest.raises(OSError, match="No such file") as caught, replacing(path) as stream:
        shutil.rmtree(tmp_path)
        stream.write(b"x")
    assert caught.value.filename == str(path)


@posix
def test_write_errors_name_the_given_path(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(BrokenPipeError) as caught, replacing(tmp_path / "pipe") as stream:
        os.close(handle)
        stream.write(b"x" * 100_000)
    assert caught.value.filename == str(tmp_path / "pipe")


def test_error_of_another_file_keeps_its_name(tmp_path):
    """As if the data of a cache cannot be read."""
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "cache"):
        (tmp_path / "data").open()
    assert caught.value.filename == str(tmp_path / "data")


def test_longest_possible_name_is_written(tmp_path):
    write(tmp_path / ("x" * 255))
    assert entries(tmp_path) == ["x" * 255]


def test_text_is_utf8_with_unchanged_line_ends(tmp_path):
    with replacing_text(tmp_path / "t") as stream:
        stream.write("größer\n")
    assert (tmp_path / "t").read_bytes() == "größer\n".encode()


def test_checksum_covers_every_byte_of_a_model(tmp_path):
    """This includes the last byte, and the checksum itself."""
    path = tmp_path / "model"
    container.write(path, '{"a":1}', {"x": np.arange(3.0), "y": np.array([7], np.uint8)})
    good = path.read_bytes()
    text, arrays = container.read(path)
    assert text == '{"a":1}' and arrays["y"].tolist() == [7]
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 1
        path.write_bytes(bad)
        with pytest.raises(aggro.ModelFileError):
            container.read(path)
    for bad in (good[:-1], good + b"\0"):
        path.write_bytes(bad)
        with pytest.raises(aggro.ModelFileError):
            container.read(path)
