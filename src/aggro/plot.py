"""Figures of model selections, sweeps and training runs, written atomically.

matplotlib is imported only by the functions that draw.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.atomic import check_writable, replacing
from aggro.extras import optional
from aggro.settings import error_name

if TYPE_CHECKING:
    from aggro.selection.report import SelectionReport

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = "osD^vP*"


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise unless a figure can be written to the path; call this before long work."""
    _matplotlib()
    _format(path)
    check_writable(path)


def unit_of(measured: str) -> tuple[float, str]:
    """Return the factor and the label of the axis of an error (see ``error_name``)."""
    return (100.0, "mistakes, %") if measured == "mistakes" else (1.0, f"mean {measured}")


def open_figure(
    path: str | os.PathLike[str] | None,
    columns: int = 1,
    figsize: tuple[float, float] = (7.0, 4.2),
) -> tuple[Any, list[Any]]:
    """Return an empty figure and its axes; a figure for a file needs no display."""
    _matplotlib()
    if path is None:
        from matplotlib.pyplot import figure as make
    else:
        check_picture(path)
        from matplotlib.figure import Figure as make  # type: ignore[assignment]  # a class for a function
    figure: Any = make(figsize=figsize, layout="constrained")
    (axes,) = figure.subplots(1, columns, squeeze=False)
    for each in axes:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def close_figure(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """Save the figure when a path is given; return it."""
    if path is not None:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=_format(path), dpi=150)
        with replacing(path) as stream:
            stream.write(drawn.getbuffer())
    return figure


def _matplotlib() -> None:
    optional("matplotlib", "A picture")


def _format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file name; PNG if it has no suffix."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    kind = Path(path).suffix[1:].lower() or "png"
    if kind not in known:
        listed = ", ".join(f".{each}" for each in sorted(known))
        raise ValueError(
            f"{os.fspath(path)}: there are no pictures of this kind; a name may end in {listed}."
        )
    return kind


# -- model selections --------------------------------------------------------------------------

LEARNERS = ("metric", "scale")  # parameters that distinguish the lines of a figure


def draw_candidates(
    candidates: list[dict[str, Any]], measured: str, path: str | Path | None
) -> Any:
    """Draw the recent error against C and mark the best candidate; save it if a path is given."""
    figure, (axes,) = open_figure(path)
    what = "recent_error" if measured == "mistakes" else "recent_loss"
    factor, unit = unit_of(measured)
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
    axes.set_ylabel(f"recent {unit}, before learning")
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
    factor, unit = unit_of(report.measured)
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
    axes.set_xlabel(f"recent {unit}, before learning")
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


# -- sweeps ------------------------------------------------------------------------------------


def draw_sweep(result: Any, path: str | Path | None, against: str) -> Any:
    """Draw both figures side by side; save them if a path is given."""
    figure, (left, right) = open_figure(path, columns=2, figsize=(11.0, 4.2))
    _against_parameter(left, result, against)
    _over_time(right, result)
    return close_figure(figure, path)


def _against_parameter(axes: Any, result: Any, against: str) -> None:
    factor, label = unit_of(error_name(result.rows[0].settings))
    lines: dict[str, list[Any]] = {}
    for row in result.rows:
        rest = ", ".join(f"{k}={v}" for k, v in row.params.items() if k != against)
        lines.setdefault(rest, []).append(row)
    for colour, (name, rows) in zip(COLOURS * len(lines), lines.items(), strict=False):
        values = [getattr(row.settings, against) for row in rows]
        errors = np.array([row.error for row in rows]) * factor
        spread = np.array([row.spread for row in rows]) * factor
        axes.plot(values, errors, "o-", color=colour, lw=1.6, ms=4, label=name or None)
        axes.fill_between(values, errors - spread, errors + spread, color=colour, alpha=0.15, lw=0)
        if all(isinstance(v, float) and v > 0 for v in values) and len(values) > 1:
            axes.set_xscale("log")
    if any(lines):
        axes.legend(frameon=False, fontsize=8)
    axes.set_xlabel(against)
    axes.set_ylabel(f"{label}, before learning")


def _over_time(axes: Any, result: Any) -> None:
    factor, label = unit_of(error_name(result.rows[0].settings))
    ranked = sorted(result.rows, key=lambda row: row.error)[: len(COLOURS)]
    for colour, row in zip(COLOURS, ranked, strict=False):
        seen, errors = np.array(row.curve).T
        axes.plot(seen, errors * factor, color=colour, lw=1.6, label=row.name)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("examples seen")
    axes.set_ylabel(f"{label} so far")
    axes.legend(
        frameon=False, fontsize=8, title="best settings" if len(result.rows) > len(ranked) else None
    )


# -- training runs -----------------------------------------------------------------------------

Curve = Sequence[tuple[int, float]]


def draw_curves(
    curves: Mapping[str, Curve], baseline: float | None, measured: str, path: str
) -> None:
    """Draw the progressive error of each model against the examples seen.

    Parameters
    ----------
    curves : mapping
        By the name of a model: pairs of examples seen and progressive error.
    baseline : float, optional
        Error of the constant prediction.
    measured : str
        Name of the error (see ``error_name``).
    path : str
        Picture to write.
    """
    *bright, grey = COLOURS
    figure, (axes,) = open_figure(path, figsize=(7.5, 4.5))
    scale, unit = unit_of(measured)
    for number, (name, curve) in enumerate(curves.items()):
        colour, marker = bright[number % len(bright)], MARKERS[number % len(MARKERS)]
        seen, errors = [n for n, _ in curve], [scale * error for _, error in curve]
        axes.plot(seen, errors, marker=marker, ms=4, color=colour, label=name)
    if baseline is not None:
        axes.axhline(scale * baseline, color=grey, ls="--", label="constant")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("examples seen (each predicted first, then learned)")
    axes.set_ylabel(f"{unit} so far")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    close_figure(figure, path)
