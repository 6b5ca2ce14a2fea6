"""The three figures, and one of our own about the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from papers.class_means.data import REAL
from papers.class_means.learning import DRAWN_PULLS
from papers.class_means.numbers import COLUMNS, course
from papers.experiment import Figure, Published, Results
from papers.style import canvas, legend_above, look

STYLES = {variant: look(i) for i, variant in enumerate(COLUMNS)}


def figures(results: Results, published: list[Published]) -> list[Figure]:
    """Return all figures."""
    return [
        Figure(
            "pull",
            "Which rule? One pass of the hard rule for each pull γ",
            "Ours, not the paper's. The printed update is the minimiser of problem (2): as γ "
            "grows it "
            "makes ever more updates than PA (γ → 0) and its error rises. The same update without "
            "the "
            "division by 1 + γ makes fewer, down to the printed count (dashed), at the printed "
            "error.",
            lambda path: _draw_pull(path, results, published),
        ),
        Figure(
            "figure-1",
            "Figure 1: similarity of the classifiers of consecutive passes",
            "Drawn as 1 − cosine on a logarithmic axis, since all are close to 1; means over the "
            "orders. "
            "In the printed figure PAm-1 is at 1 after three to five passes.",
            lambda path: _draw_similarity(path, results),
        ),
        Figure(
            "figure-2",
            "Figure 2: test error over twenty passes (stand-ins for delta and gamma)",
            "Dashed: the batch learner, a linear support vector machine with squared hinge loss "
            "in place "
            "of SSVM. As in the paper, PAm-1 reaches it in a few passes; PA does not.",
            lambda path: _draw_error(path, results),
        ),
        Figure(
            "figure-3",
            "Figure 3: updates in each of twenty passes",
            "As in the paper, all become level, and PAm's level is below that of PA with the same "
            "slack.",
            lambda path: _draw_updates(path, results),
        ),
    ]


def _draw_pull(path: Path, results: Results, published: list[Published]) -> None:
    printed = {(e.table, e.row): e.value for e in published if e.column == "PAm" and e.row in REAL}
    sets = [name for name in REAL if len(results.where(part="pull", set=name))]
    with canvas(path, 2, len(sets), size=(3.1, 2.7), sharex=True) as (figure, axes):
        for column, name in enumerate(sets):
            outcome = results.where(part="pull", set=name).pairs[0][1]
            tables = (("updates", "Table III"), ("error", "Table IV"))
            for ax, (key, table) in zip(axes[:, column], tables, strict=True):
                for i, (rule, label) in enumerate(_RULES.items()):
                    mean = np.mean(outcome[rule][key], axis=0)
                    ax.plot(DRAWN_PULLS, mean, label=label, **look(i))
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
    sets = ("svmguide1", "adult")
    with canvas(path, 1, 2, sharey=True) as (figure, axes):
        for ax, name in zip(axes[0], sets, strict=True):
            for variant in COLUMNS:
                apart = 1 - course(results, name, variant, "similarity").mean(axis=0)
                _line(ax, np.maximum(apart, 1e-10), variant, first=2)
            ax.set(title=name, yscale="log", xlabel="pass")
        axes[0, 0].set_ylabel("1 − cosine with the pass before")
        legend_above(figure, axes[0, 0], 7)


def _draw_error(path: Path, results: Results) -> None:
    with canvas(path, 1, 2, sharey=True) as (figure, axes):
        for ax, name in zip(axes[0], ("gamma", "delta"), strict=True):
            for variant in COLUMNS:
                _line(ax, course(results, name, variant, "error").mean(axis=0), variant)
            batch = results.where(part="batch", set=name).values("error")[0]
            ax.axhline(batch, color="#555555", ls="--", label="batch SVM", zorder=5)
            ax.set(title=f"{name} (stand-in)", xlabel="pass")
        axes[0, 0].set_ylabel("test error")
        legend_above(figure, axes[0, 0], 7)


def _draw_updates(path: Path, results: Results) -> None:
    names = ("svmguide1", "adult", "gamma", "delta")
    with canvas(path, 2, 2, size=(4.6, 3.0), sharex=True) as (figure, axes):
        for ax, name in zip(axes.flat, names, strict=True):
            for variant in COLUMNS:
                _line(ax, course(results, name, variant, "updates").mean(axis=0), variant)
            ax.set_title(name if name in REAL else f"{name} (stand-in)")
            ax.set_ylim(bottom=0)
        for row in range(2):
            axes[row, 0].set_ylabel("updates in the pass")
            axes[1, row].set_xlabel("pass")
        legend_above(figure, axes[0, 0], 6)


def _line(ax: Any, values: Any, variant: str, first: int = 1) -> None:
    passes = np.arange(first, first + len(values))
    every = {"markevery": (len(variant) % 3, 3)}
    ax.plot(passes, values, label=variant, **STYLES[variant], **every)
    ax.set_xticks([1, 5, 10, 15, 20])
