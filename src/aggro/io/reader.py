"""`read`: one function for all formats and files."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from aggro.io import arrow, svmlight, text_tables
from aggro.io import cache as cache_files
from aggro.io.batch import Batch, Report
from aggro.io.options import BadLine, Format, Options, ReadingError, advise, naming
from aggro.io.sources import STANDARD_INPUT, PathLike, expand, format_of

BATCHES: dict[str, Callable[[str, Options, Report], Iterator[Batch]]] = {
    "svmlight": svmlight.batches,
    "vw": svmlight.batches,
    "csv": text_tables.csv_batches,
    "tsv": text_tables.csv_batches,
    "parquet": arrow.batches,
    "arrow": arrow.batches,
    "jsonl": text_tables.json_batches,
}


class Reader:
    r"""Batches of files. Each iteration is one pass; `read` returns a reader.

    >>> import tempfile, pathlib
    >>> from aggro.io import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.svm")
    ...     _ = path.write_text("1 1:2\n-1 oops\n1 2:1\n")
    ...     reader = read(path, skip_bad=True)
    ...     n_rows = sum(batch.n_rows for batch in reader)
    >>> n_rows, reader.n_bad, reader.bad_lines[0].line
    (2, 1, 2)
    """

    def __init__(
        self,
        files: Sequence[str],
        options: Options,
        cache: str | None = None,
        *,
        scipy: bool = True,
    ) -> None:
        if cache is not None and STANDARD_INPUT in files:
            raise ReadingError("standard input", "cannot be cached; write it to a file")
        self.files = list(files)
        self.options = options
        self.cache = cache
        self.scipy = scipy
        self._report = Report()
        self._passes = 0

    def without_scipy(self) -> Reader:
        """Return a reader whose sparse X is a `SparseRows`, which needs only NumPy."""
        return self._replaced(scipy=False)

    def raw(self) -> Reader:
        """Return a reader of tables whose X is `RawRows`, with texts and categories as they are."""
        if self.cache is not None:
            raise ReadingError(
                self.cache, "cannot keep texts as they are; read them without a cache"
            )
        return self._replaced(options=dataclasses.replace(self.options, raw=True))

    def labelled(self) -> Reader:
        """Return a reader for which a Vowpal Wabbit line without a label is bad."""
        if self.options.unlabelled == "error":
            return self
        return self._replaced(options=dataclasses.replace(self.options, unlabelled="error"))

    def _replaced(self, **changes: Any) -> Reader:
        other = copy.copy(self)
        vars(other).update(changes, _report=Report(), _passes=0)
        return other

    def __iter__(self) -> Iterator[Batch]:
        self._passes += 1
        if self._passes > 1 and STANDARD_INPUT in self.files:
            raise ReadingError(
                "standard input", "can be read once only; for several passes write it to a file"
            )
        # Later passes use the findings of the first.
        known = self._report
        self._report = Report(n_features=known.n_features, found=known.found, names=known.names)
        return self._one_pass()

    def _one_pass(self) -> Iterator[Batch]:
        batches = self._from_files()
        if self.cache is not None:
            batches = cache_files.through(
                self.cache, self.files, self.options, self._report, self._from_files
            )
        warn = self.scipy and self._passes == 1
        with closing(batches):
            for batch in batches:
                if warn:
                    warn = False
                    for note in self._report.found.notes:
                        warnings.warn(advise(note), stacklevel=2)
                yield batch.with_scipy() if self.scipy else batch
        if self.n_initials and self.scipy and self._passes == 1:
            warnings.warn(initials_note(self.n_initials), stacklevel=2)

    def _from_files(self) -> Generator[Batch, None, None]:
        for file in self.files:
            format = self.options.format or format_of(file)
            options = dataclasses.replace(self.options, format=format)
            with naming(file):
                yield from BATCHES[format](file, options, self._report)

    @property
    def n_rows(self) -> int:
        """Rows yielded in this pass."""
        return self._report.n_rows

    @property
    def n_features(self) -> int:
        """Columns found so far."""
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
        """Whether svmlight indices start at 0; None until the first features are read."""
        return self._report.found.zero_based

    @property
    def text_like(self) -> list[str]:
        """Columns that are read as categories, but look like texts in the first rows."""
        return [name for name, is_text in self._report.found.text_like.items() if is_text]

    @property
    def notes(self) -> list[str]:
        """Warnings about suspicious columns; options stand in braces."""
        return list(self._report.found.notes)

    @property
    def names(self) -> list[str]:
        """Names behind hashed columns, such as "city=Oslo": the first 65,536 of them."""
        return list(self._report.names)

    @property
    def columns(self) -> dict[str, str] | None:
        """The kind of each column of a table; None until the first rows are read.

        Give it as ``columns`` to read other files, of any table format, into the same X.
        """
        found = self._report.found.columns
        return None if found is None else dict(found)

    @property
    def n_initials(self) -> int:
        """Initial predictions in Vowpal Wabbit's format, which are not used."""
        return self._report.n_initials


