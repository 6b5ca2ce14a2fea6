"""Contributions of words or columns to the scores of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggro.learner import Array

ROWS = 128  # with whose values a column of a non-linear model is compared


@dataclass(frozen=True)
class Explanation:
    """Contributions of words or columns to the score of a class, the largest first."""

    label: Any
    words: list[tuple[str, float]]
    intercept: float
    total: float

    def shares(self) -> list[tuple[str, float]]:
        """Return the words with their share in the sum of all absolute contributions."""
        size = sum(abs(value) for _, value in self.words) + abs(self.intercept)
        return [(word, value / size if size else 0.0) for word, value in self.words]

    def __str__(self) -> str:
        lines = [f"{'score' if self.label is None else self.label}: {self.total:+.3g}"]
        lines += [f"  {share:+6.1%}  {word}" for word, share in self.shares()[:10]]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None, top: int = 12) -> Any:
        """Draw the strongest words as bars; return the figure, or write it to a path."""
        title = f"Contributions to {self.label}" if self.label is not None else "Contributions"
        return draw_bars(self.shares()[:top], title, path, shares=True)


def explanations(
    classes: Sequence[Any], names: Sequence[str], parts: Array, intercept: Array
) -> dict[Any, Explanation]:
    """Return the explanation of each class, or of a number with the class None.

    ``parts`` are the contributions, outputs x names. The single output of two classes is the score
    of the second.
    """
    if len(classes) == 2 and len(parts) == 1:
        parts, intercept = np.vstack([-parts, parts]), np.concatenate([-intercept, intercept])
    found = {}
    for label, part, rest in zip(classes, parts, intercept, strict=True):
        order = np.argsort(-np.abs(part), kind="stable")
        words = [(names[i], float(part[i])) for i in order.tolist() if part[i]]
        found[label] = Explanation(label, words, float(rest), float(part.sum() + rest))
    return found


def draw_bars(
    words: Sequence[tuple[str, float]],
    title: str,
    path: str | Path | None = None,
    *,
    shares: bool,
) -> Any:
    """Draw a bar for each word, the strongest at the top; return the figure, or write it."""
    from aggro.plot import COLOURS, close_figure, open_figure

    figure, (axes,) = open_figure(path, figsize=(7.0, 1.2 + 0.3 * max(len(words), 1)))
    sizes = [100.0 * value if shares else value for _, value in words]
    axes.barh(range(len(words)), sizes, color=[COLOURS[size < 0] for size in sizes])
    axes.set_yticks(range(len(words)), [word for word, _ in words])
    axes.invert_yaxis()
    axes.set_axisbelow(True)
    axes.grid(visible=False, axis="y")
    axes.axvline(0.0, color="#000000", lw=0.8)
    axes.set_xlabel("share, %" if shares else "weight")
    axes.set_title(title)
    return close_figure(figure, path)
