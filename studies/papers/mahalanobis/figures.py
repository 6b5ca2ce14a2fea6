"""Figures 1 to 4 of the paper, all algorithms at a glance, and AROW against PAM-II."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.papers.experiment import Figure, Results
from studies.papers.mahalanobis.data import IMAGES, TABLES, TWEETS
from studies.papers.mahalanobis.measures import curves, present, runs_of
from studies.papers.mahalanobis.protocol import ALGORITHMS
from studies.papers.mahalanobis.texts import FIGURES, TITLES
from studies.papers.style import canvas, half_width, line_with_band

LINES = ("PA-II", "PAM-II", "CW", "AROW")  # AROW is not in the printed figures
WARM_UP = 20  # examples; the mean of ten runs is too noisy before


def figures(results: Results) -> list[Figure]:
    """Return the redrawn figures and two additional ones."""
    draw = {
        "figure1": lambda path: _curves(results, TABLES, path),
        "figure2": lambda path: _curves(results, IMAGES, path),
        "figure3": lambda path: _curves(results, ("webkb-course",), path),
        "figure4": lambda path: _apart(results, TWEETS, path),
        "all": lambda path: _all(results, path),
        "arow": lambda path: _arow(results, path),
    }
    needed = {"figure2": IMAGES, "figure4": (TWEETS,)}
    missing = {k for k, names in needed.items() if len(present(results, names)) < len(names)}
    return [Figure(name, *FIGURES[name], draw[name]) for name in draw if name not in missing]


def _curves(results: Results, names: tuple[str, ...], path: Path) -> None:
    with canvas(path, 1, len(names), size=(5.2, 3.8)) as (_, axes):
        for axis, name in zip(axes.flat, names, strict=True):
            for k, algorithm in enumerate(LINES):
                seen, *runs = curves(results, name, algorithm)
                shown = seen >= WARM_UP
                runs = np.array(runs)[:, shown]
                line_with_band(axis, seen[shown], runs, k, label=algorithm, markevery=(3 * k, 12))
            _label(axis, TITLES[name])
        axes[0, 0].legend()


def _apart(results: Results, name: str, path: Path) -> None:
    """Draw the difference of each curve to that of PAM-II in the same run."""
    seen, *pam = curves(results, name, "PAM-II")
    shown = seen >= WARM_UP
    with canvas(path, size=(6.2, 3.6)) as (_, axes):
        axes[0, 0].axhline(0, color="#000000", linewidth=0.8)
        for k, algorithm in enumerate(LINES):
            if algorithm != "PAM-II":
                runs = (curves(results, name, algorithm)[1:] - np.array(pam))[:, shown]
                more = {"label": algorithm, "markevery": (3 * k, 12)}
                line_with_band(axes[0, 0], seen[shown], runs, k, **more)
        axes[0, 0].set_title(TITLES[name])
        axes[0, 0].set_xlabel("examples")
        axes[0, 0].set_ylabel("cumulative error − that of PAM-II (points)")
        axes[0, 0].legend()


def _label(axis: Any, title: str) -> None:
    from matplotlib.ticker import ScalarFormatter

    axis.set_yscale("log")
    for formatted in (axis.yaxis.set_major_formatter, axis.yaxis.set_minor_formatter):
        formatted(ScalarFormatter())
    axis.tick_params(axis="y", which="minor", labelsize=7.5)
    axis.set_title(title)
    axis.set_xlabel("examples")
    axis.set_ylabel("cumulative error (%, log)")


def _all(results: Results, path: Path) -> None:
    """Draw the difference of each algorithm's final error to that of PAM-II, per run."""
    others = [algorithm for algorithm in ALGORITHMS if algorithm != "PAM-II"]
    places = np.arange(len(others))[::-1]
    with canvas(path, 2, 3, size=(3.9, 3.4), sharey=True) as (_, axes):
        for axis, name in zip(axes.flat, present(results, TITLES), strict=False):
            pam = runs_of(results, name, "PAM-II")
            gaps = [runs_of(results, name, algorithm) - pam for algorithm in others]
            halves = [half_width(gap) for gap in gaps]
            means = [gap.mean() for gap in gaps]
            axis.axvline(0, color="#000000", linewidth=0.8)
            axis.errorbar(means, places, xerr=halves, fmt="o", color="#0072B2", capsize=2)
            axis.set_yticks(places, others)
            axis.set_title(f"{TITLES[name]} (PAM-II: {pam.mean():.1f} %)")
            axis.set_xlabel("error − error of PAM-II (points)")


def _arow(results: Results, path: Path) -> None:
    """Draw the error of AROW minus that of PAM-II, per run."""
    random = np.random.default_rng(0)
    names = present(results, TITLES)
    with canvas(path, 1, 2, size=(4.8, 3.6), sharex=True, sharey=True) as (_, axes):
        for axis, suffix, title in zip(axes.flat, ("", "-diag"), ("full", "diagonal"), strict=True):
            for place, name in enumerate(names):
                arow, pam = (runs_of(results, name, a + suffix) for a in ("AROW", "PAM-II"))
                gap = arow - pam
                shaken = place + random.uniform(-0.12, 0.12, len(gap))
                axis.plot(gap, shaken, "o", color="#56B4E9", alpha=0.7, markersize=4)
                half = half_width(gap)
                axis.errorbar(gap.mean(), place, xerr=half, fmt="D", color="#D55E00", capsize=3)
            axis.axvline(0, color="#000000", linewidth=0.8)
            axis.set_yticks(range(len(names)), [TITLES[name] for name in names])
            axis.set_title(f"{title} metric")
            axis.set_xlabel("error of AROW − error of PAM-II (points)")
        axes[0, 0].invert_yaxis()
