"""Compressed files as streams of bytes. A truncated file is an error, never a shorter file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from aggro.extras import optional

COMPRESSED_BYTES = 1 << 16  # per read
# One zstd block of 4 bytes may hold 128 KiB, and `zstandard` limits its input only.
ZSTD_INPUT = 1 << 11
TRUNCATED = "the compressed data end too early: the file is cut off; copy or write it again"


class Decompressed(io.RawIOBase):
    """The contents of a compressed file: one member after another, each complete.

    A member is a gzip member, a bzip2 or xz stream, or a zstd frame. Zero bytes between members
    are padding. `new_member` returns an object with the interface of `bz2.BZ2Decompressor`.

    >>> packed = bz2.compress(b"1 1:2") + bz2.compress(b" 3:4")
    >>> Decompressed(io.BytesIO(packed), bz2.BZ2Decompressor).readall()
    b'1 1:2 3:4'
    >>> Decompressed(io.BytesIO(packed[:-1]), bz2.BZ2Decompressor).readall()
    Traceback (most recent call last):
    EOFError: the compressed data end too early: the file is cut off; copy or write it again
    """

    def __init__(self, raw: IO[bytes], new_member: Callable[[], Any]) -> None:
        self.raw, self.new_member = raw, new_member
        self.member = new_member()
        self.unread = b""  # bytes of the file that were read and not yet given to a member
        self.is_first = True  # member
        self.is_started = False  # whether the member gave any bytes

    def readable(self) -> bool:
        """Return True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; 0 after the last member."""
        data = self._read_some(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self.raw.close()
        super().close()

    def _read_some(self, size: int) -> bytes:
        while size > 0:
            if self.member.eof and not self._next_member():
                break
            packed, is_end = b"", False
            if self.member.needs_input:
                packed = self._compressed()
                is_end = not packed
            data = self._decompress(packed, size)
            if data:
                return data
            if is_end and not self.member.eof:
                raise EOFError(TRUNCATED)
        return b""

    def _compressed(self) -> bytes:
        packed, self.unread = self.unread, b""
        return packed or self.raw.read(COMPRESSED_BYTES)

    def _next_member(self) -> bool:
        """Start the member after the one that is complete; return False if there is none."""
        packed: bytes = self.member.unused_data or self._compressed()
        while packed and not packed.lstrip(b"\0"):
            packed = self._compressed()
        self.unread = packed.lstrip(b"\0")
        if not self.unread:
            return False
        self.member = self.new_member()
        self.is_first = self.is_started = False
        return True

    def _decompress(self, packed: bytes, size: int) -> bytes:
        try:
            data = bytes(self.member.decompress(packed, size))
        except Exception as error:
            if self.is_first or self.is_started:
                raise
            raise OSError(
                f"what follows the end of the compressed data cannot be decompressed ({error}); "
                "remove it, or write the file again"
            ) from error
        self.is_started = self.is_started or bool(data)
        return data


class _Gzip:
    """One gzip member, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, size: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, size)

    @property
    def needs_input(self) -> bool:
        return not self._member.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data


class _Zstandard:
    """One frame, read by the package `zstandard`, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self, module: Any) -> None:
        self._frame = module.ZstdDecompressor().decompressobj()
        self._packed = memoryview(b"")
        self._plain = memoryview(b"")

    def decompress(self, data: bytes, size: int) -> bytes:
        if data:
            self._packed = memoryview(data)
        while self._packed and not self._plain and not self._frame.eof:
            self._plain = memoryview(self._frame.decompress(self._packed[:ZSTD_INPUT]))
            self._packed = self._packed[ZSTD_INPUT:]
        some, self._plain = self._plain[:size], self._plain[size:]
        return bytes(some)

    @property
    def needs_input(self) -> bool:
        return not self._packed and not self._plain

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof) and not self._plain

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + bytes(self._packed)


def _zstd_member() -> Callable[[], Any]:
    module = zstandard("Reading")
    if sys.version_info >= (3, 14):
        return lambda: module.ZstdDecompressor()
    return lambda: _Zstandard(module)


MEMBERS: dict[str, Callable[[], Callable[[], Any]]] = {  # by the end of a file's name
    ".gz": lambda: _Gzip,
    ".bz2": lambda: bz2.BZ2Decompressor,
    ".xz": lambda: lzma.LZMADecompressor,
    ".lzma": lambda: lzma.LZMADecompressor,
    ".zst": _zstd_member,
}


def zstandard(purpose: str) -> Any:
    """Return the module that reads and writes .zst files."""
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd")
    return optional("zstandard", f"{purpose} .zst files")


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
    """Return the compressor of a file by its name; None if the name has no such ending.

    >>> compressor_of("data.svm") is None, compressor_of("data.svm.gz") is None
    (True, False)
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".zst":
        zstandard("Writing")  # a missing package is reported before any work
    return COMPRESSORS.get(suffix)
