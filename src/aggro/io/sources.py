"""Paths to files, decompressed streams, and blocks of whole lines that a thread reads ahead."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import queue
import sys
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar, cast

from aggro.extras import optional
from aggro.io.options import Format, Options, ReadingError

STANDARD_INPUT = "-"

# -- compression --

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
    """Return the compressor of a file by its name; None if the name has no such ending."""
    suffix = Path(path).suffix.lower()
    if suffix == ".zst":
        zstandard("Writing")  # a missing package is reported before any work
    return COMPRESSORS.get(suffix)


# -- paths --

CACHE_SUFFIX = ".aggrocache"  # of files with the parsed rows of others
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
    """Return the files of a path, a folder (sorted by name), a pattern, or a list of these.

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
    """Return the format by the ending of a file's name; svmlight for others, as LIBSVM's files.

    >>> format_of("a.csv.gz"), format_of("a9a.t")
    ('csv', 'svmlight')
    """
    return SUFFIXES.get(_without_compression(path).suffix, "svmlight")


def open_bytes(path: str) -> IO[bytes]:
    """Open a file for reading; decompress it according to its name.

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
    """Raise if the ending is that of an archive or of an unsupported compression."""
    suffix = _without_compression(path).suffix
    if suffix in PACKED:
        raise ReadingError(
            path,
            f"archives and files in {suffix} are not supported; unpack it, or compress each data "
            f"file by itself ({', '.join(COMPRESSIONS)})",
        )


def _without_compression(path: str) -> Path:
    """Return the name in lower case, without the ending of a compression."""
    name = Path(path.lower())
    return name.with_suffix("") if name.suffix in COMPRESSIONS else name


# -- blocks --

T = TypeVar("T")
READ_AHEAD = 2
SAMPLE_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # which some programs write before UTF-8


class Block(NamedTuple):
    """Whole lines; only the last block of a file may end without a line end."""

    data: memoryview
    is_last: bool
    after_long_line: bool  # the line before this block was too long and was dropped


def whole_lines(stream: IO[bytes], size: int, longest_line: int) -> Iterator[Block]:
    r"""Cut a stream at line ends into blocks of about `size` bytes.

    >>> import io
    >>> [bytes(block.data) for block in whole_lines(io.BytesIO(b"ab\ncd\nef"), 4, 100)]
    [b'ab\n', b'cd\n', b'ef']
    """
    start_of_file = bytearray(len(BYTE_ORDER_MARK))
    start_of_file = start_of_file[: _fill(stream, memoryview(start_of_file))]
    carry: memoryview | bytes = bytes(start_of_file).removeprefix(BYTE_ORDER_MARK)
    wanted = max(size - len(carry), 0)
    dropping = False
    while True:
        buffer = bytearray(len(carry) + wanted)
        wanted = size
        buffer[: len(carry)] = carry
        filled = len(carry) + _fill(stream, memoryview(buffer)[len(carry) :])
        is_last = filled < len(buffer)
        start = buffer.find(b"\n", 0, filled) + 1 if dropping else 0
        carry = b""
        if dropping and start == 0 and not is_last:
            continue
        view = memoryview(buffer)[:filled].toreadonly()
        if dropping and start == 0:
            start = filled
        end = filled if is_last else max(buffer.rfind(b"\n", start), start - 1) + 1
        if dropping or end > start or is_last:
            yield Block(view[start:end], is_last, dropping)
        if is_last:
            return
        dropping = filled - end > longest_line
        if not dropping:
            carry = view[end:]


def blocks_of(path: str, options: Options) -> Generator[Block, None, None]:
    """Return the blocks of a file, read ahead by a thread."""

    def opened() -> Iterator[Block]:
        with open_bytes(path) as stream:
            yield from whole_lines(stream, options.batch_bytes, options.longest_line)

    return read_ahead(opened())


class Sample(NamedTuple):
    """Whole lines from the beginning of a file, or all of it."""

    data: bytes
    is_whole: bool


def sampled(blocks: Iterator[Block], size: int = SAMPLE_BYTES) -> tuple[Sample, Iterator[Block]]:
    r"""Return the first lines, about `size` bytes for any size of the blocks, and all blocks.

    >>> blocks = [Block(memoryview(b"a\nb\n"), False, False), Block(memoryview(b"c"), True, False)]
    >>> sample, again = sampled(iter(blocks), 3)
    >>> sample, len(list(again))
    (Sample(data=b'a\n', is_whole=False), 2)
    """
    held: list[Block] = []
    total = 0
    for block in blocks:
        held.append(block)
        total += len(block.data)
        if total > size:
            break
    data = b"".join(block.data for block in held)
    is_whole = total <= size
    if not is_whole:
        data = data[: data.rfind(b"\n", 0, size) + 1 or data.find(b"\n", size) + 1 or len(data)]
    return Sample(data, is_whole), chain(held, blocks)


def long_line(limit: int) -> tuple[str, str]:
    """Return the message and the advice for a line that is too long."""
    return f"longer than {limit} bytes", "; raise {longest_line} if this is a text file"


def _fill(stream: IO[bytes], view: memoryview) -> int:
    """Read until the view is full or the stream ends; a pipe may return less than requested."""
    filled = 0
    while filled < len(view):
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            break
        filled += count
    return filled


def read_ahead(items: Iterator[T], depth: int = READ_AHEAD) -> Generator[T, None, None]:
    """Yield the same items, produced by a thread at most `depth` items ahead.

    >>> list(read_ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    produced: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    free, stopping = threading.Semaphore(depth), threading.Event()

    def produce() -> None:
        try:
            for item in items:
                produced.put((item, None))
                free.acquire()
                if stopping.is_set():
                    return
            produced.put((None, StopIteration()))
        except BaseException as error:
            produced.put((None, error))

    thread = threading.Thread(target=produce, name="aggro-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, error = produced.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            free.release()
            yield cast("T", item)
    finally:
        stopping.set()
        free.release()
        thread.join(timeout=1.0)  # a read from a pipe may never return