def initials_note(count: int) -> str:
    """Return the note that initial predictions are not used.

    >>> initials_note(2)[:21]
    '2 initial predictions'
    """
    return f"{count:,} initial predictions were ignored: aggro's models do not use them."


def read(
    paths: PathLike | Iterable[PathLike],
    *,
    format: Format | None = None,
    label: str | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    text: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    uninformative: Literal["keep", "ignore"] = "keep",
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
    unlabelled: Literal["keep", "error"] = "keep",
    widest: int | None = None,
    skip_bad: bool = False,
    cache: PathLike | Literal[True] | None = None,
) -> Reader:
    r"""Read files of any size as batches (X, y, weights); only a few are in memory at a time.

    Parameters
    ----------
    paths
        A file, a folder, a pattern such as ``"day-*.svm.gz"``, ``"-"`` for standard input, or a
        list of these. Names that end in .gz, .bz2, .xz or .zst are decompressed.
    format
        svmlight, vw, csv, tsv, parquet, arrow or jsonl; by default determined by the ending of the
        name, else svmlight.
    label, columns, weight
        Columns of a table or keys of JSON objects (inner ones are "outer.inner"); by default there
        is no label and no weight, and all other columns are features. Numbers and booleans are
        kept, a string becomes the hashed column "name=value". The hashed columns of X follow the
        numbers; without any, X is dense. A column is one of numbers if at
        least 90 % of its values in the first mebibyte are, not counting gaps such as "?" and "NA";
        other cells of the column are then bad. Cells such as 1,000 and 12,5 and 5 % count as
        mistyped numbers. A warning names categories most of whose values are numbers. The types of
        Parquet and Arrow, and JSON keys with only strings, are kept. If the first JSON objects
        all have the same keys, they are rows of a table, and other keys are ignored; otherwise keys
        that appear later are hashed. Dates become seven numbers: years since 2000, and sines and
        cosines of year, week and day. The label cannot be a feature. A mapping gives the kind of
        each column: "number", "category", "text", "date", "cycle" (a date without its years),
        "hashed" (a number in the column "name", a string in "name=value") or "ignored";
        ``{"*": "hashed"}`` stands for all others. The ``columns`` of a reader are such a mapping.
    text
        Columns of texts: their words, in lower case, are counted in columns "name=word".
    categorical
        Columns of categories, whatever their values.
    uninformative
        Whether columns that do not describe a row are ignored, unless ``columns`` names them:
        numbers that only rise or only fall (counters, timestamps) or that are all the same, and
        strings that are all different (identifiers), in the first mebibyte.
    labels
        Whether labels are numbers or class names ("text"); by default determined by the first ones.
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
        The width of X for svmlight; by default the largest index so far.
    unlabelled
        Whether a Vowpal Wabbit line without a label has the label NaN (or "") or is a bad line.
    unseen
        Whether an index beyond n_features is an error or is ignored.
    widest
        An svmlight index beyond this number of columns is bad; it is most likely a slip.
    zero_based
        Whether svmlight indices start at 0; by default they do if the first batch has an index 0.
    hash_bits
        Hashed names share 2**hash_bits columns.
    missing
        Whether a null or NaN feature is an error or counts as zero, an absent category.
    skip_bad
        Count lines that cannot be read instead of stopping at the first of them. The rows before
        it are yielded in any case.
    cache
        A file that keeps the parsed batches for later passes and runs; True for one beside the
        first file. It is written again if files or options change, or if it is damaged.

    Notes
    -----
    Vowpal Wabbit's format is read as Vowpal Wabbit does. Initial predictions are only counted,
    since the models do not use them.

    >>> import tempfile, pathlib
    >>> from aggro.io import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.svm")
    ...     _ = path.write_text("1 1:0.5 3:2\n-1 2:1\n")
    ...     for X, y, weights in read(path):
    ...         print(X.toarray().tolist(), y, weights)
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [ 1. -1.] None
    """
    options = Options.of(**{k: v for k, v in locals().items() if k not in ("paths", "cache")})
    files = expand(paths)
    return Reader(files, options, cache_files.path_for(cache, files))
