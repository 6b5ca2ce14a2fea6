"""Outputs are checked before learning and never replace inputs."""

import bz2
import gzip
import lzma
import os
import re
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write_csv, write_svmlight

from aggro.cli import main
from aggro.cli.progress import Progress
from aggro.io import load_svmlight, read

posix = pytest.mark.skipif(os.name != "posix", reason="modes and pipes are POSIX")


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "data.svm", n=100)
    (tmp_path / "folder").mkdir()
    if hasattr(socket, "AF_UNIX"):
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("socket")
    return tmp_path


@pytest.fixture
def model(inside):
    assert main(["train", "data.svm", "-o", "m.aggro", "--quiet"]) == 0


def tree(folder):
    """Everything in a folder: its kind, and what is in it if it is a file."""
    return {
        path.relative_to(folder): (path.lstat().st_mode, path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


WRITERS = [
    "train data.svm -o {}",
    "train data.svm -o new --json {}",
    "train data.svm -o new --plot {}",
    "train data.svm -o new --cache {}",
    "compare data.svm --algorithms PA-I --json {}",
    "compare data.svm --algorithms PA-I --plot {}",
    "predict m.aggro data.svm -o {}",
    "evaluate m.aggro data.svm --json {}",
    "convert data.svm {}",
]
PLACES = {
    "folder": "it is a folder",
    "socket": "neither a file nor a pipe",
    "nowhere/file": "there is no folder",
    "m.aggro/file": "there is no folder",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("line", WRITERS)
def test_outputs_that_cannot_be_written_are_errors_before_learning(
    model, inside, line, place, capsys, monkeypatch
):
    monkeypatch.setattr(Progress, "learn", None)
    before = tree(inside)
    assert main(line.format(place).split()) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"aggro: error: {place}: ") and PLACES[place] in err
    assert ".tmp" not in err and err.count("\n") == 1
    assert tree(inside) == before


@pytest.mark.parametrize("line", WRITERS)
def test_read_only_folders_are_errors_before_learning(model, inside, line, capsys, monkeypatch):
    monkeypatch.setattr(Progress, "learn", None)
    closed, real = inside / "folder", os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and real(path, mode))
    assert main(line.format("folder/file").split()) == 1
    err = capsys.readouterr().err
    assert err.startswith("aggro: error: folder/file: the folder ")
    assert "may not be written" in err


@pytest.mark.parametrize("line", [line for line in WRITERS if "{}" in line])
def test_inputs_are_never_replaced(model, inside, line, capsys, monkeypatch):
    monkeypatch.setattr(Progress, "learn", None)
    Path("link.svm").symlink_to("data.svm")
    read_files = ["data.svm", "./data.svm", "link.svm", "data.png"]
    Path("data.png").symlink_to("data.svm")
    if "m.aggro" in line:
        read_files.append("m.aggro")
    before = tree(inside)
    for name in read_files:
        if "--plot" in line and not name.endswith(".png"):
            continue
        assert main(line.format(name).split()) == 1
        assert re.search("is an input, and|cannot be the cache", capsys.readouterr().err)
    assert tree(inside) == before


def test_two_outputs_to_one_file_are_an_error(inside, capsys):
    assert main(["train", "data.svm", "-o", "x.png", "--plot", "./x.png"]) == 1
    assert "is written by -o, and --plot would replace it" in capsys.readouterr().err
    assert main(["train", "data.svm", "-o", "x", "--json", "x"]) == 1
    assert main(["train", "data.svm", "-o", "x", "--test", "data.svm", "--cache", "data.svm"]) == 1
    assert not Path("x").exists()


def test_a_resumed_model_may_replace_itself(model):
    assert main(["train", "data.svm", "--resume", "m.aggro", "-o", "m.aggro", "--quiet"]) == 0


def test_missing_test_data_are_an_error_before_learning(inside, capsys, monkeypatch):
    monkeypatch.setattr(Progress, "learn", None)
    for line in (
        "train data.svm -o m --test no.svm",
        "compare data.svm --algorithms PA --test no.svm",
    ):
        assert main(line.split()) == 1
        assert "no.svm: no such file" in capsys.readouterr().err


def test_unwritable_pictures_are_an_error_before_learning(inside, capsys, monkeypatch):
    monkeypatch.setattr(Progress, "learn", None)
    assert main(["train", "data.svm", "-o", "m", "--plot", "curve.doc"]) == 1
    err = capsys.readouterr().err
    assert "curve.doc: there are no pictures of this kind" in err and ".png" in err


def test_a_picture_is_what_its_name_says(inside):
    for name, start in (
        ("a.png", b"\x89PNG"),
        ("a.svg", b"<?xml"),
        ("a.PDF", b"%PDF"),
        ("a", b"\x89PNG"),
    ):
        assert main(f"train data.svm -o m --quiet --plot {name}".split()) == 0
        assert Path(name).read_bytes().startswith(start)
    assert not Path("a.png.png").exists()


@posix
def test_modes_and_links_are_kept(model, inside):
    for name in ("old.aggro", "old.json", "old.txt", "old.png", "old.svm", "old.aggrocache"):
        Path(name).write_bytes(b"old")
        Path(name).chmod(0o640)
    Path("link.aggro").symlink_to("old.aggro")
    train = "train data.svm -o link.aggro --json old.json --plot old.png --cache old.aggrocache"
    for line in (train, "predict m.aggro data.svm -o old.txt", "convert data.svm old.svm"):
        assert main([*line.split()]) == 0
    assert Path("link.aggro").is_symlink()
    for path in Path().glob("old.*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert path.read_bytes() != b"old"


@posix
@pytest.mark.parametrize("line", [line for line in WRITERS if "--cache" not in line])
def test_pipes_are_written_into(model, inside, line):
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()))
    reader.start()
    assert main([*line.format("pipe").split()]) == 0
    reader.join()
    assert len(got[0]) > 100
    assert Path("pipe").is_fifo()


