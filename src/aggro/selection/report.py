"""Reports of model selection: the best candidate of each kind, the removed ones included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
MEASURED = ("mistakes", "recent_error", "recent_loss", "chosen", "left_after")


@dataclass(frozen=True)
class SelectionReport:
    """Candidates of a model selection, the best one first; printed, it is a table.

    For each learner, ``rows`` have the settings of its best candidate, its recent ``error`` (a
    share of the examples, or the mean error of a regression by its ``criterion``), its difference
    from the best one (``behind``), and the number of examples after which it was removed
    (``left_after``): None for the remaining ones. Error and difference of a removed one are those
    at its removal. ``measured`` is the name of the error.

    >>> from aggro.selection.report import report_of
    >>> row = {"C": 1.0, "metric": "diagonal", "recent_error": 0.25, "recent_loss": 0.5}
    >>> print(report_of([{**row, "chosen": True}], [], "mistakes"))
      C    metric  error  behind  removed after
      1  diagonal  25.0%   +0.0%  best
    """

    rows: tuple[Row, ...]
    measured: str

    @property
    def regression(self) -> bool:
        """Whether errors are means of numbers, not shares of the examples."""
        return self.measured != "mistakes"

    @property
    def best(self) -> Row:
        """The row of the best candidate."""
        return self.rows[0]

    def __str__(self) -> str:
        """Return the table."""
        names = list(self._settings())
        lines = [(*names, "error", "behind", "removed after")]
        for row in self.rows:
            left = row["left_after"]
            last = "best" if row is self.rows[0] else "" if left is None else f"{left:,} examples"
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
    candidates: Sequence[Mapping[str, Any]], removed: Sequence[Row], measured: str
) -> SelectionReport:
    """Return the report of the rows of ``candidates_`` and of removed candidates."""
    error = "recent_error" if measured == "mistakes" else "recent_loss"
    best_of: dict[tuple[Any, ...], Row] = {}
    for each in candidates:
        settings = {name: value for name, value in each.items() if name not in MEASURED}
        row = {**settings, "error": each[error], "left_after": each.get("left_after")}
        row["best"] = bool(each.get("chosen"))
        key = tuple(value for name, value in settings.items() if name not in ("C", "average"))
        if key not in best_of or _rank(row) < _rank(best_of[key]):
            best_of[key] = row
    rows = sorted([*best_of.values(), *({**row, "best": False} for row in removed)], key=_rank)
    least = rows[0]["error"]
    last = ("best", "behind", "left_after")
    shown = [
        {name: value for name, value in row.items() if name not in last}
        | {"behind": row.get("behind", max(row["error"] - least, 0.0))}
        | {"left_after": row["left_after"]}
        for row in rows
    ]
    return SelectionReport(tuple(shown), measured)


def removed_rows(
    removed: Sequence[Mapping[str, Any]],
    remaining: Sequence[Mapping[str, Any]],
    examples: int,
    measured: str,
) -> list[Row]:
    """Return report rows of candidates that are removed after ``examples`` examples."""
    gone = [{**each, "chosen": False, "left_after": examples} for each in removed]
    rows = report_of([*remaining, *gone], [], measured).rows
    return [row for row in rows if row["left_after"] is not None]


def _rank(row: Row) -> tuple[bool, bool, float]:
    return not row["best"], row["left_after"] is not None, row["error"]


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, float):
        return str(value)
    return f"{value:.3g}"
