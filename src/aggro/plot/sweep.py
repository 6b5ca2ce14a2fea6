"""Figures of a sweep: the error against a parameter, and the curves over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aggro.plot.style import COLOURS, close_figure, open_figure, with_unit
from aggro.settings import error_name


def draw(result: Any, path: str | Path | None, against: str) -> Any:
    """Draw both figures side by side; save them if a path is given."""
    figure, (left, right) = open_figure(path, columns=2, figsize=(11.0, 4.2))
    _against_parameter(left, result, against)
    _over_time(right, result)
    return close_figure(figure, path)


def _scale(result: Any) -> tuple[float, str]:
    measured = error_name(result.rows[0].settings)
    return (100.0 if measured == "mistakes" else 1.0), with_unit(measured)


def _against_parameter(axes: Any, result: Any, against: str) -> None:
    factor, label = _scale(result)
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
    factor, label = _scale(result)
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
