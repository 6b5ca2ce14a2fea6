"""The three figures of the paper, and one on the update rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from studies.papers.class_means.data import REAL
from studies.papers.class_means.learning import DRAWN_PULLS
from studies.papers.class_means.numbers import COLUMNS, PUBLISHED, SUFFIXES, pulls, trajectory
from studies.papers.experiment import Figure, Results
from studies.papers.style import canvas, half_width, legend_above, line_with_band, marker_style

TICKS = [1, 5, 10, 15, 20]


def figures(results: Results) -> list[Figure]:
    """Return all figures."""
    return [
        Figure(
            "pull",
            "The rule: one pass of the hard rule for each pull γ",
            "Ours, not the paper's. Fifty orders. Dashed: the printed PAm.",
            lambda path: _draw_pull(path, results),
        ),
        Figure(
            "figure-1",
            "Figure 1: similarity of the classifiers of consecutive passes",
            "1 − cosine on a logarithmic axis: ten orders, bands from the least to the greatest of "
            "them. In the printed figure PAm-1 is at 1 after three to five passes.",
            lambda path: _draw_similarity(path, results),
        ),
        Figure(
            "figure-2",
            "Figure 2: test error over twenty passes (stand-ins for delta and gamma)",
            "Three orders; dashed: a batch machine.",
            lambda path: _draw_error(path, results),
        ),
        Figure(
            "figure-3",
            "Figure 3: updates in each of twenty passes",
            "Ten orders (svmguide1, adult) and three (the stand-ins).",
            lambda path: _draw_updates(path, results),
        ),
    ]


def _draw_pull(path: Path, results: Results) -> None:
    printed = {(e.table, e.row): e.value for e in PUBLISHED if e.column == "PAm" and e.row in REAL}
    sets = [name for name in REAL if len(results.where(part="pull", set=name))]
    with canvas(path, 2, len(sets), size=(3.1, 2.7), sharex=True) as (figure, axes):
        for column, name in enumerate(sets):
            tables = (("updates", "Table III"), ("error", "Table IV"))
            for ax, (key, table) in zip(axes[:, column], tables, strict=True):
                for i, (rule, label) in enumerate(_RULES.items()):
                    orders = pulls(results, name, rule, key)
                    where = np.array(DRAWN_PULLS) * (1.0, 1.06)[i]  # side by side
                    bars = {"yerr": half_width(orders), "capsize": 2, "elinewidth": 0.9}
                    ax.errorbar(where, orders.mean(axis=0), label=label, **bars, **marker_style(i))
                value = printed[table, name]
                ax.axhline(value, color="black", ls="--", lw=1.2, label="printed, PAm")
                ax.set_xscale("log")
            axes[0, column].set_title(name)
            axes[0, column].set_ylim(bottom=0)
            axes[1, column].set_xlabel("pull γ")
        axes[0, 0].set_ylabel("updates in one pass")
        axes[1, 0].set_ylabel("test error")
        legend_above(figure, axes[0, 0], 3)


_RULES = {"exact": "as printed (the minimiser)", "undivided": "without dividing by 1 + γ"}


def _draw_similarity(path: Path, results: Results) -> None:
    def draw(ax: Any, name: str, variant: str) -> None:
        apart = np.maximum(1 - trajectory(results, name, variant, "similarity"), 1e-10)
        passes, look_ = np.arange(2, 2 + apart.shape[1]), _style(variant)
        low, high = apart.min(axis=0), apart.max(axis=0)
        ax.fill_between(passes, low, high, color=look_["color"], alpha=0.18, linewidth=0)
        ax.plot(passes, apart.mean(axis=0), label=variant, **look_)
        ax.set_yscale("log")

    _families(path, ("svmguide1", "adult"), "1 − cosine with the pass before", draw)


def _draw_error(path: Path, results: Results) -> None:
    def draw(ax: Any, name: str, variant: str) -> None:
        _line(ax, trajectory(results, name, variant, "error"), variant)
        if variant in ("PA-2", "PAm-2"):  # the last line of a panel
            batch = results.where(part="batch", set=name).values("error")[0]
            ax.axhline(batch, color="#555555", ls="--", zorder=5)

    _families(path, ("gamma", "delta"), "test error", draw)


def _families(
    path: Path, names: tuple[str, str], label: str, draw: Callable[[Any, str, str], None]
) -> None:
    """Draw a column for each set, with the PA variants above the PAm variants."""
    with canvas(path, 2, 2, size=(4.6, 2.8), sharex=True, sharey=True) as (_, axes):
        for column, name in enumerate(names):
            for row, family in enumerate(("PA", "PAm")):
                ax = axes[row, column]
                for suffix in SUFFIXES:
                    draw(ax, name, f"{family}{suffix}")
                ax.set(title=name if name in REAL else f"{name} (stand-in)", xticks=TICKS)
                ax.legend(ncols=3, fontsize=8.5, loc="upper right")
                axes[row, 0].set_ylabel(label)
            axes[1, column].set_xlabel("pass")


def _draw_updates(path: Path, results: Results) -> None:
    names = ("svmguide1", "adult", "gamma", "delta")
    with canvas(path, 2, 2, size=(4.6, 3.0), sharex=True) as (figure, axes):
        for ax, name in zip(axes.flat, names, strict=True):
            for variant in COLUMNS:
                _line(ax, trajectory(results, name, variant, "updates"), variant)
            ax.set_title(name if name in REAL else f"{name} (stand-in)")
            ax.set_ylim(bottom=0)
        for row in range(2):
            axes[row, 0].set_ylabel("updates in the pass")
            axes[1, row].set_xlabel("pass")
        legend_above(figure, axes[0, 0], 6)


def _line(ax: Any, runs: Any, variant: str) -> None:
    passes = np.arange(1, 1 + runs.shape[1])
    index = COLUMNS.index(variant)
    line_with_band(ax, passes, runs, index, label=variant, markevery=(index % 3, 3))
    ax.set_xticks(TICKS)


def _style(variant: str) -> dict[str, Any]:
    index = COLUMNS.index(variant)
    return {**marker_style(index), "markevery": (index % 3, 3)}
