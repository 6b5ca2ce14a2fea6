"""Draw support classes as water filling: the scores before and after two kinds of step."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from style import BLUE, ORANGE, quiet, save

from aggro.reference import slack, step_size, support_classes

SCORES, TRUE = np.array([0.3, 1.5, 1.25, 0.9, -0.1, -1.0]), 0


def draw(axes: Axes, after: np.ndarray, title: str, before: np.ndarray = SCORES) -> None:
    """Draw the scores as bars, the changes and the line s_y - 1."""
    axes.axhline(0, color="black", lw=0.8)
    axes.bar(np.arange(6), after, color=[ORANGE] + [BLUE] * 5, width=0.7)
    for k, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            low, high = min(old, new), max(old, new)
            style = {"fill": False, "hatch": "///", "edgecolor": "black", "lw": 0.8}
            axes.bar(k, high - low, bottom=low, width=0.7, **style)
    axes.axhline(after[TRUE] - 1, color="black", ls="--", lw=1.2)
    left = after is before  # the bars of the other panels leave space on the right
    place = {"x": -0.4, "ha": "left"} if left else {"x": 5.45, "ha": "right"}
    axes.text(y=after[TRUE] - 0.97, s="true score − 1", va="bottom", **place)
    axes.set_xticks(range(6), ["true", "a", "b", "c", "d", "e"])
    axes.set(xlabel="class", title=title, ylim=(-1.3, 2.4))


def main() -> None:
    """Draw the picture; ‖x‖² = 1, so that steps are changes of scores."""
    losses = 1 - SCORES[TRUE] + SCORES[1:]
    tau = support_classes(losses, 1.0, slack("hard", 1.0))
    support = SCORES + np.append(tau.sum(), -tau)
    one = step_size(losses[0], 2.0, slack("hard", 1.0))
    top = SCORES + one * np.array([1, -1, 0, 0, 0, 0])
    figure, panels = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
    draw(quiet(panels[0]), SCORES, "Before: a, b, c and d reach above the line")
    draw(quiet(panels[1]), top, 'multiclass="top": b and c still do')
    draw(quiet(panels[2]), support, 'multiclass="support": none does')
    panels[0].set_ylabel("score of this example")
    figure.supxlabel("hatched: cut off wrong classes, added to the true one; equal areas")
    save(figure, "support-classes")


if __name__ == "__main__":
    main()
