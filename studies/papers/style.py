"""Style of the figures: the colour-blind-safe palette of Okabe and Ito, and plain axes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Okabe and Ito's palette, without the green and the light blue, which are close to the first.
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#CC79A7", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P")
RULES: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
}


@contextmanager
def canvas(
    path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (4.6, 3.4), **kw: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes (an array of rows x columns), then save the figure.

    ``size`` is the size of one panel in inches.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context(RULES):
        width, height = size[0] * columns, size[1] * rows
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **kw)
        try:
            yield figure, axes
            figure.tight_layout()
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=110, bbox_inches="tight")
        finally:
            plt.close(figure)


def marker_style(index: int) -> dict[str, Any]:
    """Return the colour and marker of the line with this index."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}


def half_width(runs: Any) -> Any:
    """Return half the width of the 95 % interval of the mean over runs (the first axis).

    The factor is that of Student's t distribution, since there are few runs.
    """
    import numpy as np
    from scipy.stats import t

    runs = np.asarray(runs, float)
    count = runs.shape[0]
    if count < 2:
        return np.zeros(runs.shape[1:])
    return t.ppf(0.975, count - 1) * runs.std(axis=0, ddof=1) / np.sqrt(count)


def line_with_band(axis: Any, x: Any, runs: Any, index: int, **more: Any) -> None:
    """Draw the mean over runs (the first axis) with a band: the 95 % interval of that mean."""
    import numpy as np

    style = {**marker_style(index), **more}
    mean, half = np.mean(runs, axis=0), half_width(runs)
    axis.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.18, linewidth=0)
    axis.plot(x, mean, **style)


def legend_above(figure: Any, axes: Any, columns: int) -> None:
    """Put the legend of one panel above all panels."""
    lines = axes.get_legend_handles_labels()
    figure.legend(*lines, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)
