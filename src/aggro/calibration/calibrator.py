"""Calibration: recorded margins and outcomes of recent examples, and the map fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggro.calibration.probability_map import apply, bounded, fit
from aggro.classes import output_map
from aggro.settings import Settings

Array = npt.NDArray[Any]

RING = 5000  # the most recent margins, to which the map is fitted
CELLS = 2**20  # maximum number of stored scores, which limits the margins of many classes
LATE = 512  # maximum number of new margins before the map is refitted


def capacity(outputs: int) -> int:
    """Return the number of margins to fit the map to, for this number of outputs.

    >>> capacity(1), capacity(1000)
    (5000, 1048)
    """
    return max(500, min(RING, CELLS // outputs))


def fitted_up_to(count: int) -> int:
    """Return the number of recorded margins to fit the map to.

    All of the first margins, later at least fifteen sixteenths. This depends only on their number,
    so that predictions do not depend on when probabilities are requested.

    >>> [fitted_up_to(count) for count in (5, 31, 33, 1000, 9999)]
    [5, 31, 32, 992, 9728]
    """
    step = 1 << max(min(count // 16, LATE).bit_length() - 1, 0)
    return count - count % step


@dataclass
class Calibrator:
    """Margins and outcomes of recent examples, each scored before it was learned; immutable.

    ``labels`` are numbers of classes, or with several labels rows of zeros and ones: each label is
    a question with two answers. ``counts``, ``masses`` and ``changes`` are statistics of all
    examples since recording began: the number of examples of each answer, their weight, and how
    often the answer differed from the previous one. ``seen`` is the number of examples of the
    model, ``recorded`` that of all margins. ``parameters`` caches the map fitted to the first
    ``fitted_at`` margins; it follows from the other fields and is not part of a model file.
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
    latest: Array  # answers of the last example; -1 before the first
    seen: int = 0
    recorded: int = 0
    fitted_at: int = -1
    parameters: Array | None = None

    @staticmethod
    def empty(classes: int, multilabel: bool = False, seen: int = 0) -> Calibrator:
        """Return a calibrator without margins of a model that has learned some examples."""
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
        """Maximum number of stored margins."""
        return capacity(self.scores.shape[1]) + LATE

    def update(
        self, margins: Array, outcomes: Array, weights: Array | None = None, skipped: int = 0
    ) -> Calibrator:
        """Return the calibrator with more examples, in the order in which they were learned.

        Parameters
        ----------
        margins : array of shape (n_recorded, 2, n_outputs)
            Scores of the last examples, and of the reference row, before each was learned. Earlier
            examples have none: the model was untrained, or there are too many.
        outcomes : array of shape (n_examples,) or (n_examples, n_labels)
            Numbers of their classes, or rows of zeros and ones.
        weights : array of shape (n_examples,), optional
            Their weights.
        skipped : int, default=0
            Number of examples without margins because there are too many.
        """
        weights = np.ones(len(outcomes)) if weights is None else weights
        recorded, (scores, centres) = len(margins), margins.transpose(1, 0, 2)
        first = len(outcomes) - recorded
        new = {
            "scores": bounded(scores).astype(np.float32),
            "centres": bounded(centres).astype(np.float32),
            "labels": outcomes[first:].astype(np.int32),
            "weights": weights[first:].astype(np.float32),
        }
        kept: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), rows])[-self.most :]
            for name, rows in new.items()
        }
        counted = self._counted(outcomes, weights)
        seen, recorded = self.seen + len(outcomes), self.recorded + recorded + skipped
        return replace(self, **kept, **counted, seen=seen, recorded=recorded)

    def _counted(self, outcomes: Array, weights: Array) -> dict[str, Any]:
        """Return the statistics of all examples so far, with some more."""
        answers = self._answers(outcomes)
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
        """Return the calibrator for scores multiplied by a factor."""
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

    def relabelled(self, outputs: Sequence[int]) -> Calibrator:
        """Return the calibrator whose label k continues label ``outputs[k]``."""
        chosen = np.array(outputs)
        columns = {n: getattr(self, n)[:, chosen] for n in ("scores", "centres", "labels")}
        rows = {n: getattr(self, n)[chosen] for n in ("counts", "masses", "changes", "latest")}
        return replace(self, classes=len(chosen), **columns, **rows, parameters=None)

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
        """Return the parameters of each question, fitted to all but the last ``late`` margins.

        The first quarter of all examples is left out: early margins differ from current ones.
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
        """Return the weight of the margins, and the share of each answer, ``late`` margins ago.

        If labels come in long runs, as in rows sorted by class, the model follows the run, and
        margins agree with labels independently of the rows. The weight of all margins is therefore
        the number of changes of the label relative to its expectation in random order, both less
        the changes that every order has.
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
    """Return the share of each answer, with one more example of each."""
    return np.asarray((masses + 1.0) / (masses + 1.0).sum(axis=-1, keepdims=True))
