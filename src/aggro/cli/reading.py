"""How data are read: options when a model is trained, stored in its file, used from then on."""

from __future__ import annotations

import dataclasses
import re
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from aggro import _core
from aggro.cli.output import listed
from aggro.extras import optional
from aggro.io import Reader, ReadingError, arrow, read
from aggro.io.columns import numeric_names
from aggro.io.options import MOST_FEATURES, Options, naming
from aggro.io.sources import COMPRESSIONS, STANDARD_INPUT, blocks_of, expand, format_of, sampled
from aggro.io.strings import by_column
from aggro.io.text_tables import header_of
from aggro.learner import Array

SVMLIGHT, VW, TABLE = "svmlight", "vw", "table"  # sources of the columns of X
SOURCES = {SVMLIGHT: SVMLIGHT, VW: VW}  # all other formats are tables
COLUMNS_OF = {
    SVMLIGHT: "the numbered columns of svmlight",
    VW: "the hashed columns of Vowpal Wabbit's format",
    TABLE: "the columns of a table",
}


# Options that have the same names and values in ``aggro.io.read``.
OPTIONS = ("format", "label", "weight", "text", "categorical", "header", "hash_bits", "labels")


@dataclasses.dataclass(frozen=True)
class Reading:
    """The form of the data that a model learns from."""

    format: str | None = None
    label: str | None = None
    weight: str | None = None
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None  # to learn from, if they were named
    kinds: dict[str, str] | None = None  # the type of each, once it is known
    made_by: str | None = None  # SVMLIGHT, VW or TABLE, once it is known
    header: bool = True
    missing_zero: bool = False
    hash_bits: int = 18
    zero_based: bool | None = None
    labels: str = "auto"

    @classmethod
    def from_arguments(cls, args: Namespace) -> Reading:
        """Return the form that the options describe."""
        given = {name: getattr(args, name, None) for name in cls._names()}
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
            if value is not None
        }
        return cls(**fields)

    @classmethod
    def from_origin(cls, origin: dict[str, Any]) -> Reading:
        """Return the form that a model file describes; defaults where it does not."""
        return cls(**{name: value for name, value in origin.items() if name in cls._names()})

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in dataclasses.fields(cls)]

    def but(self, format: str | None) -> Reading:
        """Return the same for data of another format, if one is given."""
        other = format is not None and format != self.format
        return dataclasses.replace(self, format=format) if other else self

    def learned_from(self, reader: Reader, classes: Array) -> Reading:
        """Return the form with everything that the reader has detected."""
        kind = classes.dtype.kind
        labels = "text" if kind == "U" else "number" if kind in "iuf" else self.labels
        made_by = self.made_by or source_of(self.format or format_of(reader.files[0]))
        return dataclasses.replace(
            self,
            zero_based=reader.zero_based,
            kinds=reader.columns,
            made_by=made_by,
            labels=labels,
        )

    def check(self, paths: Sequence[str]) -> None:
        """Raise unless all files have the columns of the model and of each other."""
        made_by = self.made_by
        for path in expand(paths):
            format = self.format or format_of(path)
            found = source_of(format)
            if made_by is None:
                made_by = found
            if self.made_by is None and found != made_by:
                raise ReadingError(
                    path,
                    f"is {format}, but the files before it have {COLUMNS_OF[made_by]}; "
                    "give files of one kind",
                )
            if found != made_by:
                raise ReadingError(
                    path,
                    f"is {format}, but the model was learned from {COLUMNS_OF[made_by]}; "
                    "give data of that kind, or name the format with --format",
                )

    def check_label(self, paths: Sequence[str]) -> None:
        """Raise if the columns differ, or if nothing says which column of a table is the label."""
        self.check(paths)
        first = expand(paths)[0]
        format = self.format or format_of(first)
        if self.label is None and source_of(format) == TABLE and format != "jsonl":
            present = ", ".join(column_names(first, format, self.header))
            raise ValueError(
                f"{first}: which column is the label? Give --label COLUMN; there are {present}."
            )

    def without_label(self) -> Reading:
        """Return the same for data whose labels are ignored and may be absent."""
        kinds = self.kinds
        if kinds is None and self.columns is None:
            return self
        if kinds is not None:
            ignored = [name for name in (self.label, self.weight) if name is not None]
            kinds = {**kinds, **dict.fromkeys(ignored, "ignored")}
        return dataclasses.replace(self, label=None, weight=None, kinds=kinds)

    def open(
        self,
        paths: Sequence[str],
        *,
        width: int | None = None,
        raw: bool = False,
        cache: Any = None,
        dtype: Any = float,
        **options: Any,
    ) -> Reader:
        """Return a reader.

        Parameters
        ----------
        paths : sequence of str
            Files, folders or patterns.
        width : int, optional
            Number of features of the model; later features are dropped.
        raw : bool, default=False
            Whether texts are returned as texts, which are not cached.
        cache, dtype, **options
            Further arguments of ``aggro.io.read``.
        """
        self.check(paths)
        limits: dict[str, Any] = {"n_features": width, "unseen": "ignore"}
        if width is None:
            limits = {"widest": most_columns(dtype)}
        own = {name: getattr(self, name) for name in OPTIONS} | {
            "columns": self.columns if self.kinds is None else self.kinds,
            "zero_based": "auto" if self.zero_based is None else self.zero_based,
            "missing": "zero" if self.missing_zero else "error",
        }
        options = {"unlabelled": "error", **own, **limits, **options}
        reader = read(list(paths), dtype=dtype, cache=None if raw else cache, **options)
        reader = reader.without_scipy()
        return reader.raw() if raw else reader


