"""What a reproduced paper consists of. Each folder beside this file is one.

A folder ``studies/papers/<name>/`` holds ``published.tsv``, the printed numbers, and a package with

- ``TITLE``, ``SOURCE``: what the paper is, and where it was published;
- ``DATA``: the names of the sets it needs from ``aggro.datasets``;
- ``cells(quick)``: the list of all pieces of work, each a small dict of plain values that says
  everything about it (set, algorithm or group of algorithms, seed, ...);
- ``run(cell)``: does one piece and returns numbers, as a dict of plain values and lists;
- ``reproduced(results, entry)``: for one printed number, our values over the runs, or None where
  it cannot be had (the data are not public ...);
- ``figures(results)``: the redrawn figures;
- ``claims(results)``: what the paper says, cut into parts (see ``studies.papers.claims``);
- ``ABOUT``: a page on how the paper's experiments were done anew and what came out;
- ``PROVENANCE``: which data are the paper's own, which are not, and what was chosen by fit.

It may also have

- ``NOTES``: a text for printed numbers that we do clearly worse on, by (table, row, column);
- ``printed_error(entry, values)``: the standard error of a printed number, where it can be told;
- ``other_data(entry)``: whether a number was learned from other data than the paper's;
- ``plain(results, entry)``: our values under the plain reading of the text, where the one that is
  shown was chosen because it fits;
- ``needs(cell)``: the names of the sets that a cell reads; without it, the value "set" of the cell
  where that is in ``DATA``;
- ``beside(results)``: Markdown to stand after the tables: what the paper does not print.

``run`` is best defined in a module of its own: when that module changes (or one of the package that
it imports), finished cells are run again; when texts, claims or figures change, they are not.

A module with ``section(results)`` in place of ``published.tsv``, ``reproduced``, ``NOTES``,
``figures`` and ``claims`` writes its part of the report itself, as Markdown.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from studies.papers.claims import Claim

Cell = dict[str, Any]
Outcome = dict[str, Any]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Published:
    """One printed number: a line of ``published.tsv``.

    ``better`` is "lower" or "higher", or "-" for numbers that are shown but not judged (times,
    numbers of updates). ``spread`` is the half width of the printed interval, where there is one.
    ``decimals`` counts the printed digits after the point.
    """

    table: str
    row: str
    column: str
    measure: str
    value: float
    spread: float | None
    better: Literal["lower", "higher", "-"]
    decimals: int = 0

    @property
    def point(self) -> float:
        """One percentage point, in the unit of this number."""
        return 1.0 if "%" in self.measure else 0.01

    @property
    def rounding(self) -> float:
        """What rounding may hide."""
        return 0.5 * 10.0**-self.decimals

    @property
    def place(self) -> tuple[str, str, str]:
        """Where it is printed: the key of ``NOTES``."""
        return self.table, self.row, self.column


@dataclass(frozen=True)
class Figure:
    """A redrawn figure.

    ``draw(path)`` writes it; ``text`` says what to see, and what the printed one looks like.
    """

    name: str  # of the file, without its folder and ending
    title: str
    text: str
    draw: Callable[[Path], None]


class Results:
    """Finished cells with their outcomes."""

    def __init__(self, pairs: Iterable[tuple[Cell, Outcome]]) -> None:
        self.pairs = list(pairs)

    def where(self, **wanted: Any) -> Results:
        """Return those whose cells have these values."""
        return Results(
            (c, o) for c, o in self.pairs if all(c.get(k) == v for k, v in wanted.items())
        )

    def values(self, *keys: str) -> Values:
        """Return one number of each outcome, found by a path of keys, in the order of the cells."""
        found = []
        for _, outcome in self.pairs:
            value: Any = outcome
            for key in keys:
                value = value[key]
            found.append(value)
        return np.array(found, float)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Provenance:
    """Where the data of a paper come from, and what was chosen because it fits its numbers."""

    own: str  # the paper's own data
    other: str  # stand-ins, and data that differ
    fitted: str  # what was chosen by fit
    plain: str = ""  # what the plain reading is, where it was run


class Experiment(Protocol):
    """The face of a package in this folder."""

    TITLE: str
    SOURCE: str
    ABOUT: str
    DATA: tuple[str, ...]
    PROVENANCE: Provenance

    def cells(self, quick: bool) -> list[Cell]:
        """Return all pieces of work."""

    def run(self, cell: Cell) -> Outcome:
        """Do one piece."""

    def reproduced(self, results: Results, entry: Published) -> Values | None:
        """Return our values for a printed number."""

    def figures(self, results: Results) -> list[Figure]:
        """Return the redrawn figures."""

    def claims(self, results: Results) -> list[Claim]:
        """Return what the paper says, tested."""


def read_published(path: Path) -> list[Published]:
    """Return the printed numbers of a paper."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Published(
                line["table"],
                line["row"],
                line["column"],
                line["measure"],
                float(line["value"]),
                float(line["spread"]) if line["spread"] else None,
                line["better"],
                len(line["value"].partition(".")[2]),
            )
            for line in csv.DictReader(file, delimiter="\t")
        ]
