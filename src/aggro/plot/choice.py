"""A picture of a choice: the error of each learner that raced, the leader first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggro.plot.style import COLOURS, close_figure, open_figure
from aggro.selection.report import SelectionReport


def explained(choice: SelectionReport, path: str | Path | None) -> SelectionReport:
    """Return a choice; with a path, a picture of it is drawn there."""
    if path is not None:
        draw_choice(choice, path)
    return choice


def draw_choice(choice: SelectionReport, path: str | Path | None) -> Any:
    """Draw the rows of a choice as bars; save the picture when a path is given."""
    figure, (axes,) = open_figure(path, figsize=(7.0, 1.4 + 0.32 * len(choice.rows)))
    factor = 1.0 if choice.regression else 100.0
    names = [_name(row) for row in choice.rows]
    errors = [factor * row["error"] for row in choice.rows]
    left = [row["left_after"] is not None for row in choice.rows]
    colours = [COLOURS[0], *(COLOURS[7] if gone else COLOURS[5] for gone in left[1:])]
    places = range(len(names))
    axes.barh(places, errors, color=colours)
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    for place, (error, row) in enumerate(zip(errors, choice.rows, strict=True)):
        gone = row["left_after"]
        note = f" {error:.3g}"
        if gone is not None:
            note += f"; left after {gone:,}, {factor * row['behind']:.2g} behind"
        axes.text(error, place, note, va="center", fontsize=8)
    axes.set_xlim(0, max(max(errors), 1e-12) * 1.8)
    axes.grid(visible=False, axis="y")
    unit = "mean absolute error" if choice.regression else "mistakes, %"
    axes.set_xlabel(f"recent {unit}, judged before learning")
    return close_figure(figure, path)


def _name(row: dict[str, Any]) -> str:
    """Return what a row stands for, in the words of its settings."""
    parts = [f"C={row['C']:.3g}"] if "C" in row else []
    for name, value in row.items():
        if name == "average":
            parts.append("mean weights" if value else "last weights")
        elif name not in ("C", "error", "behind", "left_after"):
            parts.append(
                f"{name}={value}" if name in ("scale", "idf", "ngram_range") else str(value)
            )
    return ", ".join(parts)
