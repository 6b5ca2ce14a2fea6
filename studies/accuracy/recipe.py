"""The usual recipe (TfidfVectorizer, then Passive-Aggressive) compared with TextClassifier.

``python -m studies.accuracy.recipe`` measures both on the given halves of the data sets, and writes
the table of docs/from-tfidf.md: CPU time to learn and to predict, errors on the second half, sizes
of files.
"""

from __future__ import annotations

import pickle
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import aggro
from studies.accuracy.texts import ROOT, load

PAGE = ROOT / "docs" / "from-tfidf.md"
SETS = ("sms-spam", "imdb", "20news")


class Recipe:
    """A vectoriser and a classifier."""

    def fit(self, X: list[str], y: np.ndarray) -> Recipe:
        """Fit the vectoriser, then the classifier."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import SGDClassifier

        self.words = TfidfVectorizer(stop_words="english", max_df=0.7)
        rule = {"learning_rate": "pa1", "eta0": 1.0, "penalty": None}  # PassiveAggressiveClassifier
        self.model = SGDClassifier(**rule, max_iter=50, random_state=0)
        self.model.fit(self.words.fit_transform(X), y)
        return self

    def predict(self, X: list[str]) -> np.ndarray:
        """Return classes."""
        return self.model.predict(self.words.transform(X))

    def size(self) -> int:
        """Return the bytes of the two pickles."""
        return len(pickle.dumps(self.words)) + len(pickle.dumps(self.model))


class Ours:
    """TextClassifier."""

    def fit(self, X: list[str], y: np.ndarray) -> Ours:
        """Learn the texts."""
        self.model = aggro.TextClassifier().fit(X, y)
        return self

    def predict(self, X: list[str]) -> np.ndarray:
        """Return classes."""
        return self.model.predict(X)

    def size(self) -> int:
        """Return the bytes of the model file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.aggro")
            self.model.save(path)
            return path.stat().st_size


def measure(kind: Any, X: list[str], y: np.ndarray) -> list[str]:
    """Return CPU time to learn and to predict, the error and the size, as text."""
    half = len(y) // 2
    began = time.process_time()
    model = kind().fit(X[:half], y[:half])
    learned = time.process_time()
    predicted = model.predict(X[half:])
    done = time.process_time()
    error = np.mean(predicted != y[half:])
    times = [f"{learned - began:.1f} s", f"{done - learned:.2f} s"]
    return [*times, f"{100 * error:.2f} %", f"{model.size() / 1e6:.1f} MB"]


def main() -> None:
    """Write the table."""
    head = ["texts", "program", "learning", "predicting", "error", "file"]
    lines = ["| " + " | ".join(head) + " |", "|---|---" + "|--:" * 4 + "|"]
    for name in SETS:
        X, y = load(name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = [X[i] for i in order], y[order]
        for title, kind in (("TfidfVectorizer recipe", Recipe), ("`TextClassifier()`", Ours)):
            row = [f"{name}, {len(y) // 2:,} + {len(y) - len(y) // 2:,}", title]
            lines.append("| " + " | ".join([*row, *measure(kind, X, y)]) + " |")
            print(lines[-1], flush=True)
    page, table = PAGE.read_text(encoding="utf-8"), "\n".join(lines)
    marks = r"(<!-- table -->\n).*?(<!-- end of table -->)"
    page = re.sub(marks, lambda m: m[1] + table + "\n" + m[2], page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
