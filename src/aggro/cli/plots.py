"""Learning curves as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aggro.cli.watch import Line
from aggro.plot.style import COLOURS, MARKERS, close_figure, open_figure

GREY = COLOURS[-1]  # of the constant
BRIGHT = COLOURS[:-1]


def draw_curves(curves: Mapping[str, Sequence[Line]], regression: bool, path: str) -> None:
    """Draw the error so far of each learner against the examples seen."""
    figure, (axes,) = open_figure(path, figsize=(7.5, 4.5))
    scale = 1.0 if regression else 100.0
    for number, (name, lines) in enumerate(curves.items()):
        colour, marker = BRIGHT[number % len(BRIGHT)], MARKERS[number % len(MARKERS)]
        seen, losses = zip(*((line.examples, scale * line.so_far) for line in lines), strict=True)
        axes.plot(seen, losses, marker=marker, ms=4, color=colour, label=name)
    if lines:
        axes.axhline(scale * lines[-1].baseline, color=GREY, ls="--", label="constant")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("examples seen (each predicted first, then learned)")
    axes.set_ylabel("mean absolute error so far" if regression else "mistakes so far, %")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    close_figure(figure, path)
