"""Draw the candidates of a model selection on handwritten digits."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from aggro import AutoClassifier

IMAGES = Path(__file__).resolve().parents[1] / "images"


def main() -> None:
    """Learn digits in one pass and draw the candidates."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    AutoClassifier().partial_fit(X[order], y[order]).selection_report(IMAGES / "choice.png")


if __name__ == "__main__":
    main()
