"""How data are read: given when a model is trained, remembered in its file, used ever after."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np

from aggro import _core
from aggro.extras import optional
from aggro.io import Reader, ReadingError, arrow, read
from aggro.io.csv import header_of
from aggro.io.errors import naming
from aggro.io.options import MOST_FEATURES, Options
from aggro.io.sources import COMPRESSIONS, STANDARD_INPUT, blocks_of, expand, format_of, sampled
from aggro.learner import Array

SVMLIGHT, VW, TABLE = "svmlight", "vw", "table"  # what makes the columns of X
MADE_BY = {SVMLIGHT: SVMLIGHT, VW: VW}  # all other formats are tables
COLUMNS_OF = {
    SVMLIGHT: "the numbered columns of svmlight",
    VW: "the hashed columns of Vowpal Wabbit's format",
    TABLE: "the columns of a table",
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """Everything about the form of the data that a model depends on."""

    format: str | None = None
    label: str | None = None
    weight: str | None = None
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    columns: dict[str, str] | None = None  # what becomes of each, once it is known
    made_by: str | None = None  # SVMLIGHT, VW or TABLE, once it is known
    header: bool = True
    missing_zero: bool = False
    hash_bits: int = 18
    zero_based: bool | None = None
    labels: str = "auto"

    @classmethod
    def from_arguments(cls, args: Namespace) -> Reading:
        """Return what the command line says."""
        return cls(
            format=args.format,
            label=args.label,
            weight=args.weight,
            text=tuple(args.text or ()),
            categorical=tuple(args.categorical or ()),
            features=None if args.features is None else tuple(args.features.split(",")),
            header=not args.no_header,
            missing_zero=args.missing_zero,
            hash_bits=18 if args.hash_bits is None else args.hash_bits,
            zero_based=True if args.zero_based else None,
            labels=args.labels or "auto",
        )

    @classmethod
    def from_origin(cls, origin: dict[str, Any]) -> Reading:
        """Return the reading that a model file describes; defaults for an empty ``origin``."""
        known = cls.__dataclass_fields__.keys()
        return cls(**{name: value for name, value in origin.items() if name in known})

    def origin(self) -> dict[str, Any]:
        """Return all this as a model file holds it."""
        return dataclasses.asdict(self)

    def but(self, format: str | None) -> Reading:
        """Return the same for data of another format, if one is given."""
        other = format is not None and format != self.format
        return dataclasses.replace(self, format=format) if other else self

    def learned_from(self, reader: Reader, classes: Array) -> Reading:
        """Return how later data are to be read: what was found out is fixed."""
        kind = classes.dtype.kind
        labels = "text" if kind == "U" else "number" if kind in "iuf" else self.labels
        made_by = self.made_by or made_by_format(self.format or format_of(reader.files[0]))
        return dataclasses.replace(
            self,
            zero_based=reader.zero_based,
            columns=reader.columns,
            made_by=made_by,
            labels=labels,
        )

    def check(self, paths: Sequence[str]) -> None:
        """Refuse files that have not all the columns of the model, or of each other."""
        made_by = self.made_by
        for path in expand(paths):
            format = self.format or format_of(path)
            given = made_by_format(format)
            if made_by is None:
                made_by = given
            if self.made_by is None and given != made_by:
                raise ReadingError(
                    path,
                    f"is {format}, but the files before it have {COLUMNS_OF[made_by]}; "
                    "give files of one kind",
                )
            if given != made_by:
                raise ReadingError(
                    path,
                    f"is {format}, but the model was learned from {COLUMNS_OF[made_by]}, "
                    "which are others; give data of that kind, or say with --format what this is",
                )

    def check_label(self, paths: Sequence[str]) -> None:
        """Refuse data of other columns, and a table of which nobody said what the label is."""
        self.check(paths)
        first = expand(paths)[0]
        format = self.format or format_of(first)
        if self.label is None and made_by_format(format) == TABLE and format != "jsonl":
            present = ", ".join(column_names(first, format, self.header))
            raise ValueError(
                f"{first}: which column is the label? Give --label COLUMN; there are {present}."
            )

    def without_label(self, paths: Sequence[str]) -> Reading:
        """Return the same for data whose labels do not matter, and may be absent."""
        columns = self.columns
        if columns is None and self.features is None:
            return self
        if columns is not None:
            apart = [name for name in (self.label, self.weight) if name is not None]
            columns = {**columns, **dict.fromkeys(apart, "ignored")}
        return dataclasses.replace(self, label=None, weight=None, columns=columns)

    def open(
        self,
        paths: Sequence[str],
        *,
        width: int | None = None,
        labelled: bool = True,
        skip_bad: bool = False,
        cache: Any = None,
        dtype: Any = float,
        raw: bool = False,
        uninformative: Literal["keep", "ignore"] = "keep",
    ) -> Reader:
        """Return a reader; ``width`` makes it drop the features that a model does not know.

        ``raw``: texts are to be left as they are. ``uninformative``: see ``aggro.io.read``.
        """
        self.check(paths)
        reader = read(
            list(paths),
            format=self.format,  # type: ignore[arg-type]
            label=self.label,
            features=self.features if self.columns is None else self.columns,
            text=self.text,
            categorical=self.categorical,
            uninformative=uninformative,
            weight=self.weight,
            labels=self.labels,  # type: ignore[arg-type]
            header=self.header,
            dtype=dtype,
            n_features=width,
            unseen="error" if width is None else "ignore",
            zero_based="auto" if self.zero_based is None else self.zero_based,
            hash_bits=self.hash_bits,
            missing="zero" if self.missing_zero else "error",
            unlabelled="error" if labelled else "keep",
            widest=None if width is not None else most_columns(dtype),
            skip_bad=skip_bad,
            cache=None if raw else cache,  # texts are kept as they are, in their file
        )
        reader = reader.without_scipy()
        return reader.raw() if raw else reader


def made_by_format(format: str) -> str:
    """Return what makes the columns of X in files of a format."""
    return MADE_BY.get(format, TABLE)


def most_columns(dtype: Any) -> int:
    """Return how many columns a model can have, and the memory can hold one weight for."""
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
    """Return about how many rows there are, from file sizes; None where nothing can be told."""
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
