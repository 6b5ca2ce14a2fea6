"""Figures 1 and 2 of the paper, and the second under three readings of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.papers.experiment import Figure, Results, Values
from studies.papers.minibatches.protocol import BATCHES, CURVE_STEP, LOSSES, SETS
from studies.papers.style import canvas, half_width, legend_above, line_with_band, marker_style

TICKS = (2, 3, 5, 10, 20, 30)
SIX = {title: name for title, name in SETS.items() if title != "twonorm"}
READING_TITLES = {
    "plain": "disjoint, no bias",
    "intercept": "disjoint, with bias",
    "sliding": "overlapping, no bias",
}
FIGURE_1 = """\
25 trials, logarithmic axes. The printed figure shows one run; the text calls the curves
alike on all sets and for all three algorithms."""
FIGURE_2 = """\
25 trials, with a bias. The text says that the error falls about linearly over log B, that BPAII and
BPALS are close together, and that BPAI lies above them on most sets."""
FIGURE_READINGS = """\
BPAII under three readings of the text; 25 trials. Overlapping batches are the last B examples at
each time, each counted every time it is predicted: all but one of them were learned before."""


def figures(results: Results) -> list[Figure]:
    """Return the redrawn figures."""
    along = [
        Figure(
            "figure1",
            "Figure 1: online error along the run on twonorm",
            FIGURE_1,
            lambda path: _along_a_run(results, path),
        )
    ]
    against = [
        Figure(
            "figure2",
            "Figure 2: final online error against the batch size",
            FIGURE_2,
            lambda path: _against_batch(results, path),
        ),
        Figure(
            "readings",
            "Figure 2 under three readings",
            FIGURE_READINGS,
            lambda path: _three_readings(results, path),
        ),
    ]
    return (along if len(results.where(set="twonorm")) else []) + against


def _present(results: Results) -> dict[str, str]:
    """Return those of the six sets that were run; a quick run skips some."""
    return {t: n for t, n in SIX.items() if len(results.where(set=n, reading="plain"))}


def _along_a_run(results: Results, path: Path) -> None:
    with canvas(path, 2, 2, sharex=True, sharey=True) as (figure, axes):
        for row, reading in enumerate(("plain", "intercept")):
            for column, method in enumerate(("BPAI", "BPALS")):
                axis = axes[row, column]
                for k, batch in enumerate(BATCHES):
                    (curves,) = results.where(
                        set="twonorm", method=method, batch=batch, reading=reading
                    ).values("curve")
                    seen = CURVE_STEP * np.arange(1, curves.shape[1] + 1)
                    line_with_band(axis, seen, curves, k, label=f"B = {batch}", markevery=5)
                axis.set_title(f"{method}, {READING_TITLES[reading]}")
                axis.set_xlabel("examples")
                axis.set_ylabel("mean online error (%)")
                axis.xaxis.set_tick_params(labelbottom=True)
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_yticks(TICKS, [str(tick) for tick in TICKS])
                axis.minorticks_off()
        legend_above(figure, axes[0, 0], 6)


def _online(results: Results, name: str, method: str, batch: int, reading: str) -> Values:
    """Return the final online errors; batches of one do not overlap."""
    reading = "plain" if (reading, batch) == ("sliding", 1) else reading
    return results.where(set=name, method=method, batch=batch, reading=reading).values("online")[0]


def _against_batch(results: Results, path: Path) -> None:
    with canvas(path, 2, 3, size=(4.0, 3.1)) as (figure, axes):
        for axis, (title, name) in zip(axes.flat, _present(results).items(), strict=False):
            for k, method in enumerate(LOSSES):
                values = [_online(results, name, method, b, "intercept") for b in BATCHES]
                _with_intervals(axis, values, label=method, **marker_style(k))
            _batch_axis(axis, title)
        legend_above(figure, axes[0, 0], 3)


def _three_readings(results: Results, path: Path) -> None:
    with canvas(path, 2, 3, size=(4.0, 3.1)) as (figure, axes):
        for axis, (title, name) in zip(axes.flat, _present(results).items(), strict=False):
            for k, (reading, label) in enumerate(READING_TITLES.items()):
                values = [_online(results, name, "BPAII", b, reading) for b in BATCHES]
                _with_intervals(axis, values, label=label, **marker_style(k + 3))
            _batch_axis(axis, title)
            axis.set_ylim(bottom=0)
        legend_above(figure, axes[0, 0], 3)


def _with_intervals(axis: Any, values: list[Values], **style: Any) -> None:
    """Draw means with their 95 % intervals."""
    means = [v.mean() for v in values]
    halves = [half_width(v) for v in values]
    axis.errorbar(BATCHES, means, yerr=halves, capsize=2, elinewidth=0.8, **style)


def _batch_axis(axis: Any, title: str) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(BATCHES, [str(b) for b in BATCHES])
    axis.set_title(title)
    axis.set_xlabel("batch size B (log)")
    axis.set_ylabel("final online error (%)")
