"""Draw decision lines and learning curves of metrics for features of different scales."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from style import BLUE, GREEN, GREY, ORANGE, YELLOW, quiet, save

from aggro import PassiveAggressiveClassifier

METRICS = (("euclidean", BLUE, "-"), ("diagonal", ORANGE, "--"), ("full", GREEN, "-."))


def stream(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two correlated classes; the second feature has ten times the scale of the first."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    shared = rng.normal(size=count)
    first = 0.9 * shared + 0.35 * rng.normal(size=count) + (y - 0.5)
    second = 0.9 * shared + 0.35 * rng.normal(size=count) - (y - 0.5)
    return np.column_stack([first, 10 * second]), y


def draw_lines(axes: Axes) -> None:
    """Show the data and the decision line of each metric after 300 examples."""
    X, y = stream(300, 0)
    for label, colour, marker in ((0, GREY, "o"), (1, YELLOW, "^")):
        axes.plot(*X[y == label].T, marker, color=colour, ms=4, alpha=0.7, label=f"class {label}")
    across = np.linspace(-4, 4, 2)
    for metric, colour, line in METRICS:
        model = PassiveAggressiveClassifier(metric=metric, average=False).partial_fit(X, y)
        (w1, w2), b = model.coef_[0], model.intercept_[0]
        axes.plot(across, -(w1 * across + b) / w2, line, color=colour, lw=2.2, label=metric)
    axes.set(xlabel="feature 1", ylabel="feature 2 (ten times the scale)", ylim=(-40, 40))
    axes.set(title="Decision line after 300 examples")
    axes.legend(loc="lower right", ncols=2, fontsize=9)


def draw_curves(axes: Axes, count: int = 1000, repeats: int = 20) -> None:
    """Show the mistakes so far, each example predicted before it is learned."""
    points = np.unique(np.geomspace(10, count, 30).astype(int))
    for metric, colour, line in METRICS:
        errors = np.zeros((repeats, len(points)))
        for seed in range(repeats):
            X, y = stream(count, seed)
            model, seen = PassiveAggressiveClassifier(metric=metric, average=False), 0
            for k, end in enumerate(points):
                model.partial_fit(X[seen:end], y[seen:end], classes=[0, 1])
                errors[seed, k], seen = 100 * model.n_mistakes_ / end, end
        axes.plot(points, errors.mean(axis=0), line, color=colour, lw=2.2, label=metric)
    axes.set(xscale="log", xlabel="examples seen", ylabel="mistakes so far, %", ylim=(0, None))
    axes.set(title=f"Learning curves, C = 1, mean of {repeats} streams")
    axes.legend()


def main() -> None:
    """Draw the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    draw_lines(quiet(left))
    draw_curves(quiet(right))
    save(figure, "metric")


if __name__ == "__main__":
    main()
