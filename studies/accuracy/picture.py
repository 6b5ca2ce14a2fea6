"""The figure: the error of each method relative to aggro's, per set."""

from __future__ import annotations

from pathlib import Path

from studies.accuracy.results import Result

LEFT, RIGHT = 0.5, 8.0
# Okabe and Ito's colours, which colour-blind people can distinguish, and a shape for each
STYLES = {
    "best C": ("#000000", "d", "aggro, best fixed C in hindsight"),
    "C=1": ("#000000", "x", "aggro, C=1"),
    "sklearn PA": ("#E69F00", "o", "scikit-learn PA, default"),
    "sklearn PA best C": ("#E69F00", "D", "scikit-learn PA, best C in hindsight"),
    "sklearn SGD": ("#D55E00", "s", "scikit-learn SGD, default"),
    "Vowpal Wabbit": ("#0072B2", "^", "Vowpal Wabbit, best of its losses"),
    "river PA": ("#009E73", "o", "river PA"),
    "river logistic": ("#009E73", "P", "river logistic / linear regression"),
}
HOLLOW = ("best C", "sklearn PA best C")


def draw(results: list[Result], path: Path) -> None:
    """Write the figure to a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    places = _places(results)
    figure, axes = plt.subplots(figsize=(9.5, 0.235 * max(places.values()) + 2.2))
    axes.axvspan(LEFT * 0.9, 1.0, color="#f1f1f1", zorder=0)
    axes.axvline(1.0, color="#555555", linewidth=1.2, zorder=1)
    for first in {r.task: r for r in reversed(results)}.values():
        title = {"va": "bottom", "ha": "right", "fontsize": 9, "weight": "bold"}
        axes.text(RIGHT, places[first.name] - 0.45, first.task, **title)
    for r in results:
        axes.axhline(places[r.name], color="#e3e3e3", linewidth=0.6, zorder=0)
    for method, (colour, marker, label) in STYLES.items():
        there = [r for r in results if method == "best C" or r.found[method]]
        x = [min(max(r.ratio(method), LEFT), RIGHT) for r in there]
        fill = "none" if method in HOLLOW else colour
        style = {"c": colour} if marker == "x" else {"facecolors": fill, "edgecolors": colour}
        y = [places[r.name] for r in there]
        axes.scatter(x, y, s=30, marker=marker, label=label, zorder=3, alpha=0.9, **style)
    axes.set_xscale("log")
    axes.set_xlim(LEFT * 0.96, RIGHT * 1.06)
    ticks = [0.5, 0.7, 1, 1.5, 2, 3, 5, 8]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks[:-1]] + ["8 or\nmore"])
    axes.minorticks_off()
    axes.set_yticks(list(places.values()), [_label(r) for r in results], fontsize=8)
    axes.set_ylim(max(places.values()) + 0.7, 0.0)
    axes.set_xlabel("error relative to untuned aggro (left of 1: better than aggro; right: worse)")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="upper center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.6 / figure.get_size_inches()[1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _places(results: list[Result]) -> dict[str, float]:
    """Return the height of each set, with a gap between tasks."""
    places, height, task = {}, 0.0, results[0].task
    for r in results:
        height += 1.0 + (r.task != task)
        task, places[r.name] = r.task, height
    return places


def _label(r: Result) -> str:
    kind = f"{r.classes} classes" if r.classes else "numbers"
    return f"{r.name}  ({r.rows:,} rows, {kind})"
