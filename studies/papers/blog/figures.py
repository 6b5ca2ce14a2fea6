"""Redrawn figures of the blog post."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import aggro
from studies.papers.blog.learning import C_VALUES, EPSILON, SOFT, C
from studies.papers.experiment import Figure, Results
from studies.papers.style import COLOURS, canvas, half_width, legend_above, marker_style

BLOCK = 20  # rows


def figures(results: Results) -> list[Figure]:
    """Return the figures: one step, the classification, the regression."""
    classes = results.where(example="classification")
    numbers = results.where(example="regression")
    return [
        Figure(
            "step",
            "One step, before and after",
            "Real weights, one row apart: they turn towards the example, labelled +1, until its "
            "loss is what C allows (C = 2, squared slack). On the line the prediction changes.",
            _draw_step,
        ),
        Figure(
            "classification",
            "Classification: C, with and without wrong labels",
            "Accuracy on the test rows after one pass: means with the 95 % interval of the mean "
            "over all seeds; hollow, the text's own seed. The text shows no picture of this.",
            lambda path: _draw_C_values(path, classes),
        ),
        Figure(
            "regression",
            "Regression: absolute error over time",
            "Left, the text's own curve (seed 1000, C = 0.01, ε = 0.1) and the middle 95 % of all "
            "seeds. Right, the values of C that the text suggests: the error in blocks of twenty "
            "rows, median and middle half of all seeds.",
            lambda path: _draw_errors(path, numbers),
        ),
    ]


def _draw_step(path: Path) -> None:
    before, row = np.array([1.0, -0.9]), np.array([[0.2, 1.1]])
    model = aggro.PassiveAggressiveClassifier(C=2.0, **SOFT)
    model.partial_fit(np.zeros((1, 2)), [1], classes=[-1, 1])
    model.coef_ = before[None]
    model.partial_fit(row, [1])
    with canvas(path, 1, 2, size=(4.2, 4.0), sharex=True, sharey=True) as (_, axes):
        titles = ("before: the row is misclassified", "after: the row is on its side")
        for ax, w, title in zip(axes[0], (before, model.coef_[0]), titles, strict=True):
            across = np.array([-w[1], w[0]]) / np.linalg.norm(w) * 3
            ax.plot(*np.transpose([-across, across]), "--", color="#777777", label="f(x) = 0")
            _arrow(ax, w, COLOURS[0], "w")
            _arrow(ax, row[0], COLOURS[1], "x, label +1")
            angle = np.degrees(np.arccos(w @ row[0] / np.linalg.norm(w) / np.linalg.norm(row)))
            ax.set_title(f"{title}\nangle {angle:.0f}°, loss {max(0, 1 - w @ row[0]):.2f}")
            ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xlabel="feature 1")
        axes[0, 0].set_ylabel("feature 2")
        axes[0, 0].legend(loc="upper left")


def _arrow(ax: Any, tip: Any, colour: str, label: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tip, xytext=(0, 0), arrowprops=style)
    ax.plot([], [], color=colour, lw=2, label=label)


def _draw_C_values(path: Path, results: Results) -> None:
    own = results.where(seed=1000).pairs[0][1]
    places = np.arange(len(C_VALUES))
    with canvas(path, size=(6.6, 3.8)) as (figure, axes):
        ax = axes[0, 0]
        labels = ("labels as they are", "20 % of the training labels turned round")
        for side, (key, label) in enumerate(zip(("clean", "noisy"), labels, strict=True)):
            table = 100 * np.array([outcome[key] for _, outcome in results.pairs])
            where = places + 0.12 * side - 0.06
            spread = half_width(table)
            ax.errorbar(
                where, table.mean(axis=0), spread, capsize=3, label=label, **marker_style(side)
            )
            hollow = {**marker_style(side), "mfc": "white", "ls": "", "ms": 7}
            ax.plot(where, 100 * np.array(own[key]), **hollow)
        ax.plot([], [], "ko", mfc="white", ms=7, label="the text's own seed")
        score = 100 * results.values("logistic").mean()
        ax.axhline(score, color="black", lw=1, ls="--", label="logistic regression, all seeds")
        ax.set_xticks(places, [f"{C:g}" for C in C_VALUES])
        ax.set(xlabel="C", ylabel="accuracy on the test rows (%)", ylim=(50, 105))
        legend_above(figure, ax, 2)


def _draw_errors(path: Path, results: Results) -> None:
    with canvas(path, 1, 2, size=(5.4, 3.6)) as (_, axes):
        own = results.where(seed=1000).pairs[0][1]["errors"][f"C={C:g}"]
        seen = np.arange(1, len(own) + 1)
        seeds = [outcome["errors"][f"C={C:g}"] for _, outcome in results.pairs]
        low, high = np.quantile(seeds, (0.025, 0.975), axis=0)
        axes[0, 0].fill_between(seen, low, high, color="#bbbbbb", label="95 % of all seeds")
        axes[0, 0].plot(seen, own, color=COLOURS[0], lw=1, label="the text's seed")
        axes[0, 0].legend()
        axes[0, 0].set_title(f"the text's run: C = {C}, ε = {EPSILON}")
        for index, c in enumerate(C_VALUES):
            curves = np.array([outcome["errors"][f"C={c:g}"] for _, outcome in results.pairs])
            blocks = np.median(curves.reshape(len(curves), -1, BLOCK), axis=2)
            low, median, high = np.quantile(blocks, (0.25, 0.5, 0.75), axis=0)
            time = BLOCK * (np.arange(len(median)) + 0.5)
            style = {**marker_style(index), "markevery": (index, len(C_VALUES)), "ms": 6}
            axes[0, 1].fill_between(time, low, high, color=style["color"], alpha=0.18, linewidth=0)
            axes[0, 1].plot(time, median, label=f"C = {c:g}", **style)
        axes[0, 1].set(yscale="log", ylim=(1e-2, 300))
        axes[0, 1].set_title(f"by C, in blocks of {BLOCK} rows")
        axes[0, 1].legend(ncols=2)
        for ax in axes[0]:
            ax.set(xlabel="time (rows seen)", ylabel="absolute error")
