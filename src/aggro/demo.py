"""A few seconds of online learning on built-in data: ``python -m aggro.demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aggro.extras import optional
from aggro.learner import Array
from aggro.plot import close_figure, open_figure
from aggro.variants import from_name

NAMES = ("Perceptron", "PA-I", "SPA-I", "PAM-I-diag", "BPAI")
PICTURE = Path("demo") / "learning-curve.png"


def digits(copies: int = 8, seed: int = 0) -> tuple[Array, Array]:
    """Return scikit-learn's 1797 digits, repeated with noise so that the stream is longer."""
    X, y = optional("sklearn.datasets", "The demonstration").load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    X, y = np.tile(X / 16.0, (copies, 1)), np.tile(y, copies)
    X = X + rng.normal(scale=0.25, size=X.shape)
    order = rng.permutation(len(y))
    return X[order], y[order]


def checkpoints(count: int) -> list[int]:
    """Return 128, 256, 512, ... up to count."""
    points = [128 * 2**k for k in range(20) if 128 * 2**k < count]
    return [*points, count]


def watch(model: Any, X: Array, y: Array) -> list[tuple[int, int, int]]:
    """Learn the stream and return (examples, mistakes, updates) at each checkpoint."""
    history, start = [], 0
    classes = np.unique(y)
    for end in checkpoints(len(y)):
        for piece in np.array_split(np.arange(start, end), max(1, (end - start) // 64)):
            model.partial_fit(X[piece], y[piece], classes=classes)
        history.append((end, model.n_mistakes_, model.n_updates_))
        start = end
    return history


def table(name: str, history: list[tuple[int, int, int]]) -> str:
    """Return the progressive validation of one learner as text."""
    lines = [f"\n{name}", "  examples   error so far   since last    updates"]
    before = (0, 0, 0)
    for now in history:
        recent = (now[1] - before[1]) / (now[0] - before[0])
        lines.append(f"  {now[0]:>8}   {now[1] / now[0]:>11.1%}  {recent:>11.1%}   {now[2]:>8}")
        before = now
    return "\n".join(lines)


def draw(histories: dict[str, list[tuple[int, int, int]]], path: Path) -> None:
    """Draw the error so far of every learner against the examples seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure, (axes,) = open_figure(path, figsize=(7.5, 4.5))
    styles = zip(("#999999", "#0072B2", "#D55E00", "#009E73", "#CC79A7"), "sovD^", strict=True)
    for (name, history), (colour, marker) in zip(histories.items(), styles, strict=True):
        seen, mistakes, _ = np.array(history).T
        error = 100 * mistakes / seen
        axes.plot(
            seen,
            error,
            marker=marker,
            color=colour,
            lw=1.8,
            ms=5,
            label=f"{name}  {error[-1]:.1f} %",
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(seen, [f"{n:,}" for n in seen], rotation=30)
    axes.set_xlabel("examples seen (each predicted first, then learned)")
    axes.set_ylabel("mistakes so far, %")
    axes.set_ylim(bottom=0)
    axes.legend(title="one pass over noisy digits", frameon=False)
    close_figure(figure, path)


def main() -> None:
    """Run the demonstration."""
    X, y = digits()
    print(f"{len(y)} noisy handwritten digits, seen once, each predicted before it is learned.")
    histories = {}
    for name in NAMES:
        params = {} if name == "Perceptron" else {"C": 1.0 if name == "PAM-I-diag" else 0.1}
        histories[name] = watch(from_name(name, **params), X, y)
        print(table(name, histories[name]), flush=True)
    draw(histories, PICTURE)
    print(f"\nThe learning curves are in {PICTURE}.")


if __name__ == "__main__":
    main()
