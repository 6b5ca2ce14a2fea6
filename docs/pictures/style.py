"""Shared style of the pictures: colour-blind safe colours, plain axes, one output folder."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's palette
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PINK, YELLOW, GREY = "#CC79A7", "#E69F00", "#777777"
IMAGES = Path(__file__).resolve().parent.parent / "images"

plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "legend.frameon": False})


def quiet(axes: Axes) -> Axes:
    """Remove the lines that say nothing."""
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def save(figure: Figure, name: str) -> None:
    """Write the picture to docs/images."""
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)
    plt.close(figure)
