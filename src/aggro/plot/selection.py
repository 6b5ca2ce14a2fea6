"""Figures of a model selection: the error of each candidate, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggro.plot.style import COLOURS, MARKERS, close_figure, open_figure, with_unit
from aggro.selection.report import SelectionReport

LEARNERS = ("metric", "scale")  # parameters that distinguish the lines of a figure


def draw_candidates(
    candidates: list[dict[str, Any]], measured: str, path: str | Path | None
) -> Any:
    """Draw the recent error against C and mark the best candidate; save it if a path is given."""
    figure, (axes,) = open_figure(path)
    what, factor = ("recent_error", 100.0) if measured == "mistakes" else ("recent_loss", 1.0)
    lines = _lines(candidates)
    figure.set_figheight(4.2 + 0.1 * len(lines))  # for the legend below
    for number, (name, line) in enumerate(lines.items()):
        axes.plot(
            [each["C"] for each in line],
            [factor * each[what] for each in line],
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            ls="-" if number < len(COLOURS) else "--",  # colours repeat
            lw=1.6,
            ms=4,
            label=name or None,
        )
    best = next(each for each in candidates if each["chosen"])
    axes.plot(
        best["C"], factor * best[what], "o", ms=13, mfc="none", mec="#000000", mew=1.6,
        ls="none", label=f"best: C={best['C']:.3g}",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("C")
    axes.set_ylabel(f"recent {with_unit(measured)}, before learning")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return close_figure(figure, path)


def _lines(candidates: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group the candidates by the parameters besides C; names contain what differs."""
    differs = [name for name in LEARNERS if len({str(each.get(name)) for each in candidates}) > 1]
    lines: dict[str, list[dict[str, Any]]] = {}
    for each in candidates:
        name = ", ".join(f"{parameter}={each[parameter]}" for parameter in differs)
        lines.setdefault(name, []).append(each)
    return lines


def with_picture(report: SelectionReport, path: str | Path | None) -> SelectionReport:
    """Return a report; if a path is given, draw it there."""
    if path is not None:
        draw_report(report, path)
    return report


def draw_report(report: SelectionReport, path: str | Path | None) -> Any:
    """Draw the error of each learner as a bar, the best first; save it if a path is given."""
    figure, (axes,) = open_figure(path, figsize=(7.0, 1.4 + 0.32 * len(report.rows)))
    factor = 1.0 if report.regression else 100.0
    names = [_name(row) for row in report.rows]
    errors = [factor * row["error"] for row in report.rows]
    removed = [row["left_after"] is not None for row in report.rows]
    colours = [COLOURS[0], *(COLOURS[7] if each else COLOURS[5] for each in removed[1:])]
    places = range(len(names))
    axes.barh(places, errors, color=colours)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    for place, (error, row) in enumerate(zip(errors, report.rows, strict=True)):
        note = f" {error:.3g}"
        if row["left_after"] is not None:
            note += f"; removed after {row['left_after']:,}, {factor * row['behind']:.2g} behind"
        axes.text(error, place, note, va="center", fontsize=8)
    axes.set_xlim(0, max(max(errors), 1e-12) * 1.8)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"recent {with_unit(report.measured)}, before learning")
    return close_figure(figure, path)


def _name(row: dict[str, Any]) -> str:
    """Return the parameters of a row as text."""
    parts = [f"C={row['C']:.3g}"] if "C" in row else []
    for name, value in row.items():
        if name == "average":
            parts.append("mean weights" if value else "last weights")
        elif name not in ("C", "error", "behind", "left_after"):
            parts.append(
                f"{name}={value}" if name in ("scale", "idf", "ngram_range") else str(value)
            )
    return ", ".join(parts)
