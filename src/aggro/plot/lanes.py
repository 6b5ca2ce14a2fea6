"""A picture of a race: the recent error against C, a line for each learner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggro.plot.style import COLOURS, MARKERS, close_figure, open_figure

RACED = ("metric", "scale")


def draw_lanes(lanes: list[dict[str, Any]], regression: bool, path: str | Path | None) -> Any:
    """Draw the candidates and mark the best; save the picture if a path is given."""
    figure, (axes,) = open_figure(path)
    what, factor = ("recent_loss", 1.0) if regression else ("recent_error", 100.0)
    lines = _lines(lanes)
    figure.set_figheight(4.2 + 0.1 * len(lines))  # room for the legend below
    for number, (name, line) in enumerate(lines.items()):
        errors = [factor * lane[what] for lane in line]
        axes.plot(
            [lane["C"] for lane in line],
            errors,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            ls="-" if number < len(COLOURS) else "--",  # colours come again
            lw=1.6,
            ms=4,
            label=name or None,
        )
    leader = next(lane for lane in lanes if lane["chosen"])
    axes.plot(
        leader["C"], factor * leader[what], "o", ms=13, mfc="none", mec="#000000", mew=1.6,
        ls="none", label=f"leads: C={leader['C']:.3g}",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("C")
    unit = "absolute error" if regression else "mistakes, %"
    axes.set_ylabel(f"recent {unit}, judged before learning")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return close_figure(figure, path)


def _lines(lanes: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group the lanes by what is raced besides C; a name tells only what differs."""
    differs = [name for name in RACED if len({str(lane.get(name)) for lane in lanes}) > 1]
    lines: dict[str, list[dict[str, Any]]] = {}
    for lane in lanes:
        name = ", ".join(f"{each}={lane[each]}" for each in differs)
        lines.setdefault(name, []).append(lane)
    return lines
