"""One door to every format: `read`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from aggro.files import cache as cache_files
from aggro.files import jsonl, lines, tables
from aggro.files.batch import Batch, Report
from aggro.files.errors import BadLine
from aggro.files.options import Format, Options, as_dtype, names
from aggro.files.sources import STANDARD_INPUT, PathLike, expand, format_of

BATCHES: dict[str, Callable[[str, Options, Report], Iterator[Batch]]] = {
    "svmlight": lines.batches,
    "vw": lines.batches,
    "csv": tables.batches,
    "tsv": tables.batches,
    "parquet": tables.batches,
    "arrow": tables.batches,
    "jsonl": jsonl.batches,
}


class Reader:
    r"""Batches of some files. Each `for` over it is one pass; `read` makes it.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.svm")
    ...     _ = path.write_text("1 1:2\n-1 oops\n1 2:1\n")
    ...     reader = read(path, skip_bad=True)
    ...     n_rows = sum(batch.n_rows for batch in reader)
    >>> n_rows, reader.n_bad, reader.bad_lines[0].line
    (2, 1, 2)
    """

    def __init__(self, files: Sequence[str], options: Options, cache: str | None = None) -> None:
        if cache is not None and STANDARD_INPUT in files:
            raise ValueError(
                "standard input cannot be cached; write it to a file, or leave out cache="
            )
        self.files = list(files)
        self.options = options
        self.cache = cache
        self._report = Report()
        self._passes = 0

    def __iter__(self) -> Iterator[Batch]:
        self._passes += 1
        if self._passes > 1 and STANDARD_INPUT in self.files:
            raise ValueError(
                "standard input can be read once only; for several passes write it to a file"
            )
        known = self._report
        # Later passes see the files as the first did.
        self._report = Report(
            zero_based=known.zero_based, labels=known.labels, n_features=known.n_features
        )
        if self.cache is None:
            return self._from_files()
        return cache_files.through(
            self.cache, self.files, self.options, self._report, self._from_files
        )

    def _from_files(self) -> Iterator[Batch]:
        for file in self.files:
            format = self.options.format or format_of(file)
            yield from BATCHES[format](
                file, dataclasses.replace(self.options, format=format), self._report
            )

    @property
    def n_rows(self) -> int:
        """Rows yielded in this pass."""
        return self._report.n_rows

    @property
    def n_features(self) -> int:
        """Columns seen so far."""
        return self.options.n_features or self._report.n_features

    @property
    def n_bad(self) -> int:
        """Bad lines skipped in this pass."""
        return self._report.n_bad

    @property
    def bad_lines(self) -> list[BadLine]:
        """The first of the bad lines skipped in this pass."""
        return list(self._report.bad_lines)

    @property
    def zero_based(self) -> bool | None:
        """Whether svmlight indices start at 0; None until the first features were seen."""
        return self._report.zero_based


def read(
    paths: PathLike | Iterable[PathLike],
    *,
    format: Format | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    weight: str | None = None,
    labels: Literal["auto", "number", "text"] = "auto",
    multilabel: bool = False,
    header: bool = True,
    batch_rows: int | None = None,
    batch_bytes: int = 4 << 20,
    longest_line: int = 256 << 20,
    dtype: DTypeLike = np.float64,
    n_features: int | None = None,
    unseen: Literal["error", "ignore"] = "error",
    zero_based: bool | Literal["auto"] = "auto",
    hash_bits: int = 18,
    missing: Literal["error", "zero"] = "error",
    skip_bad: bool = False,
    cache: PathLike | Literal[True] | None = None,
) -> Reader:
    r"""Read files of any size as batches (X, y, weights), a few of them in memory at a time.

    Parameters
    ----------
    paths
        A file, a folder, a pattern such as ``"day-*.svm.gz"``, ``"-"`` for standard input, or a
        list of these. Names that end in .gz, .bz2, .xz or .zst are decompressed.
    format
        svmlight, vw, csv, tsv, parquet, arrow or jsonl; by default told from the name, else
        svmlight.
    label, features, weight
        Columns of a table or keys of JSON objects; by default there is no label and no weight, and
        all other columns are features. Numbers and booleans are kept, a string becomes the hashed
        column "name=value". X is dense when all features are numbers; else the hashed columns
        follow the numbers. A csv column is one of numbers if all its values in the first mebibyte
        are. JSON objects are hashed throughout, inner ones as "outer.inner".
    text
        Columns to take as texts: their words, lower-cased, are counted in columns "name=word".
    labels
        Whether labels are numbers or class names ("text"); by default told from the first ones.
    multilabel
        Lines have any number of labels, separated by commas; y is a list of tuples.
    header
        Whether the first line of a csv names the columns; else they are f0, f1, ...
    batch_rows, batch_bytes
        The size of a batch, in rows or, for lines of text, in bytes.
    longest_line
        A longer line is bad, so that a file without line ends cannot fill the memory.
    dtype
        float32 or float64, of X.
    n_features
        The width of X for svmlight; by default the largest index seen so far.
    unseen
        Whether an index beyond n_features is an error or is ignored.
    zero_based
        Whether svmlight indices start at 0; by default they do if the first batch has an index 0.
    hash_bits
        Hashed names share 2**hash_bits columns.
    missing
        Whether a null or NaN feature is an error or counts as zero, an absent category.
    skip_bad
        Count lines that cannot be read instead of stopping at the first of them. The rows before
        it are yielded in any case (of a csv, those of the blocks before it).
    cache
        A file that keeps the parsed batches for later passes and runs; True for one beside the
        first file. It is made anew when files or settings change, or when it is damaged.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.svm")
    ...     _ = path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    ...     for X, y, weights in read(path):
    ...         print(X.toarray().tolist(), y, weights)
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [ 1. -1.] None
    """
    options = Options(
        format=format,
        label=label,
        weight=weight,
        features=None if features is None else names(features),
        text=names(text),
        labels=labels,
        multilabel=multilabel,
        header=header,
        batch_rows=batch_rows,
        batch_bytes=batch_bytes,
        longest_line=longest_line,
        dtype=as_dtype(dtype),
        n_features=n_features,
        unseen=unseen,
        zero_based=zero_based,
        hash_bits=hash_bits,
        missing=missing,
        skip_bad=skip_bad,
    )
    files = expand(paths)
    return Reader(files, options, cache_files.path_for(cache, files))