@posix
def test_a_cache_must_be_a_file(inside, capsys):
    os.mkfifo("pipe")
    assert main(["train", "data.svm", "-o", "m", "--cache", "pipe"]) == 1
    assert "pipe: a cache must be a file" in capsys.readouterr().err


def test_a_good_cache_is_read_wherever_it_stands(inside, monkeypatch):
    assert main(["convert", "data.svm", "folder/c.aggrocache"]) == 0
    closed, real = inside / "folder", os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and real(path, mode))
    assert main(["train", "data.svm", "-o", "m", "--quiet", "--cache", "folder/c.aggrocache"]) == 0


def test_hyphen_is_standard_output(model, inside, capsys):
    assert main(["evaluate", "m.aggro", "data.svm", "--json", "-"]) == 0
    assert '"accuracy"' in capsys.readouterr().out
    assert main(["predict", "m.aggro", "data.svm", "-o", "-"]) == 0
    assert len(capsys.readouterr().out.split()) == 100
    assert main(["train", "data.svm", "-o", "-"]) == 1
    assert "-o /dev/stdout" in capsys.readouterr().err
    assert not Path("-").exists()


def test_a_prediction_that_fails_leaves_the_old_file(model, inside):
    Path("bad.svm").write_text("0 1:1\noops\n")
    Path("old.txt").write_text("old")
    for line in ("predict m.aggro bad.svm -o old.txt", "convert bad.svm old.txt"):
        assert main(line.split()) == 1
        assert Path("old.txt").read_text() == "old"


OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}


@pytest.mark.parametrize("suffix", [*OPENERS, ".zst", ".GZ"])
def test_convert_compresses_as_the_name_says(inside, suffix):
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    assert main(["convert", "data.svm", "plain.svm"]) == 0
    assert main(["convert", "data.svm", f"out.svm{suffix}"]) == 0
    plain = Path("plain.svm").read_bytes()
    assert plain not in Path(f"out.svm{suffix}").read_bytes()
    if suffix.lower() in OPENERS:
        with OPENERS[suffix.lower()](f"out.svm{suffix}") as stream:
            assert stream.read() == plain
    X, y = load_svmlight("plain.svm")
    (batch,) = read(f"out.svm{suffix}")
    assert (batch.X != X).nnz == 0 and np.array_equal(batch.y, y)


def test_convert_gives_the_same_bytes_each_time(inside):
    for name in ("a.svm.gz", "b.svm.gz"):
        assert main(["convert", "data.svm", name]) == 0
    assert Path("a.svm.gz").read_bytes() == Path("b.svm.gz").read_bytes()


@pytest.mark.parametrize(
    "name", ["o.parquet", "o.csv", "o.csv.gz", "o.vw", "o.jsonl", "o.feather", "o.aggrocache.gz"]
)
def test_convert_rejects_names_of_other_formats(inside, name, capsys):
    write_csv(inside / "m.csv")
    assert main(["convert", "m.csv", name, "--label", "kind", "--text", "body"]) == 1
    assert f"{name}: convert writes svmlight text" in capsys.readouterr().err
    assert not Path(name).exists()
