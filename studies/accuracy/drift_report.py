"""The tables and the figure of docs/studies/drift.md."""

from __future__ import annotations

import functools

import numpy as np

from studies.accuracy.cells import ROOT
from studies.accuracy.drift import (
    EVERYTHING,
    FORGETTING,
    ONCE,
    OURS,
    PEERS,
    STREAMS,
    Results,
    windows,
)
from studies.accuracy.pages import fill

PAGE = ROOT / "docs" / "studies" / "drift.md"
PICTURE = ROOT / "docs" / "images" / "drift.png"
COARSE = 4  # windows per point if there is one stream only
# Okabe and Ito's colours, which colour-blind people can distinguish
LINES = [
    ((EVERYTHING, 0.0), "#0072B2", "-", "aggro, nothing set"),
    ((ONCE, 0.0), "#D55E00", "-", "aggro, no drift detection"),
    (("river LogisticRegression", 0.0), "#009E73", "--", "river LogisticRegression"),
    (("scikit-learn SGD", 0.0), "#000000", ":", "scikit-learn SGD"),
]


def write(found: Results) -> None:
    """Write the tables and the figure to the documentation."""
    draw(found)
    fill(PAGE, {"forgetting": by_forgetting(found), "peers": by_peer(found)})


def errors(found: Results, stream: str, who: str, share: float) -> np.ndarray:
    """Return the error of each seed over the whole stream, in percent."""
    return 100 * found[stream, who, share].sum(axis=1) / rows_of(stream).sum()


@functools.cache
def rows_of(stream: str) -> np.ndarray:
    """Return the number of rows of each window."""
    count = len(STREAMS[stream][1](0).y)
    return np.array([part.stop - part.start for part in windows(count)])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def by_forgetting(found: Results) -> str:
    """Return the error for each rate of forgetting; the minimum of a line is bold."""
    head = ["stream", "settings", *(f"{share:g}" for share in FORGETTING)]
    lines = [_line(head), _line(["---", "---"] + ["--:"] * len(FORGETTING))]
    for stream in STREAMS:
        for who in OURS:
            means = [errors(found, stream, who, share).mean() for share in FORGETTING]
            shown = [f"{mean:.2f}" for mean in means]
            shown[int(np.argmin(means))] = f"**{min(means):.2f}**"
            lines.append(_line([stream, f"`{who}`", *shown]))
    return "\n".join(lines)


def by_peer(found: Results) -> str:
    """Return the errors of recommended settings and other libraries, with deviations."""
    ours = [(EVERYTHING, share) for share in (0.0, 0.001, 0.003)]
    lines = [_line(["learner", *STREAMS]), _line(["---"] + ["--:"] * len(STREAMS))]
    for who, share in [*ours, *((peer, 0.0) for peer in PEERS)]:
        name = f"aggro, `forgetting={share:g}`" if who == EVERYTHING else who
        lines.append(_line([name, *(_spread(errors(found, s, who, share)) for s in STREAMS)]))
    return "\n".join(lines)


def _spread(values: np.ndarray) -> str:
    mean = f"{values.mean():.2f}"
    return f"{mean} ± {values.std(ddof=1):.2f}" if len(values) > 1 else mean


def draw(found: Results) -> None:
    """Draw the error over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    for stream, panel in zip(STREAMS, axes.ravel(), strict=True):
        rows = rows_of(stream)
        for key, colour, style, label in LINES:
            line = (stream, *key)
            counts = found[line].mean(axis=0)
            step = COARSE if STREAMS[stream][0] == 1 else 1
            edges = np.arange(0, len(rows), step)
            seen, wrong = np.add.reduceat(rows, edges), np.add.reduceat(counts, edges)
            panel.plot(
                np.cumsum(seen), 100 * wrong / seen, style, color=colour, lw=1.4, label=label
            )
        panel.set_title(stream)
        panel.set_ylim(bottom=0)
        panel.set_xlabel("examples seen")
        panel.set_ylabel("mistakes, %, judged before learning")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(PICTURE, dpi=150)
    plt.close(figure)
