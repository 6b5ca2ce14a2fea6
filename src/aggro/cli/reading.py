"""How data are read: given when a model is trained, remembered in its file, used ever after."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aggro.files import Reader, read
from aggro.files.errors import optional
from aggro.files.sources import STANDARD_INPUT, expand, format_of, open_bytes

TABLES = ("csv", "tsv", "parquet", "arrow")
HASHED = ("vw", "jsonl")


@dataclasses.dataclass(frozen=True)
class Reading:
    """Everything about the form of the data that a model depends on."""

    format: str | None = None
    label: str | None = None
    weight: str | None = None
    text: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
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
            features=None if args.features is None else tuple(args.features.split(",")),
            header=not args.no_header,
            missing_zero=args.missing_zero,
            hash_bits=18 if args.hash_bits is None else args.hash_bits,
            labels=args.labels or "auto",
        )

    @classmethod
    def from_origin(cls, origin: dict[str, Any]) -> Reading:
        """Return what a model file says, or the defaults for a model that was made elsewhere."""
        known = cls.__dataclass_fields__.keys()
        return cls(**{name: value for name, value in origin.items() if name in known})

    def origin(self) -> dict[str, Any]:
        """Return all this as a model file holds it."""
        return dataclasses.asdict(self)

    def but(self, format: str | None) -> Reading:
        """Return the same for data of another format, if one is given."""
        other = format is not None and format != self.format
        return dataclasses.replace(self, format=format) if other else self

    def with_columns(self, paths: Sequence[str]) -> Reading:
        """Return the same with the columns named, so that they keep their order for ever."""
        first = expand(paths)[0]
        format = self.format or format_of(first)
        if format not in TABLES:
            return self
        if self.label is None:
            present = ", ".join(column_names(first, format, self.header))
            raise ValueError(
                f"{first}: which column is the label? Give --label COLUMN; there are {present}."
            )
        if self.features is not None or first == STANDARD_INPUT:
            return self
        others = (self.label, self.weight, *self.text)
        names = [n for n in column_names(first, format, self.header) if n not in others]
        return dataclasses.replace(self, features=tuple(names))

    def without_label(self, paths: Sequence[str]) -> Reading:
        """Return the same for data whose labels do not matter, and may be absent."""
        first = expand(paths)[0]
        format = self.format or format_of(first)
        if format in TABLES and self.features is not None:
            return dataclasses.replace(self, label=None, weight=None)
        if format == "jsonl" and first != STANDARD_INPUT and not _has_key(first, self.label):
            return dataclasses.replace(self, label=None, weight=None)
        return self

    def open(
        self,
        paths: Sequence[str],
        *,
        width: int | None = None,
        skip_bad: bool = False,
        cache: Any = None,
        dtype: Any = float,
    ) -> Reader:
        """Return a reader; ``width`` makes it drop the features that a model does not know."""
        return read(
            list(paths),
            format=self.format,  # type: ignore[arg-type]
            label=self.label,
            features=self.features,
            text=self.text,
            weight=self.weight,
            labels=self.labels,  # type: ignore[arg-type]
            header=self.header,
            dtype=dtype,
            n_features=width,
            unseen="error" if width is None else "ignore",
            zero_based="auto" if self.zero_based is None else self.zero_based,
            hash_bits=self.hash_bits,
            missing="zero" if self.missing_zero else "error",
            skip_bad=skip_bad,
            cache=cache,
        )


def column_names(path: str, format: str, header: bool) -> list[str]:
    """Return the names of a table's columns."""
    if path == STANDARD_INPUT:
        return ["unknown: it is standard input"]
    if format == "parquet":
        return list(optional("pyarrow.parquet", "Reading Parquet files").read_schema(path).names)
    if format == "arrow":
        return list(optional("pyarrow.dataset", "Reading Arrow files")
                    .dataset(path, format="ipc").schema.names)  # fmt: skip
    with open_bytes(path) as raw:
        lines = csv.reader(
            io.TextIOWrapper(raw, encoding="utf-8", newline=""),
            delimiter="\t" if format == "tsv" else ",",
        )
        first = next(lines, [])
    return first if header else [f"f{i}" for i in range(len(first))]


def _has_key(path: str, key: str | None) -> bool:
    with open_bytes(path) as raw:
        line = raw.readline()
    try:
        return key in json.loads(line)
    except (ValueError, TypeError):
        return False


def guess_rows(paths: Sequence[str], format: str | None) -> int | None:
    """Return about how many rows there are, from file sizes; None where nothing can be told."""
    total = 0.0
    for path in expand(paths):
        kind = format or format_of(path)
        if path == STANDARD_INPUT or not Path(path).is_file():
            return None
        if kind == "parquet":
            total += optional("pyarrow.parquet", "Reading").read_metadata(path).num_rows
            continue
        if kind == "arrow" or Path(path).suffix in (".gz", ".bz2", ".xz", ".lzma", ".zst"):
            return None
        with Path(path).open("rb") as stream:
            sample = stream.read(1 << 18)
        total += Path(path).stat().st_size * max(sample.count(b"\n"), 1) / max(len(sample), 1)
    return int(total)
