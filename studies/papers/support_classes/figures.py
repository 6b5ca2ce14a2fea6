"""The three figures of the paper, and one of the two readings of PA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.papers import style
from studies.papers.experiment import Figure, Published, Results, Values, read_published
from studies.papers.support_classes import selection
from studies.papers.support_classes.learners import BATCH, SLACKS
from studies.papers.support_classes.sets import LARGE

FAMILIES = ("PA", "MPA", "SPA")
KINDS = {"": "hard", "-I": "linear slack (…-I)", "-II": "squared slack (…-II)"}
FAMILY_STYLE = {
    "Perc": {"color": "#000000", "marker": "x", "ls": ":"},
    "PA": {"color": "#D55E00", "marker": "o", "ls": "--"},
    "MPA": {"color": "#E69F00", "marker": "^", "ls": "-."},
    "SPA": {"color": "#0072B2", "marker": "s", "ls": "-"},
}
BATCH_LOOK = {"LR": {"color": "#CC79A7", "ls": "--"}, "M-SVM": {"color": "#555555", "ls": ":"}}
MPA = "MPA, PA against the best wrong class, is not in the paper."


def figures(results: Results) -> list[Figure]:
    """Return the redrawn figures."""
    return [
        Figure(
            "mistakes",
            "Figure 1: mistakes and updates on the stream of USPS",
            f"Ten orders, C = 0.001. {MPA} By the text the SPA kinds stay far below PA "
            "and the Perceptron in mistakes, and end below them in updates.",
            lambda path: _streams(results, path, ("mistakes", "updates")),
        ),
        Figure(
            "loss",
            "Figure 2: loss and success rate on the stream of USPS",
            "Ten orders. By the text SPA has the least loss and the highest rate.",
            lambda path: _streams(results, path, ("loss", "rate")),
        ),
        Figure(
            "passes",
            "Figure 3: accuracy over the passes",
            "Ten folds, C chosen after each pass; level lines: the batch learners. "
            "By the text SPA is above PA throughout, and on News20 the hard rules fall.",
            lambda path: _passes(results, path),
        ),
        Figure(
            "readings",
            "Two readings of multiclass PA (not in the paper)",
            "Test error after one pass on all nine sets. Ten folds; hollow marks are printed.",
            lambda path: _readings(results, path),
        ),
    ]


# -- Figures 1 and 2 ----------------------------------------------------------------------------

LABELS = {
    "mistakes": "mistakes",
    "updates": "updates",
    "loss": "cumulated loss",
    "rate": "success rate (%)",
}


def _curve(results: Results, learner: str, what: str) -> Values:
    if what != "rate":
        return selection.streams(results, learner, what)
    return 100 * (1 - selection.streams(results, learner, "mistakes") / _seen(results))


def _seen(results: Results) -> Values:
    return selection.checkpoints(results)


def _streams(results: Results, path: Path, both: tuple[str, str]) -> None:
    """Draw a panel for each kind and measure, with four curves each."""
    with style.canvas(path, 2, 3, (3.9, 3.1), sharex=True, sharey="row") as (figure, axes):
        for row, what in enumerate(both):
            for column, kind in enumerate(SLACKS):
                ax = axes[row, column]
                for k, family in enumerate(("Perc", *FAMILIES)):
                    learner = family if family == "Perc" else family + kind
                    _draw(ax, _seen(results), _curve(results, learner, what), family, k, 9)
                ax.set_title(KINDS[kind])
            axes[row, 0].set_ylabel(LABELS[what])
            if what == "loss":
                axes[row, 0].set_yscale("log")
            if what == "rate":
                axes[row, 0].set_ylim(70, None)
        for ax in axes[1]:
            ax.set_xlabel("examples seen")
        style.legend_above(figure, axes[0, 0], 4)


def _draw(ax: Any, x: Any, runs: Values, family: str, k: int, every: int) -> None:
    more = {**FAMILY_STYLE[family], "label": family, "markevery": (2 * k, every)}
    style.line_with_band(ax, x, runs, 0, **more)


# -- Figure 3 -----------------------------------------------------------------------------------


def _passes(results: Results, path: Path) -> None:
    """Draw a panel for each set and kind: four online learners and two batch learners."""
    names = selection.present(results, LARGE)
    with style.canvas(path, len(names), 3, (3.9, 2.9), sharex=True, sharey="row") as (figure, axes):
        for row, name in enumerate(names):
            peaks = []
            for column, kind in enumerate(SLACKS):
                ax = axes[row, column]
                for k, family in enumerate(("Perc", *FAMILIES)):
                    learner = family if family == "Perc" else family + kind
                    accuracy = 100 - selection.by_pass(results, name, learner)
                    peaks.append(accuracy.mean(axis=0).max())
                    _draw(ax, np.arange(1, accuracy.shape[1] + 1), accuracy, family, k, 8)
                for learner in BATCH:
                    level = 100 - selection.batch(results, name, learner).mean()
                    ax.axhline(level, lw=1.4, label=learner, zorder=1, **BATCH_LOOK[learner])
                ax.set_title(f"{name}, {KINDS[kind]}")
            axes[row, 0].set_ylim(min(peaks) - 5, None)
            axes[row, 0].set_ylabel("test accuracy (%)")
        for ax in axes[-1]:
            ax.set_xlabel("passes")
        style.legend_above(figure, axes[0, 0], 6)


# -- the two readings ---------------------------------------------------------------------------


def _readings(results: Results, path: Path) -> None:
    names = selection.present(results)
    printed = {(selection.SAME.get(e.row, e.row), e.column): e.value for e in _printed_table()}
    with style.canvas(path, 1, 3, (5.0, 4.2), sharey=True) as (figure, axes):
        for ax, kind in zip(axes[0], SLACKS, strict=True):
            for shift, family in zip((-0.25, 0.0, 0.25), FAMILIES, strict=True):
                x = np.arange(len(names)) + shift
                values = [selection.one_pass(results, name, family + kind) for name in names]
                options = {**FAMILY_STYLE[family], "ls": "", "markersize": 4, "linewidth": 1}
                means, halves = [v.mean() for v in values], [style.half_width(v) for v in values]
                ax.errorbar(x, means, halves, label=f"{family}, ours", **options)
                if family != "MPA":
                    y = [printed[name, family + kind] for name in names]
                    ring = {"facecolors": "none", "edgecolors": options["color"], "s": 60}
                    mark = options["marker"]
                    ax.scatter(x, y, marker=mark, label=f"{family}, printed", zorder=3, **ring)
            ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
            ax.set(title=KINDS[kind])
        axes[0, 0].set_ylabel("test error after one pass (%)")
        style.legend_above(figure, axes[0, 0], 5)


def _printed_table() -> list[Published]:
    published = read_published(Path(__file__).with_name("published.tsv"))
    return [entry for entry in published if entry.table == "Table 4"]
