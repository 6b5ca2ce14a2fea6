"""What a race has chosen, and by how much: the best lane of each learner, those that left too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
JUDGED = ("mistakes", "recent_error", "recent_loss", "chosen", "left_after")  # all else is raced


@dataclass(frozen=True)
class SelectionReport:
    """What was raced, best first; printed, it is a table.

    ``rows`` hold, for each learner, the settings of its best lane, its recent ``error`` (a share of
    the examples, or the mean absolute error of a regression), how far it is ``behind`` the leader,
    and after how many examples it ``left_after`` others were better: None while it races. Of one
    that left, error and distance are those of that moment.

    >>> from aggro.selection.report import report_of
    >>> lane = {"C": 1.0, "metric": "diagonal", "recent_error": 0.25, "recent_loss": 0.5}
    >>> print(report_of([{**lane, "chosen": True}], [], regression=False))
      C    metric  error  behind  left after
      1  diagonal  25.0%   +0.0%  leads
    """

    rows: tuple[Row, ...]
    regression: bool

    @property
    def leader(self) -> Row:
        """The row that leads."""
        return self.rows[0]

    def __str__(self) -> str:
        """Return the table."""
        names = list(self._settings())
        lines = [(*names, "error", "behind", "left after")]
        for row in self.rows:
            left = row["left_after"]
            last = "leads" if row is self.rows[0] else "" if left is None else f"{left:,} examples"
            shown = (self._number(row["error"]), "+" + self._number(row["behind"]), last)
            lines.append((*(_word(row[name]) for name in names), *shown))
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        *first, _ = widths
        return "\n".join(
            "  ".join(["", *map(str.rjust, line, first), line[-1]]).rstrip() for line in lines
        )

    def _settings(self) -> tuple[str, ...]:
        return tuple(name for name in self.rows[0] if name not in ("error", "behind", "left_after"))

    def _number(self, value: float) -> str:
        return f"{value:.4g}" if self.regression else f"{100 * value:.1f}%"


def report_of(
    lanes: Sequence[Mapping[str, Any]], left: Sequence[Row], regression: bool
) -> SelectionReport:
    """Return the choice by what ``candidates_`` shows and by the rows of those that have left."""
    error = "recent_loss" if regression else "recent_error"
    best: dict[tuple[Any, ...], Row] = {}
    for lane in lanes:
        settings = {name: value for name, value in lane.items() if name not in JUDGED}
        row = {**settings, "error": lane[error], "left_after": lane.get("left_after")}
        row["leads"] = bool(lane.get("chosen"))
        key = tuple(value for name, value in settings.items() if name not in ("C", "average"))
        if key not in best or _rank(row) < _rank(best[key]):
            best[key] = row
    rows = sorted([*best.values(), *({**row, "leads": False} for row in left)], key=_rank)
    least = rows[0]["error"]
    last = ("leads", "behind", "left_after")
    told = [
        {name: value for name, value in row.items() if name not in last}
        | {"behind": row.get("behind", max(row["error"] - least, 0.0))}
        | {"left_after": row["left_after"]}
        for row in rows
    ]
    return SelectionReport(tuple(told), regression)


def removed_rows(
    lanes: Sequence[Mapping[str, Any]],
    staying: Sequence[Mapping[str, Any]],
    examples: int,
    regression: bool,
) -> list[Row]:
    """Return the rows of learners that leave a race after so many examples, to those that stay."""
    gone = [{**lane, "chosen": False, "left_after": examples} for lane in lanes]
    rows = report_of([*staying, *gone], [], regression).rows
    return [row for row in rows if row["left_after"] is not None]


def _rank(row: Row) -> tuple[bool, bool, float]:
    return not row["leads"], row["left_after"] is not None, row["error"]


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.3g}"
