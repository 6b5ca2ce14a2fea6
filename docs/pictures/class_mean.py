"""Draw models of the same data in many orders, with and without class means."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from style import BLUE, GREY, ORANGE, YELLOW, quiet, save

from aggro import PassiveAggressiveClassifier


def data(count: int = 200, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return two clouds that overlap slightly."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    return rng.normal(size=(count, 2)) + np.column_stack([2.4 * y - 1.2, 1.6 * y - 0.8]), y


def draw(axes: Axes, class_mean: float, colour: str, title: str, orders: int = 25) -> None:
    """Show the decision line after one pass over each order."""
    X, y = data()
    for label, shade, marker in ((0, GREY, "o"), (1, YELLOW, "^")):
        axes.plot(*X[y == label].T, marker, color=shade, ms=4, alpha=0.6, label=f"class {label}")
    across, errors = np.linspace(-5, 5, 2), []
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(y))
        model = PassiveAggressiveClassifier(C=1.0, class_mean=class_mean, average=False)
        model.partial_fit(X[order], y[order])
        (w1, w2), b = model.coef_[0], model.intercept_[0]
        axes.plot(across, -(w1 * across + b) / w2, color=colour, lw=1, alpha=0.6)
        errors.append(100 * (1 - model.score(X, y)))
    spread = f"error {np.mean(errors):.1f} ± {np.std(errors):.1f} %"
    axes.set(xlim=(-4.5, 4.5), ylim=(-4, 4), xlabel="feature 1", title=f"{title}: {spread}")
    axes.legend(loc="lower left", fontsize=9)


def main() -> None:
    """Draw the picture."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    draw(quiet(panels[0]), 0.0, BLUE, "PA-I")
    draw(quiet(panels[1]), 1.0, ORANGE, "PAm-1, class_mean=1")
    panels[0].set_ylabel("feature 2")
    save(figure, "class-mean")


if __name__ == "__main__":
    main()
