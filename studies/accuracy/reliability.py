"""The reliability diagram: accuracy against the predicted probability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

BINS = 10
LEAST = 20  # minimum rows per drawn bin
# Okabe and Ito's colours, which colour-blind people can distinguish, and a shape for each
STYLES = {
    "raw": ("#E69F00", "s", "raw sigmoid or softmax"),
    "cv": ("#0072B2", "^", "CalibratedClassifierCV, 5 folds"),
    "ours": ("#000000", "o", "probability=True"),
}


def draw(cells: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Write a panel per set; orders are combined."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(9.5, 6.6), sharex=True, sharey=True)
    for panel, (name, found) in zip(axes.ravel(), cells.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle="--", zorder=0)
        for way, (colour, marker, label) in STYLES.items():
            count, said, right = (
                np.sum([cell[way][part] for cell in found], axis=0)
                for part in ("count", "said", "right")
            )
            full = count >= LEAST
            x, y = said[full] / count[full], right[full] / count[full]
            panel.plot(x, y, color=colour, marker=marker, markersize=5, label=label)
        panel.set_title(name, fontsize=10)
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("probability given to the most probable class (mean of a tenth)", fontsize=10)
    figure.supylabel("part of the rows where it was right", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0.01, 0.0, 1, 0.95))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
