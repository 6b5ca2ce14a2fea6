"""A few seconds of online learning on built-in data: ``python -m aggro.demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from aggro.extras import optional
from aggro.learner import Array
from aggro.plot import draw_curves
from aggro.sweeping.sweep import sweep

NAMES = ["Perceptron", "PA-I", "SPA-I", "PAM-I-diag", "BPAI"]
PICTURE = Path("demo") / "learning-curve.png"


def digits(copies: int = 8, seed: int = 0) -> tuple[Array, Array]:
    """Return scikit-learn's 1797 digits, repeated with noise so that the stream is longer."""
    X, y = optional("sklearn.datasets", "The demonstration").load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    X, y = np.tile(X / 16.0, (copies, 1)), np.tile(y, copies)
    X = X + rng.normal(scale=0.25, size=X.shape)
    order = rng.permutation(len(y))
    return X[order], y[order]


def table(name: str, curve: Sequence[tuple[int, float]]) -> str:
    """Return the progressive error of one variant as text."""
    lines, seen, mistakes = [f"\n{name}", "  examples   error so far   since last"], 0, 0.0
    for count, error in curve:
        recent = (count * error - mistakes) / (count - seen)
        lines.append(f"  {count:>8}   {error:>11.1%}  {recent:>11.1%}")
        seen, mistakes = count, count * error
    return "\n".join(lines)


def main() -> None:
    """Run the demonstration."""
    X, y = digits()
    print(f"{len(y)} noisy handwritten digits, seen once, each predicted before it is learned.")
    result = sweep(X, y, algorithm=NAMES, C=0.1)
    curves = {str(row.params["algorithm"]): row.curve for row in result.rows}
    for name, curve in curves.items():
        print(table(name, curve))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    draw_curves(curves, None, "mistakes", str(PICTURE))
    print(f"\nThe learning curves are in {PICTURE}.")


if __name__ == "__main__":
    main()
