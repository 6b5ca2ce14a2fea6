"""How good predictions are, added up batch by batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from aggro.cli.model import Model
from aggro.learner import Array

FEW_CLASSES = 12
MOST_VALUES = 1 << 20  # targets that are kept


def label_text(label: Any) -> str:
    """Return a label as files show it: whole numbers without a fraction."""
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


class Classification:
    """Counts of true and predicted classes."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()

    def add(self, model: Model, scores: Array, y: Array) -> None:
        """Take in the scores of some examples and their true labels."""
        chosen = model.chosen(scores)
        names, truth = np.unique(y, return_inverse=True)
        pairs, counts = np.unique(truth * len(model.classes) + chosen, return_counts=True)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            true, guess = divmod(pair, len(model.classes))
            self.pairs[label_text(names[true]), label_text(model.classes[guess])] += count

    @property
    def count(self) -> int:
        """The number of examples."""
        return sum(self.pairs.values())

    @property
    def error(self) -> float:
        """The share of wrong predictions."""
        return (self.count - self._right) / max(self.count, 1)

    @property
    def _right(self) -> int:
        return sum(count for (true, guess), count in self.pairs.items() if true == guess)

    @property
    def constant_error(self) -> float:
        """The error of the best constant answer: the most frequent class."""
        classes: Counter[str] = Counter()
        for (true, _), count in self.pairs.items():
            classes[true] += count
        return 1 - max(classes.values(), default=0) / max(self.count, 1)

    def report(self) -> dict[str, Any]:
        """Return the figures by name."""
        total = self.count
        scores = {name: self._f1(name) for name in self._names()}
        return {
            "examples": total,
            "accuracy": self._right / max(total, 1),
            "macro_f1": float(np.mean(list(scores.values()))) if scores else 0.0,
            "f1": scores,
            "confusion": [[true, guess, n] for (true, guess), n in sorted(self.pairs.items())],
        }

    def _names(self) -> list[str]:
        return sorted({name for pair in self.pairs for name in pair}, key=_natural)

    def _f1(self, name: str) -> float:
        hits = self.pairs[name, name]
        others = sum(n for pair, n in self.pairs.items() if name in pair) - hits
        return 2 * hits / max(2 * hits + others, 1)

    def lines(self) -> list[str]:
        """Return the figures as text."""
        report, names = self.report(), self._names()
        text = [
            f"accuracy  {report['accuracy']:.2%} of {report['examples']:,} examples",
            f"macro F1  {report['macro_f1']:.4f}",
        ]
        width = max([len(name) for name in names] + [6])
        if len(names) > FEW_CLASSES:
            worst = sorted(report["f1"].items(), key=lambda item: item[1])[:5]
            shown = ", ".join(f"{name} {score:.3f}" for name, score in worst)
            return [*text, f"lowest F1 {shown} ({len(names)} classes)"]
        text.append(f"{'true class':<{width}}      F1   predicted as")
        text.append(" " * (width + 11) + "".join(f"{name[:9]:>10}" for name in names))
        for name in names:
            row = "".join(f"{self.pairs[name, guess]:>10,}" for guess in names)
            text.append(f"{name:<{width}}  {report['f1'][name]:.4f}   {row}")
        return text


def _natural(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


class Regression:
    """Sums of errors."""

    def __init__(self) -> None:
        self.count, self.absolute, self.squared = 0, 0.0, 0.0
        self.mean, self.spread = 0.0, 0.0
        self.values: list[Array] = []  # the first targets, for their median

    @property
    def error(self) -> float:
        """The mean absolute error."""
        return self.absolute / max(self.count, 1)

    @property
    def constant_error(self) -> float:
        """The error of the best constant answer: the median, of the first million targets."""
        values = np.concatenate(self.values) if self.values else np.zeros(1)
        return float(np.abs(values - np.median(values)).mean())

    def add(self, model: Model, scores: Array, y: Array) -> None:
        """Take in the predictions for some examples and their true values."""
        error = np.asarray(y, np.float64) - scores[:, 0]
        if self.count < MOST_VALUES:
            self.values.append(np.asarray(y, np.float64))
        self.absolute += float(np.abs(error).sum())
        self.squared += float((error**2).sum())
        # Means and spreads of two parts together (Chan, Golub, LeVeque 1983).
        count, mean = len(y), float(np.mean(y))
        total, shift = self.count + count, mean - self.mean
        self.spread += float(((y - mean) ** 2).sum()) + shift**2 * self.count * count / total
        self.mean += shift * count / total
        self.count = total

    def report(self) -> dict[str, Any]:
        """Return the figures by name."""
        count = max(self.count, 1)
        return {
            "examples": self.count,
            "rmse": float(np.sqrt(self.squared / count)),
            "mae": self.absolute / count,
            "r2": 1 - self.squared / self.spread if self.spread > 0 else 0.0,
        }

    def lines(self) -> list[str]:
        """Return the figures as text."""
        report = self.report()
        return [
            f"RMSE  {report['rmse']:.6g} on {report['examples']:,} examples",
            f"MAE   {report['mae']:.6g}",
            f"R²    {report['r2']:.4f}",
        ]


def metrics_for(model: Model) -> Classification | Regression:
    """Return the empty figures that suit a model."""
    return Regression() if model.regression else Classification()
