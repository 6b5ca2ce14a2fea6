"""Words as bars: what speaks for, and what against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aggro.plot.style import COLOURS, close_figure, open_figure


def draw_bars(
    words: Sequence[tuple[str, float]],
    title: str,
    path: str | Path | None = None,
    *,
    shares: bool,
) -> Any:
    """Draw a bar for each word, the strongest at the top; return the figure, or write it."""
    figure, (axes,) = open_figure(path, figsize=(7.0, 1.2 + 0.3 * max(len(words), 1)))
    sizes = [100.0 * value if shares else value for _, value in words]
    axes.barh(range(len(words)), sizes, color=[COLOURS[size < 0] for size in sizes])
    axes.set_yticks(range(len(words)), [word for word, _ in words])
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.axvline(0.0, color="#000000", lw=0.8)
    axes.set_xlabel("share of all that was said, %" if shares else "weight")
    axes.set_title(title)
    return close_figure(figure, path)