def no_labels(reader: Reader) -> ValueError:
    """Return the error of data without labels."""
    return ValueError(f"{listed(reader.files)}: no labels; name their column with --label.")


@contextmanager
def with_example_number(reader: Reader, before: int, X: Any) -> Iterator[None]:
    """Add the number of the example to errors of a learner; ``before`` were read earlier."""
    try:
        yield
    except MemoryError as error:
        if not hasattr(X, "indptr") or "features needs" not in str(error):
            raise
        last = int(X.indices.argmax())  # the feature with the largest index
        row = int(np.searchsorted(X.indptr, last, side="right"))
        place = f"{listed(reader.files)}, example {before + row}"
        raise MemoryError(f"{place}: feature {X.indices[last]}: {error}") from error
    except ValueError as error:
        found = re.fullmatch(r"row (\d+): (.*)", str(error), re.DOTALL)
        if found is None:
            raise
        place = f"{listed(reader.files)}, example {before + int(found[1]) + 1}"
        raise ValueError(f"{place}: {found[2]}") from error


def source_of(format: str) -> str:
    """Return what defines the columns of X in files of a format."""
    return SOURCES.get(format, TABLE)


def most_columns(dtype: Any) -> int:
    """Return the most columns that a model can have and whose weights fit into memory."""
    memory = _core.machine_memory() / np.dtype(dtype).itemsize
    return int(min(memory, MOST_FEATURES))


def column_names(path: str, format: str, header: bool) -> list[str]:
    """Return the names of a table's columns."""
    if path == STANDARD_INPUT:
        return ["unknown: it is standard input"]
    with naming(path):
        if format in arrow.OPENED:
            return arrow.column_names(path, format)
        options = Options(format=format, header=header)  # type: ignore[arg-type]  # it checks
        with closing(blocks_of(path, options)) as blocks:
            sample, _ = sampled(blocks)
        return header_of(sample.data, options, path)[0]


def guess_rows(paths: Sequence[str], format: str | None) -> int | None:
    """Estimate the number of rows from file sizes; None if that is impossible."""
    total = 0.0
    for path in expand(paths):
        kind = format or format_of(path)
        if path == STANDARD_INPUT or not Path(path).is_file():
            return None
        if kind == "parquet":
            with naming(path):
                total += optional("pyarrow.parquet", "Reading").read_metadata(path).num_rows
            continue
        if kind == "arrow" or Path(path).suffix.lower() in COMPRESSIONS:
            return None
        with Path(path).open("rb") as stream:
            sample = stream.read(1 << 18)
        total += Path(path).stat().st_size * max(sample.count(b"\n"), 1) / max(len(sample), 1)
    return int(total)


class FeatureNames:
    """The names of the columns of X.

    A hashed column has the name of its category, such as "city=Oslo", if the model file stores it,
    and otherwise its number, such as "#4742".
    """

    def __init__(self, reading: Reading, width: int, names: Sequence[str] = ()) -> None:
        self.reading = reading
        self.numbers: list[str] = []
        if reading.kinds is not None:
            self.numbers = numeric_names(reading.kinds)
        elif reading.columns is not None and len(reading.columns) == width:
            self.numbers = list(reading.columns)  # all of them are numbers
        self.hashed = by_column(names, reading.hash_bits, len(self.numbers))

    def __getitem__(self, column: int) -> str:
        if column < len(self.numbers):
            return self.numbers[column]
        if column in self.hashed:
            return self.hashed[column]
        reading = self.reading
        if reading.kinds is not None or reading.made_by not in (SVMLIGHT, None):
            return f"#{column}"
        return str(column + (reading.zero_based is False))
