"""Pictures of a sweep: the error against a parameter, and the curves over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def draw(result: Any, path: str | Path | None, against: str) -> Any:
    """Draw both pictures side by side; save them when a path is given."""
    figure, (left, right) = open_figure(path, columns=2)
    _against_parameter(left, result, against)
    _over_time(right, result)
    return close_figure(figure, path)


def open_figure(path: str | Path | None, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return an empty figure and its axes; one that goes to a file needs no screen."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "A picture needs the package matplotlib; install it with: pip install 'aggro[plot]'"
        ) from error
    if path is not None:
        matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (5.5 * columns, 4.2) if columns > 1 else (7.0, 4.2)
    figure, axes = plt.subplots(1, columns, figsize=size, layout="constrained", squeeze=False)
    for each in axes[0]:
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    return figure, list(axes[0])


def close_figure(figure: Any, path: str | Path | None) -> Any:
    """Save the figure when a path is given; return it."""
    if path is not None:
        import matplotlib.pyplot as plt

        figure.savefig(path, dpi=150)
        plt.close(figure)
    return figure


def _scale(result: Any) -> tuple[float, str]:
    regression = result.rows[0].settings.task == "regression"
    return (1.0, "absolute error") if regression else (100.0, "mistakes, %")


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
    axes.set_ylabel(f"{label}, judged before learning")


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
