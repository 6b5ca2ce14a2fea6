"""Where bytes come from: files, folders, patterns, standard input; compressed or not."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, cast

from aggro.files.errors import optional
from aggro.files.options import Format

STANDARD_INPUT = "-"
COMPRESSIONS = (".gz", ".bz2", ".xz", ".lzma", ".zst")
SUFFIXES: dict[str, Format] = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}

PathLike = str | os.PathLike[str]


def expand(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """The files meant: a path, a folder's files in order of name, a pattern's matches, or several of these.

    >>> expand(["-", "-"])
    ['-', '-']
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [file for path in several for file in _expand_one(os.fspath(path))]
    if not found:
        raise FileNotFoundError(
            "no files given; expected a path, a folder, a pattern, or a list of them"
        )
    return found


def _expand_one(path: str) -> list[str]:
    if path == STANDARD_INPUT or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        inside = sorted(
            entry for entry in Path(path).iterdir() if entry.is_file() and entry.name[0] not in "._"
        )
        if not inside:
            raise FileNotFoundError(f"{path}: the folder holds no files; expected data files in it")
        return [str(file) for file in inside]
    matches = [file for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
    if matches:
        return matches
    if os.path.exists(path):  # a pipe or a device
        return [path]
    raise FileNotFoundError(
        f"{path}: no such file; expected an existing file, a folder, a pattern with matches, or '-'"
    )


def format_of(path: str) -> Format:
    """The format a file's name announces; svmlight when it announces none, as LIBSVM's own files do.

    >>> format_of("a.csv.gz"), format_of("a9a.t")
    ('csv', 'svmlight')
    """
    stem, suffix = os.path.splitext(path)
    if suffix.lower() in COMPRESSIONS:
        suffix = os.path.splitext(stem)[1]
    return SUFFIXES.get(suffix.lower(), "svmlight")


def open_bytes(path: str) -> IO[bytes]:
    """Open a file for reading, decompressed as its name says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "a.gz")
    ...     _ = Path(name).write_bytes(gzip.compress(b"1 1:2"))
    ...     with open_bytes(name) as stream:
    ...         stream.read()
    b'1 1:2'
    """
    if path == STANDARD_INPUT:
        return cast("IO[bytes]", open(sys.stdin.fileno(), "rb", closefd=False))
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if suffix == ".bz2":
        return cast("IO[bytes]", bz2.open(path, "rb"))
    if suffix in (".xz", ".lzma"):
        return cast("IO[bytes]", lzma.open(path, "rb"))
    if suffix == ".zst":
        return _open_zstandard(path)
    return open(path, "rb", buffering=0)


def _open_zstandard(path: str) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        module: Any = optional("compression.zstd", "Reading .zst files")
    else:
        module = optional("zstandard", "Reading .zst files")
    return cast("IO[bytes]", module.open(path, "rb"))
