"""Interface of a reproduced paper. Each folder beside this file holds one.

A folder ``studies/papers/<name>/`` holds ``published.tsv``, the printed numbers, and a package with

- ``TITLE``, ``SOURCE``: the title and the publication;
- ``DATA``: the names of the required sets in ``aggro.datasets``;
- ``cells(quick)``: the list of all cells, each a small dict of plain values that specifies one
  run (set, algorithm or group of algorithms, seed, ...);
- ``run(cell)``: runs a cell and returns numbers, as a dict of plain values and lists;
- ``reproduced(results, entry)``: our values for one printed number over the runs, or None if
  there are none (for example, because the data are not public);
- ``figures(results)``: the redrawn figures;
- ``claims(results)``: the paper's claims in parts (see ``studies.papers.claims``);
- ``ABOUT``: a page on the reproduction and its results;
- ``PROVENANCE``: which data are the paper's, which differ, and what was chosen by fit.

It may also have

- ``NOTES``: explanations of numbers that are clearly worse than printed, by (table, row, column);
- ``printed_error(entry, values)``: the standard error of a printed number, if known;
- ``other_data(entry)``: whether a number comes from other data than the paper's;
- ``plain(results, entry)``: our values under the plain reading of the text, where the reported
  reading was chosen because it fits;
- ``needs(cell)``: the names of the sets that a cell reads; by default, the value "set" of the
  cell if it is in ``DATA``;
- ``beside(results)``: additional tables that the paper does not print, as Markdown.

Define ``run`` in a separate module: a change of that module, or of the modules of the package that
it imports, makes finished cells stale; changes of texts, claims or figures do not.

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
    """One printed number, a line of ``published.tsv``.

    ``better`` is "lower" or "higher", or "-" for numbers without a verdict (times,
    numbers of updates). ``spread`` is the half width of the printed interval, if there is one.
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
        """Return one percentage point in the unit of this number."""
        return 1.0 if "%" in self.measure else 0.01

    @property
    def rounding(self) -> float:
        """Return the largest rounding error of the printed number."""
        return 0.5 * 10.0**-self.decimals

    @property
    def place(self) -> tuple[str, str, str]:
        """Return the (table, row, column) of the number, a key of ``NOTES``."""
        return self.table, self.row, self.column


@dataclass(frozen=True)
class Figure:
    """A redrawn figure.

    ``draw(path)`` writes it; ``text`` describes it and compares it with the printed figure.
    """

    name: str  # of the file, without folder and extension
    title: str
    text: str
    draw: Callable[[Path], None]


class Results:
    """Finished cells with their outcomes."""

    def __init__(self, pairs: Iterable[tuple[Cell, Outcome]]) -> None:
        self.pairs = list(pairs)

    def where(self, **wanted: Any) -> Results:
        """Return the results whose cells have these values."""
        return Results(
            (c, o) for c, o in self.pairs if all(c.get(k) == v for k, v in wanted.items())
        )

    def values(self, *keys: str) -> Values:
        """Return one number of each outcome, given by a path of keys, in the order of the cells."""
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
    """Sources of the data of a paper, and choices made to fit its numbers."""

    own: str  # the data of the paper
    other: str  # stand-ins, and data that differ
    fitted: str  # what was chosen by fit
    plain: str = ""  # the plain reading, if it was run


class Experiment(Protocol):
    """Interface of a package in this folder."""

    TITLE: str
    SOURCE: str
    ABOUT: str
    DATA: tuple[str, ...]
    PROVENANCE: Provenance

    def cells(self, quick: bool) -> list[Cell]:
        """Return all cells."""

    def run(self, cell: Cell) -> Outcome:
        """Run one cell."""

    def reproduced(self, results: Results, entry: Published) -> Values | None:
        """Return our values for a printed number."""

    def figures(self, results: Results) -> list[Figure]:
        """Return the redrawn figures."""

    def claims(self, results: Results) -> list[Claim]:
        """Return the tested claims of the paper."""


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
