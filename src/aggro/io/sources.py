"""Where bytes come from: files, folders, patterns, standard input; compressed or not."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, cast

from aggro.io.decompress import MEMBERS, Decompressed
from aggro.io.errors import ReadingError
from aggro.io.options import Format

STANDARD_INPUT = "-"
CACHE_SUFFIX = ".aggrocache"  # of files that hold what was read from others
COMPRESSIONS = tuple(MEMBERS)
# Archives and unsupported compressions, whose bytes would be read as text.
PACKED = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar", ".lz4", ".lz", ".z", ".br", ".sz")
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
    """Find the files meant: a path, a folder's files by name, a pattern's matches, or several.

    >>> expand(["-", "-"])
    ['-', '-']
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [file for path in several for file in _expand_one(os.fspath(path))]
    if not found:
        raise FileNotFoundError(
            "no files given; expected a path, a folder, a pattern, or a list of them"
        )
    for file in found:
        check_not_packed(file)
    return found


def _expand_one(path: str) -> list[str]:
    if path.endswith(CACHE_SUFFIX) and Path(path).is_file():
        raise ReadingError(
            path, "is a cache of other files; name those, and", " give this one as {cache}"
        )
    if path == STANDARD_INPUT or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        inside = sorted(
            entry
            for entry in Path(path).iterdir()
            if entry.is_file() and entry.name[0] not in "._" and entry.suffix != CACHE_SUFFIX
        )
        if not inside:
            raise FileNotFoundError(f"{path}: the folder holds no files; expected data files in it")
        return [str(file) for file in inside]
    found = glob.glob(path, recursive=True)  # noqa: PTH207 -- Path.glob takes no absolute pattern
    matches = [
        file for file in sorted(found) if Path(file).is_file() and not file.endswith(CACHE_SUFFIX)
    ]
    if matches:
        return matches
    if Path(path).exists():  # a pipe or a device
        return [path]
    raise FileNotFoundError(
        f"{path}: no such file; expected an existing file, a folder, a pattern with matches, or '-'"
    )


def format_of(path: str) -> Format:
    """Tell the format from a file's name; svmlight when it says nothing, as LIBSVM's files do.

    >>> format_of("a.csv.gz"), format_of("a9a.t")
    ('csv', 'svmlight')
    """
    return SUFFIXES.get(_without_compression(path).suffix, "svmlight")


def open_bytes(path: str) -> IO[bytes]:
    """Open a file for reading, decompressed as its name says.

    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "a.gz")
    ...     _ = Path(name).write_bytes(gzip.compress(b"1 1:2"))
    ...     with open_bytes(name) as stream:
    ...         stream.read()
    b'1 1:2'
    """
    if path == STANDARD_INPUT:
        return cast("IO[bytes]", open(sys.stdin.fileno(), "rb", closefd=False))
    member_type = MEMBERS.get(Path(path).suffix.lower())
    if member_type is None:
        return Path(path).open("rb", buffering=0)
    new_member = member_type()  # its package may be missing
    return io.BufferedReader(Decompressed(Path(path).open("rb", buffering=0), new_member), 1 << 20)


def check_not_packed(path: str) -> None:
    """Raise if the name is that of an archive, or of a compression that is not supported."""
    suffix = _without_compression(path).suffix
    if suffix in PACKED:
        raise ReadingError(
            path,
            f"archives and files in {suffix} are not supported; unpack it, or compress each data "
            f"file by itself ({', '.join(COMPRESSIONS)})",
        )


def _without_compression(path: str) -> Path:
    """Return the name in lower case, without an ending that is a compression."""
    name = Path(path.lower())
    return name.with_suffix("") if name.suffix in COMPRESSIONS else name
