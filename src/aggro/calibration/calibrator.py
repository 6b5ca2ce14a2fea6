"""The margins that recent examples were given before they were learned, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro.calibration.probability_map import apply, bounded, fit
from aggro.classes import output_map
from aggro.settings import Settings

Array = npt.NDArray[Any]

RING = 5000  # the most recent margins, to which the map is fitted
CELLS = 2**20  # less of them where there are many classes
LATE = 512  # the most margins that may come before the map is fitted anew


def capacity(outputs: int) -> int:
    """Return how many margins the map is fitted to, for this many outputs.

    >>> capacity(1), capacity(1000)
    (5000, 1048)
    """
    return max(500, min(RING, CELLS // outputs))


def fitted_up_to(count: int) -> int:
    """Return to how many of the margins recorded so far the map is fitted.

    All of a few, then all but a sixteenth at most. It depends on their number alone, so that it
    does not matter when somebody asks.

    >>> [fitted_up_to(count) for count in (5, 31, 33, 1000, 9999)]
    [5, 31, 32, 992, 9728]
    """
    step = 1 << max(min(count // 16, LATE).bit_length() - 1, 0)
    return count - count % step


@dataclass
class Calibrator:
    """Margins and labels of recent examples, each scored before it was learned. Never changed.

    ``labels`` holds the number of the class, or for several labels a row of zeros and ones: each of
    these is a question with two answers. ``counts``, ``masses`` and ``changes`` tell of all
    examples since recording began, margins or not: how often each answer came, with what weight,
    and how often it was another one than just before. ``seen`` counts the examples of the model's
    life, ``recorded`` the margins. ``parameters`` caches the map fitted to the first ``fitted_at``
    of them: it follows from the other fields and is not part of a model file.
    """

    classes: int
    multilabel: bool
    scores: Array
    centres: Array
    labels: Array
    weights: Array
    counts: Array
    masses: Array
    changes: Array
    latest: Array  # the answers of the last example; -1 before the first
    seen: int = 0
    recorded: int = 0
    fitted_at: int = -1
    parameters: Array | None = None

    @staticmethod
    def empty(classes: int, multilabel: bool = False, seen: int = 0) -> Calibrator:
        """Return a calibrator without margins, of a model that has seen some examples."""
        outputs = 1 if classes == 2 and not multilabel else classes
        scores = np.empty((0, outputs), np.float32)
        labels = np.empty((0, classes) if multilabel else 0, np.int32)
        weights = np.empty(0, np.float32)
        questions, answers = (classes, 2) if multilabel else (1, classes)
        counts, changes = np.zeros((questions, answers), np.int64), np.zeros(questions, np.int64)
        tallies = (counts, counts.astype(np.float64), changes, np.full(questions, -1, np.int32))
        return Calibrator(classes, multilabel, scores, scores, labels, weights, *tallies, seen)

    @property
    def most(self) -> int:
        """How many margins are remembered."""
        return capacity(self.scores.shape[1]) + LATE

    def plus(self, labels: Array, weights: Array, scores: Array, centres: Array) -> Calibrator:
        """Return the calibrator that has also seen these examples; the last of them have margins.

        Examples before the first that has a margin, and those too many to be remembered, may come
        without.
        """
        fresh = len(scores)
        new = {
            "scores": bounded(scores).astype(np.float32),
            "centres": bounded(centres).astype(np.float32),
            "labels": labels[len(labels) - fresh :].astype(np.int32),
            "weights": weights[len(labels) - fresh :].astype(np.float32),
        }
        kept: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), rows])[-self.most :]
            for name, rows in new.items()
        }
        told = self._tallied(labels, weights)
        seen, recorded = self.seen + len(labels), self.recorded + fresh
        return replace(self, **kept, **told, seen=seen, recorded=recorded)

    def _tallied(self, labels: Array, weights: Array) -> dict[str, Any]:
        """Return what all examples so far amount to, with some more."""
        answers = self._answers(labels)
        counts, masses, weights = self.counts.copy(), self.masses.copy(), weights.astype(np.float32)
        for question, column in enumerate(answers.T):
            counts[question] += np.bincount(column, minlength=counts.shape[1])
            masses[question] += np.bincount(column, weights, minlength=counts.shape[1])
        both = np.concatenate([self.latest[None], answers])
        changed = (both[1:] != both[:-1]) & (both[:-1] >= 0)
        latest = both[-1].astype(np.int32)
        changes = self.changes + changed.sum(axis=0)
        return {"counts": counts, "masses": masses, "changes": changes, "latest": latest}

    def _answers(self, labels: Array) -> Array:
        """Return one column for each question."""
        return labels.astype(np.int32).reshape(len(labels), len(self.changes))

    def scaled(self, factor: float) -> Calibrator:
        """Return the calibrator of a model whose scores are so many times as large."""
        margins = (bounded(each * np.float64(factor)) for each in (self.scores, self.centres))
        scores, centres = (each.astype(np.float32) for each in margins)
        return replace(self, scores=scores, centres=centres, parameters=None)

    def grown(self, old: Settings, new: Settings, position: Array, classes: int) -> Calibrator:
        """Return the calibrator of more classes (see ``output_map``)."""
        fresh, change = Calibrator.empty(classes), output_map(old, new, position, classes)
        fresh.counts[:, position], fresh.masses[:, position] = self.counts, self.masses
        return replace(
            self,
            classes=classes,
            scores=(self.scores @ change.T).astype(np.float32),
            centres=(self.centres @ change.T).astype(np.float32),
            labels=position[self.labels].astype(np.int32),
            counts=fresh.counts,
            masses=fresh.masses,
            latest=np.where(self.latest < 0, -1, position[self.latest]).astype(np.int32),
            parameters=None,
        )

    def probabilities(self, scores: Array, centre: Array) -> Array:
        """Return the probability of each class, or of each label."""
        if self.classes == 1 and not self.multilabel:
            return np.ones((len(scores), 1))
        due = fitted_up_to(self.recorded)
        if self.parameters is None or self.fitted_at != due or due == 0:
            self.parameters, self.fitted_at = self._fit(self.recorded - due), due
        shares = _shares(self.masses)
        if not self.multilabel:
            return apply(self.parameters[0], scores, centre, shares[0])
        columns = [
            apply(p, scores[:, [k]], centre[[k]], shares[k])[:, 1]
            for k, p in enumerate(self.parameters)
        ]
        return np.column_stack(columns)

    def _fit(self, late: int) -> Array:
        """Return a row of parameters for each question, as it was before the last ``late`` margins.

        The first quarter of a life is left out: a beginner's margins are not those of today.
        """
        count = len(self.weights) - late
        oldest = self.seen - len(self.weights)
        first = max(0, (self.seen - late) // 4 - oldest, count - capacity(self.scores.shape[1]))
        window = slice(first, max(count, first))
        parts = (self.scores, self.centres, self.weights)
        s, c, w = (part[window].astype(np.float64) for part in parts)
        y = self._answers(self.labels)
        rows = []
        for q in range(len(self.changes)):
            own = [q] if self.multilabel else slice(None)
            evidence, shares = self._evidence(q, y[count - 1 if count else 0 :, q], late)
            rows.append(fit(s[:, own], c[:, own], y[window, q], w * evidence, shares))
        return np.stack(rows)

    def _evidence(self, question: int, recent: Array, late: int) -> tuple[float, Array]:
        """Return what the margins are worth, and how often each answer came, ``late`` margins ago.

        Where labels come in long runs, as in rows sorted by class, the model follows the run, and
        margins agree with labels without knowing anything of the rows. So the weight of all margins
        is the number of changes from one label to another, in units of what is expected of labels
        in random order, less those changes that any order has.
        """
        counts, masses = self.counts[question].copy(), self.masses[question].copy()
        changes = int(self.changes[question])
        if late:
            after, weights = recent[-late:], self.weights[-late:].astype(np.float64)
            counts -= np.bincount(after, minlength=len(counts))
            masses -= np.bincount(after, weights, minlength=len(counts))
            changes -= int((recent[1:] != recent[:-1]).sum())
        total = max(int(counts.sum()), 1)
        needed = max(np.count_nonzero(counts) - 1, 0)
        expected = (total - 1) * (1.0 - ((counts / total) ** 2).sum())
        evidence = min(max(changes - needed, 0) / max(expected - needed, 1.0), 1.0)
        return evidence, _shares(np.maximum(masses, 0.0))


def _shares(masses: Array) -> Array:
    """Return how often each answer came, as if each had come once more."""
    return np.asarray((masses + 1.0) / (masses + 1.0).sum(axis=-1, keepdims=True))
