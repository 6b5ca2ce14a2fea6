"""Draw one Passive-Aggressive step for each slack, and its length as a function of the loss."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from style import BLUE, GREEN, GREY, ORANGE, PINK, quiet, save

from aggro.reference import slack, step_size

X, W, C = np.array([1.1, 0.6]), np.array([0.0, -1.5]), 0.4
KINDS = (
    ("hard", "PA  (hard)", BLUE, "o", "-"),
    ("squared_hinge", "PA-II  (squared_hinge)", GREEN, "D", "--"),
    ("hinge", "PA-I  (hinge)", ORANGE, "s", "-."),
)


def draw_plane(axes: Axes) -> None:
    """Weight space: the half-plane of weights that classify x with margin 1."""
    line = np.linspace(-1.5, 3.5, 2)
    axes.plot(line, (1 - X[0] * line) / X[1], color="black", lw=1.2)
    axes.fill_between(line, (1 - X[0] * line) / X[1], 5, color=GREY, alpha=0.15, lw=0)
    axes.text(1.5, 0.3, "weights with\ny·⟨w, x⟩ ≥ 1", color="#333333")
    loss, q = 1 - W @ X, X @ X
    for loss_name, label, colour, marker, _ in KINDS:
        w = W + step_size(loss, q, slack(loss_name, C)) * X
        axes.plot(*w, marker, color=colour, ms=9, label=label, zorder=3)
    end = W + step_size(loss, q, slack("hard", C)) * X
    axes.annotate("", end, W, arrowprops={"arrowstyle": "-", "color": GREY, "lw": 1.5})
    axes.plot(*W, "*", color="black", ms=13, label="w before the step", zorder=3)
    axes.text(0.02, -1.2, "along y·x", color=GREY, rotation=28)
    axes.set(xlim=(-0.6, 3.0), ylim=(-2.0, 0.9), xlabel="weight of feature 1", aspect="equal")
    axes.set(ylabel="weight of feature 2", title=f"One step from w, C = {C}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)


def draw_sizes(axes: Axes) -> None:
    """Step length against loss: the three numbers of each slack."""
    losses = np.linspace(-1, 3, 400)
    for loss_name, label, colour, _, line in KINDS:
        tau = [step_size(loss, 1.0, slack(loss_name, C)) for loss in losses]
        axes.plot(losses, tau, line, color=colour, lw=2.2, label=label)
    tau = [step_size(loss, 1.0, slack("least_squares", C)) for loss in losses]
    axes.plot(losses, tau, ":", color=PINK, lw=2.6, label="PALS  (least_squares)")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.axvline(0, color=GREY, lw=0.8)
    axes.annotate("cap = C", (2.6, C), (2.3, 0.08), arrowprops={"arrowstyle": "->"})
    axes.set(xlabel="loss = 1 − y·f(x)", ylabel="step τ", title="How far: τ for ‖x‖² = 1")
    axes.set(ylim=(-0.6, 2.0))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)


def main() -> None:
    """Draw the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    draw_plane(quiet(left))
    draw_sizes(quiet(right))
    save(figure, "step")


if __name__ == "__main__":
    main()
