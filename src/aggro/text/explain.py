"""Explanations of text models: shares of words in a prediction, strongest words of a class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggro import _core
from aggro.explanation import ROWS, Explanation, draw_bars, explanations
from aggro.io.batch import RawRows
from aggro.io.columns import numeric_names
from aggro.learner import Array
from aggro.selection.feature_maps import remembered_rows
from aggro.selection.selection import ModelSelection
from aggro.text.encoder import columns_of, hashes_of, listed
from aggro.text.learner import TextLearner
from aggro.text.table import Table


class Explained:
    """Coefficients and explanations of text estimators."""

    classes_: Array
    columns: Any

    @property
    def coef_(self) -> Array:
        """The weights of the best candidate by hashed column, outputs x ``n_features``.

        They are those of scikit-learn's HashingVectorizer with the same options, where there is
        one column of texts and no idf.
        """
        learner = self._fitted().at_present()  # type: ignore[attr-defined]  # of TextEstimator
        encoder, selection = learner.encoder, learner.selection
        which, _ = encoder.choices[selection.representation]
        if encoder.sources > 1:
            raise AttributeError("coef_ exists only for one column of texts.")
        met = encoder.cores[0].state()[f"columns_{which}"]
        coef = np.zeros((selection.outputs, encoder.options.n_features), selection.dtype)
        coef[:, met] = selection.coef()[:, : len(met)]
        return coef[self._shown]

    @property
    def intercept_(self) -> Array:
        """The intercepts of the best candidate."""
        intercept = self._fitted().selection.intercept()  # type: ignore[attr-defined]
        return np.asarray(intercept[self._shown])

    def explain(self, text: Any) -> dict[Any, Explanation]:
        """Return the contribution of each word of a text to the score of each class.

        Regressors have one explanation, with the key None. Unknown words contribute nothing, and
        words that share a hashed column share its weight.

        Parameters
        ----------
        text : str, or a dict where ``columns`` is given
            What to explain.
        """
        learner = self._fitted().at_present()  # type: ignore[attr-defined]  # of TextEstimator
        rows = text if isinstance(text, RawRows) else [text]
        table = self._table(rows)  # type: ignore[attr-defined]
        selection, X = learner.selection, learner.encoded(table)
        names = _names_of(learner, table)
        numbers = numeric_names(self.columns or {})
        sources, mapped = learner.encoder.sources, learner.encoder.mapping != "linear"
        names |= {i * sources + sources - 1: [name] for i, name in enumerate(numbers)}
        parts = X.data.astype(np.float64) * _weights(selection, X.indices).T
        words = [" | ".join(names.get(int(feature), ("?",))) for feature in X.indices]
        intercept = np.asarray(selection.intercept(), np.float64)
        if numbers and mapped:
            by_words = np.flatnonzero(X.indices % sources != sources - 1)
            words = [*(words[i] for i in by_words), *numbers]
            parts = np.hstack([parts[:, by_words], _parts_of_numbers(learner, table)])
            intercept = learner.scores(table)[0] - parts.sum(axis=1)
        shown = self._shown
        return explanations(self._heads(), words, parts[shown], intercept[shown])

    def top_words(self, label: Any = None, top: int = 10) -> list[tuple[str, float]]:
        """Return the words with the largest weights of a class, or of a regressor.

        Only remembered words are found (``keep_names``). Words that share a column are joined:
        ``"one | other"``.

        Parameters
        ----------
        label : class
            One of ``classes_``; not for numbers.
        top : int, default=10
            How many.
        """
        learner = self._fitted().at_present()  # type: ignore[attr-defined]  # of TextEstimator
        heads = self._heads()
        if label not in heads:
            raise ValueError(f"{label!r} is not one of the classes {heads!r}.")
        names, signs = _remembered(learner)
        features = np.array(sorted(names), dtype=np.int64)
        if not len(features):
            return []
        weights = _weights(learner.selection, features)
        if weights.shape[1] == 1 and hasattr(self, "classes_"):
            weights = np.hstack([-weights, weights])
        parts = weights[:, heads.index(label)] * np.array([signs[f] for f in features.tolist()])
        order = np.argsort(-parts, kind="stable")[:top]
        return [
            (" | ".join(names[int(features[i])]), float(parts[i])) for i in order if parts[i] > 0
        ]

    def plot_words(self, label: Any = None, path: str | Path | None = None, top: int = 12) -> Any:
        """Draw the strongest words of a class as bars; return the figure, or write it to a path."""
        title = f"The strongest words of {label}" if label is not None else "The strongest words"
        return draw_bars(self.top_words(label, top), title, path, shares=False)

    @property
    def _shown(self) -> slice:
        """The outputs that stand for known classes."""
        return slice(max(len(self._heads()), 1))

    def _heads(self) -> list[Any]:
        return self.classes_.tolist()[:] if hasattr(self, "classes_") else [None]


def _weights(selection: ModelSelection, features: Array) -> Array:
    """Return the weights of some features, one column for each output: the scores of each alone."""
    count = len(features)
    rows = (np.ones(count, np.float32), np.asarray(features, np.int64))
    starts = np.concatenate([np.arange(count + 1), [count]])  # and of an empty row
    width = selection.width(selection.representation)
    scores = selection.score_encoded(_core.Rows(*rows, starts, width)).astype(np.float64)
    return np.asarray(scores[:-1] - scores[-1])


def _parts_of_numbers(learner: TextLearner, table: Table) -> Array:
    """Return the contributions of the numbers of a row, outputs x columns, if they are mapped.

    That is the difference between the scores and their mean if a number has the values of
    remembered rows instead.
    """
    numbers: Any = learner.encoder.numbers
    others, scores = remembered_rows(numbers.core, ROWS), learner.scores(table)[0]
    copies, parts = table.take(np.zeros(len(others), np.int64)), []
    for column in range(others.shape[1]):
        changed = np.array(copies.numbers)
        changed[:, column] = others[:, column]
        parts.append(scores - learner.scores(replace(copies, numbers=changed)).mean(axis=0))
    return np.asarray(np.array(parts, np.float64).T)


def _names_of(learner: TextLearner, table: Any) -> dict[int, list[str]]:
    """Return the words of one document behind each of its features."""
    encoder = learner.encoder
    found: dict[int, list[str]] = defaultdict(list)
    parts = [*table.texts, *([] if table.categories is None else [table.categories])]
    for source, (texts, core) in enumerate(zip(parts, encoder.cores, strict=True)):
        prepare = encoder.prepare if source < len(encoder.texts) else None
        parts = core.features(texts.take([0]).documents[0], prepare)
        words = [word for word, _ in parts]
        columns = np.array([c if c >= 0 else ~c for _, c in parts], dtype=np.int64)
        for i, feature in _places(learner, source, words, columns):
            if words[i] not in found[feature]:
                found[feature].append(words[i])
    return found


def _places(
    learner: TextLearner, source: int, words: list[str], columns: Array
) -> Iterator[tuple[int, int]]:
    """Yield the words that have a feature in what leads: number and feature."""
    encoder = learner.encoder
    which, _ = encoder.choices[learner.selection.representation]
    is_text = source < len(encoder.texts)
    lowest, highest = encoder.ranges[which]
    by_words = is_text and encoder.options.analyzer == "word"
    places = encoder.cores[source].find(which if is_text else 0, columns).tolist()
    for i, (word, place) in enumerate(zip(words, places, strict=True)):
        if place < 0 or (by_words and not lowest <= word.count(" ") + 1 <= highest):
            continue
        yield i, place * encoder.sources + source


def _remembered(learner: TextLearner) -> tuple[dict[int, list[str]], dict[int, int]]:
    """Return the words behind each feature that are remembered, and the sign of the first."""
    encoder = learner.encoder
    found: dict[int, list[str]] = defaultdict(list)
    signs: dict[int, int] = {}
    for source, core in enumerate(encoder.cores):
        state = core.state()
        if "names" not in state:
            continue
        words, counts = listed(state)
        order = np.argsort(-counts, kind="stable")
        words, hashes = [words[i] for i in order], hashes_of(words)[order]
        signed = source < len(encoder.texts) and encoder.options.alternate_sign
        columns = columns_of(hashes, encoder.options.n_features)
        for i, feature in _places(learner, source, words, columns):
            found[feature].append(words[i])
            signs.setdefault(feature, -1 if signed and hashes[i] < 0 else 1)
    return dict(found), signs
