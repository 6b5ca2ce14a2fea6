"""The table of data sets, with one row per file."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from aggro.checks import near

TABLE = Path(__file__).with_name("sets.tsv")


@dataclass(frozen=True)
class Source:
    r"""One file of a set.

    ``order`` is "time" for rows in time order, "class" for rows sorted by class, which must be
    shuffled, "-" if unknown. ``kind`` is "svmlight", or "text": a label, a tab and a text on each
    line, "escaped text" with ``

    ``, ``\t``, ``\r`` and ``\\`` for the characters they stand for. ``address`` is the public
    address, "-" if none is reliable.

    Examples
    --------
    >>> from aggro import datasets
    >>> source = datasets.describe("a9a")
    >>> source.task, source.features
    ('binary', 123)
    """

    name: str
    part: str
    task: Literal["binary", "multiclass", "regression"]
    order: Literal["time", "class", "-"]
    kind: Literal["svmlight", "text", "escaped text"]
    rows: int
    features: int
    file: str
    sha256: str
    unpacked_sha256: str
    address: str


def read_table(path: Path = TABLE) -> dict[str, list[Source]]:
    """Return the files of each set."""
    found: dict[str, list[Source]] = {}
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            numbers = {"rows": int(row["rows"]), "features": int(row["features"])}
            source = Source(**cast("dict[str, str]", row) | numbers)  # type: ignore[arg-type]
            found.setdefault(source.name, []).append(source)
    return found


@functools.lru_cache(maxsize=1)
def table() -> dict[str, list[Source]]:
    """Return the table of the package."""
    return read_table()


def names(task: str | None = None) -> list[str]:
    """Return the names of all sets, or of those of one task.

    >>> from aggro.datasets import names
    >>> names("regression")[:2]
    ['abalone', 'airfoil']
    """
    return [name for name, files in table().items() if task in (None, files[0].task)]


def files_of(name: str) -> list[Source]:
    """Return the files of a set, the training file first."""
    if name not in table():
        hint = near(name, list(table()))
        raise ValueError(f"There is no data set {name!r}.{hint} datasets.names() lists them all.")
    return table()[name]


def describe(name: str) -> Source:
    """Return the description of a set: task, order, size, file and address of its first part.

    >>> from aggro.datasets import describe
    >>> describe("letter").task
    'multiclass'
    """
    return next(source for source in files_of(name) if source.part == "train")
