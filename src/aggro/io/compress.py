"""Streams compressed as the name of their file says; ``decompress`` reads them back."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from aggro.io.decompress import zstandard

COMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),  # the same bytes each time
    ".bz2": lambda raw: bz2.BZ2File(raw, "wb"),
    ".xz": lambda raw: lzma.LZMAFile(raw, "wb"),  # noqa: SIM115 -- the caller closes
    ".lzma": lambda raw: lzma.LZMAFile(  # noqa: SIM115 -- the caller closes
        raw, "wb", format=lzma.FORMAT_ALONE
    ),
    ".zst": lambda raw: zstandard("Writing").open(raw, "wb"),
}


def compressor_of(path: str) -> Callable[[IO[bytes]], Any] | None:
    """Return what compresses a stream as the name of its file says; None if it says nothing.

    >>> compressor_of("data.svm") is None, compressor_of("data.svm.gz") is None
    (True, False)
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".zst":
        zstandard("Writing")  # a missing package is told before any work
    return COMPRESSORS.get(suffix)
