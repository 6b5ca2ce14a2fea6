"""The papers' tables in Markdown; each cell holds the printed number and ours."""

from __future__ import annotations

from collections.abc import Iterable

from studies.papers.experiment import Published
from studies.papers.verdict import Judged, deviation

SIGNS = {"inside": "✓", "better": "▲", "worse": "▼", "inconclusive": "?", "other data": "○"}


def markdown(
    head: list[str], rows: Iterable[list[str]], numbers: bool = True, texts: int = 0
) -> list[str]:
    """Return the lines of a Markdown table; columns of numbers are right-aligned.

    These are all columns but the first and the last ``texts``; or none.
    """
    columns = len(head) - 1
    right = columns - texts if numbers else 0
    rule = " --: |" * right + " --- |" * (columns - right)
    body = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"| --- |{rule}", *body]


def all_of(judged: list[Judged]) -> list[str]:
    """Return every table of a paper, one for each measure."""
    lines: list[str] = []
    for table, measure in dict.fromkeys((j.entry.table, j.entry.measure) for j in judged):
        chosen = [j for j in judged if (j.entry.table, j.entry.measure) == (table, measure)]
        lines += [f"### {table}: {measure}", "", *_table(chosen), ""]
    return lines


def _table(judged: list[Judged]) -> list[str]:
    columns = list(dict.fromkeys(j.entry.column for j in judged))
    fields = {(j.entry.row, j.entry.column): _field(j) for j in judged}
    rows = [
        [row, *(fields.get((row, column), "") for column in columns)]
        for row in dict.fromkeys(j.entry.row for j in judged)
    ]
    return markdown(["", *columns], rows)


def _field(judged: Judged) -> str:
    entry = judged.entry
    printed = f"{entry.value:.{entry.decimals}f}"
    if entry.spread is not None:
        printed += f" ± {entry.spread:g}"
    if judged.values is None:
        return f"{printed}<br>–"
    ours = _number(float(judged.values.mean()), entry)
    if len(judged.values) > 1:
        ours += f" ± {_number(deviation(judged.values), entry)}"
    sign = SIGNS.get(judged.mark)
    return f"{printed}<br>{ours} {sign}" if sign else f"*{printed}*<br>*{ours}*"


def _number(value: float, entry: Published) -> str:
    """Return a number with as many digits as printed, or two significant ones if it is tiny."""
    if value and abs(value) < 10.0**-entry.decimals:
        return f"{value:.2g}"
    return f"{value:.{entry.decimals}f}"


def notes(judged: list[Judged], texts: dict[tuple[str, str, str], str]) -> list[str]:
    """Return the explanations of worse numbers, without repetitions."""
    places: dict[str, list[str]] = {}
    for j in judged:
        if j.mark == "worse":
            text = texts.get(j.entry.place, "no explanation was found.")
            places.setdefault(text, []).append(", ".join(j.entry.place))
    if not places:
        return []
    lines = [f"- {'; '.join(dict.fromkeys(where))}: {text}" for text, where in places.items()]
    return ["### Numbers clearly worse than printed", "", *lines, ""]
