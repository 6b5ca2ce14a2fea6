"""Figures 1 and 2 of the paper, and the second under three readings of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.experiment import Figure, Results, Values
from papers.minibatches.protocol import BATCHES, CURVE_STEP, LOSSES, SETS
from papers.style import canvas, look

TICKS = (2, 3, 5, 10, 20, 30)
SIX = {title: name for title, name in SETS.items() if title != "twonorm"}
READING_TITLES = {
    "plain": "disjoint, no bias",
    "intercept": "disjoint, with bias",
    "sliding": "overlapping, no bias",
}
FIGURE_1 = """\
The printed figure shows, for BPAI and BPALS on one run over twonorm, how the mean online error
falls along the run, one curve for each batch size; the text says that the curves look alike on all
sets and for all three algorithms. Ours, above without and below with a bias, on logarithmic axes:
the fall is the same, and all batch sizes end together, near the 2.3 % that no classifier can beat.
The batch size shows only in the first few hundred examples, where larger batches are a little
behind: they learn later."""
FIGURE_2 = """\
The printed figure shows the final online error against B on a logarithmic axis for six sets; the
text says that the error falls about linearly as B grows, that BPAII and BPALS are close together,
and that BPAI lies above them on most sets. Ours, with a bias (mean and 95 % interval of 25
trials): such falling lines on diabetes, heart, liver and sonar; on ionosphere the fall ends at B =
4, and on breast there is none beyond the intervals."""
FIGURE_READINGS = """\
BPAII under three readings of the text. The fall with B needs a bias, which answers to every single
example at once and which a batch calms; and it only makes up for what the bias spoils: without a
bias the error is lower at almost every B, and rises a little with B on most sets. With overlapping
batches (the last B examples at each time, each counted every time it is predicted) the error falls
like 1/B, for a trivial reason: all but one of the B examples were learned before."""


def figures(results: Results) -> list[Figure]:
    """Return the redrawn figures."""
    along = [
        Figure(
            "figure1",
            "Figure 1: online error along one run on twonorm",
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
    """Return those of the six sets that were run: a quick run leaves some out."""
    return {t: n for t, n in SIX.items() if len(results.where(set=n, reading="plain"))}


def _along_a_run(results: Results, path: Path) -> None:
    with canvas(path, 2, 2, sharex=True, sharey=True) as (_, axes):
        for row, reading in enumerate(("plain", "intercept")):
            for column, method in enumerate(("BPAI", "BPALS")):
                axis = axes[row, column]
                for k, batch in enumerate(BATCHES):
                    curve = results.where(
                        set="twonorm", method=method, batch=batch, reading=reading
                    ).values("curve")[0]
                    seen = CURVE_STEP * np.arange(1, len(curve) + 1)
                    style = {**look(k), "markevery": 5}
                    axis.plot(seen, curve, label=f"B = {batch}", **style)
                axis.set_title(f"{method}, {READING_TITLES[reading]}")
                axis.set_xlabel("examples")
                axis.set_ylabel("mean online error (%)")
                axis.xaxis.set_tick_params(labelbottom=True)
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_yticks(TICKS, [str(tick) for tick in TICKS])
                axis.minorticks_off()
        axes[0, 1].legend(ncols=2)


def _online(results: Results, name: str, method: str, batch: int, reading: str) -> Values:
    """Return the final online errors; a batch of one cannot overlap."""
    reading = "plain" if (reading, batch) == ("sliding", 1) else reading
    return results.where(set=name, method=method, batch=batch, reading=reading).values("online")[0]


def _against_batch(results: Results, path: Path) -> None:
    with canvas(path, 2, 3, size=(4.0, 3.1)) as (_, axes):
        for axis, (title, name) in zip(axes.flat, _present(results).items(), strict=False):
            for k, method in enumerate(LOSSES):
                values = [_online(results, name, method, b, "intercept") for b in BATCHES]
                _with_intervals(axis, values, label=method, **look(k))
            _batch_axis(axis, title)
        axes[0, 1].legend()


def _three_readings(results: Results, path: Path) -> None:
    with canvas(path, 2, 3, size=(4.0, 3.1)) as (_, axes):
        for axis, (title, name) in zip(axes.flat, _present(results).items(), strict=False):
            for k, (reading, label) in enumerate(READING_TITLES.items()):
                values = [_online(results, name, "BPAII", b, reading) for b in BATCHES]
                _with_intervals(axis, values, label=label, **look(k + 3))
            _batch_axis(axis, title)
            axis.set_ylim(bottom=0)
        axes[0, 1].legend(loc="center right")


def _with_intervals(axis: Any, values: list[Values], **style: Any) -> None:
    """Draw means with their 95 % intervals."""
    means = [v.mean() for v in values]
    halves = [1.96 * v.std(ddof=1) / np.sqrt(len(v)) for v in values]
    axis.errorbar(BATCHES, means, yerr=halves, capsize=2, elinewidth=0.8, **style)


def _batch_axis(axis: Any, title: str) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(BATCHES, [str(b) for b in BATCHES])
    axis.set_title(title)
    axis.set_xlabel("batch size B (log)")
    axis.set_ylabel("final online error (%)")
