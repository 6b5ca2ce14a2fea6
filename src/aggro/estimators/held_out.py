"""Early stopping: held-out rows, and the quality of predictions on them."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggro import _core
from aggro.checks import check_number
from aggro.classes import predicted
from aggro.estimators.passes import (
    EvaluatePasses,
    KeepBestPass,
    Passes,
    Qualities,
    StopAfterPass,
    StopByHeldOutRows,
    StopByLoss,
    permutation,
)
from aggro.learner import Array
from aggro.selection.common import (
    Kind,
    candidate_scores,
    is_mapped,
    keep_smaller_C,
    kinds_considered,
)
from aggro.settings import CRITERIA
from aggro.sklearn_api import check_random_state, draw_seed
from aggro.training_batch import TrainingBatch

# Regressors with early_stopping="auto" hold out one row in REGRESSION_SHARE, within these limits.
REGRESSION_SHARE, REGRESSION_LEAST, REGRESSION_MOST = 10, 50, 1000
# With mapped features, quality rises and falls smoothly, and passes are expensive.
MAPPED_DECLINE = 2


def check_early_stopping(estimator: Any) -> None:
    """Raise unless the parameters of early stopping are valid."""
    stops, fraction = estimator.early_stopping, estimator.validation_fraction
    if isinstance(stops, str) and stops != "auto":
        raise ValueError(f"early_stopping={stops!r} is not valid; give True, False, 'auto'.")
    check_number("validation_fraction", fraction, above=0)
    if fraction >= 1:
        raise ValueError(
            f"validation_fraction={fraction!r} is not valid; give a number between 0 and 1."
        )


# -- the rule that ends the passes --------------------------------------------------------------


def classifier_rule(
    estimator: Any,
    passes: Passes,
    learner: Any,
    batch: TrainingBatch,
    y: Array,
    labels: Array | None,
    weights: Array | None,
) -> StopByLoss:
    """Return the rule that ends the passes of a classifier.

    ``labels`` are the classes, None for an indicator matrix; ``weights`` are those of the rows
    without class weights.
    """
    stops = getattr(estimator, "early_stopping", False)
    if stops == "auto":
        if not _selects_pass(passes, learner) or learner.settings.average != "auto":
            return StopByLoss(*passes.patience)
        rows = _rows_for_best_pass(passes, batch)
        if rows is None:
            return _cross_validated(
                passes, learner, batch, lambda some: _negative_log_loss(batch, some)
            )
        keep_smaller_C(learner)
        qualities = _negative_log_loss(batch, rows)
        keep_best = (rows, qualities, batch.checkpoint, *passes.patience)
        return KeepBestPass(*keep_best, decline=_decline(learner))
    if not stops:
        return StopByLoss(*passes.patience)
    numbers = None if labels is None else np.unique(y, return_inverse=True)[1]
    rows = hold_out(len(y), estimator.validation_fraction, passes.random_state, numbers)
    truth, some = y[rows], None if weights is None else weights[rows]

    def accuracy(scores: Array) -> float:
        return accuracy_of(predicted(labels, scores), truth, some)

    return StopByHeldOutRows(rows, _qualities(batch, rows, accuracy), *passes.patience)


def regressor_rule(
    estimator: Any, passes: Passes, learner: Any, batch: TrainingBatch, values: Array
) -> StopByLoss:
    """Return the rule that ends the passes of a regressor, by loss or on held-out rows."""
    stops = getattr(estimator, "early_stopping", False)
    if stops == "auto":
        return _best_pass_of_regressor(passes, learner, batch, values)
    if not stops:
        return StopByLoss(*passes.patience)
    rows = hold_out(len(values), estimator.validation_fraction, passes.random_state)
    some = None if batch.weights is None else batch.weights[rows]
    quality = Determination(values[rows], values, some)
    qualities = _qualities(batch, rows, quality)
    return StopByHeldOutRows(rows, qualities, *passes.patience)


def _best_pass_of_regressor(
    passes: Passes, learner: Any, batch: TrainingBatch, values: Array
) -> StopByLoss:
    """Return the rule that restores the best pass and then learns the held-out rows."""
    count = min(len(values) // REGRESSION_SHARE, REGRESSION_MOST)
    if not _selects_pass(passes, learner):
        return StopByLoss(*passes.patience)

    def qualities(rows: Array) -> Qualities:
        some = None if batch.weights is None else batch.weights[rows]
        quality = Determination(values[rows], values, some, learner.settings.criterion)
        return _qualities(batch, rows, quality)

    if count < REGRESSION_LEAST:
        return _cross_validated(passes, learner, batch, qualities, needs_loss=False)
    order = permutation(len(values), draw_seed(passes.random_state))
    rows = np.sort(order[:count])
    keep_smaller_C(learner)
    keep_best = (rows, qualities(rows), batch.checkpoint, *passes.patience)
    return KeepBestPass(*keep_best, needs_loss=False, decline=_decline(learner))


def _decline(learner: Any) -> int | None:
    """Return how many passes without any improvement end the passes."""
    return MAPPED_DECLINE if is_mapped(learner) else None


def _selects_pass(passes: Passes, learner: Any) -> bool:
    """Return whether held-out rows may select the pass: of several, by a new learner."""
    return passes.max_iter > 1 and passes.tol is not None and learner.examples == 0


def _rows_for_best_pass(passes: Passes, batch: TrainingBatch) -> Array | None:
    """Return the rows that evaluate the passes of a classifier."""
    targets = batch.targets
    classes = targets if targets.ndim == 1 else np.zeros(len(targets), int)
    seed = draw_seed(passes.random_state)
    return rows_to_hold_out(classes, permutation(len(classes), seed))


def _negative_log_loss(batch: TrainingBatch, rows: Array) -> Qualities:
    targets = batch.targets[rows]
    some = None if batch.weights is None else batch.weights[rows]
    return _qualities(batch, rows, lambda scores: -scaled_log_loss(scores, targets, some))


def _qualities(
    batch: TrainingBatch, held_out: Array, quality: Callable[[Array], float]
) -> Qualities:
    """Return the quality of the scores of held-out rows, for the candidates of a learner."""
    rows = batch.rows_at(held_out)

    def qualities(learner: Any) -> dict[Any, float]:
        try:
            scores = candidate_scores(learner, rows)
        except ValueError as error:  # the caller numbers all rows
            place = re.compile(r"^row (\d+)")
            words = place.sub(lambda found: f"row {held_out[int(found[1])]}", str(error))
            raise ValueError(words) from None
        return {candidate: quality(each) for candidate, each in scores.items()}

    return qualities


# -- trials on few rows ---------------------------------------------------------------------------


# If features are mapped, too few rows to hold some out, from FEWEST on, are divided into FOLDS
# parts. Each trial holds one of them out, until EVALUATED rows have evaluated the passes.
FEWEST, FOLDS, EVALUATED = 100, 5, 600
CLEAR = 2.0  # standard errors by which mapped features must be better than linear ones


def _cross_validated(
    passes: Passes,
    learner: Any,
    batch: TrainingBatch,
    qualities: Callable[[Array], Qualities],
    *,
    needs_loss: bool = True,
) -> StopByLoss:
    """Return the rule that ends after the best pass of trials, if features are mapped."""
    counted = np.arange(batch.count) if batch.weights is None else np.flatnonzero(batch.weights)
    if not is_mapped(learner) or len(counted) < FEWEST:
        return StopByLoss(*passes.patience)
    order = permutation(counted, draw_seed(passes.random_state))
    keep_smaller_C(learner)
    trials: list[list[dict[Kind, float]]] = []
    for fold in range(min(FOLDS, -(-EVALUATED * FOLDS // len(order)))):
        rows = np.sort(order[fold::FOLDS])
        named = _by_kind(qualities(rows))
        rule = EvaluatePasses(rows, named, *passes.patience, needs_loss=needs_loss)
        trials.append(rule.record)
        replace(passes, verbose=0).run(copy.deepcopy(learner), batch, rule)
    return StopAfterPass(*best_of_trials(trials), passes.max_iter)


def _by_kind(qualities: Qualities) -> Qualities:
    """Return qualities keyed by what a candidate is in every trial."""

    def named(learner: Any) -> dict[Any, float]:
        found = qualities(learner)
        return {kind: found[each] for kind, each in kinds_considered(learner).items()}

    return named


def best_of_trials(trials: Sequence[Sequence[dict[Kind, float]]]) -> tuple[int, Kind]:
    """Return the pass, from 1, and the kind of candidate with the best mean quality.

    Another representation than the first, the linear one, must be clearly better than that.

    >>> best_of_trials([[{(0, 0): 0.1}, {(0, 0): 0.5}], [{(0, 0): 0.3}, {(0, 0): 0.2}]])
    (2, (0, 0))
    >>> clear, chance = {(0, 0): 0.1, (1, 0): 0.5}, {(0, 0): 0.1, (1, 0): 0.0}
    >>> best_of_trials([[clear], [clear]]), best_of_trials([[clear], [chance]])
    ((1, (1, 0)), (1, (0, 0)))
    """
    qualities = {
        (number + 1, kind): np.array([trial[number][kind] for trial in trials])
        for kind in trials[0][0]
        if all(kind in trial[0] for trial in trials)
        for number in range(min(map(len, trials)))
    }
    best: dict[int, tuple[int, Kind]] = {}  # of each representation
    for each in sorted(qualities, key=lambda each: -qualities[each].mean()):
        best.setdefault(each[1][0], each)
    simplest, *others = (best[which] for which in sorted(best))
    for each in others:
        with np.errstate(invalid="ignore"):  # of infinite losses
            lead = qualities[each] - qualities[simplest]
            chance = lead.std(ddof=1) / np.sqrt(len(lead))
        if lead.mean() > CLEAR * chance:
            return each
    return simplest


# -- held-out rows --------------------------------------------------------------------------------


SHARE, LEAST, MOST = 20, 150, 1000  # one row in SHARE is held out, between LEAST and MOST of them


def rows_to_hold_out(classes: Array, order: Array) -> Array | None:
    """Return the first few rows of this order, or None if there are too few rows.

    No row is held out of a class with fewer rows than ``SHARE``.

    >>> classes = np.repeat([0, 1, 2], [3000, 600, 5])
    >>> kept = rows_to_hold_out(classes, np.arange(3605)[::-1])
    >>> len(kept), np.bincount(classes[kept]).tolist()
    (175, [0, 175])
    >>> rows_to_hold_out(classes[:600], np.arange(600)) is None
    True
    """
    if len(classes) < SHARE * LEAST:
        return None
    first = order[: min(len(classes) // SHARE, MOST)]
    many = np.bincount(classes) >= SHARE
    return np.sort(first[many[classes[first]]])


def hold_out(count: int, fraction: float, seed: Any, classes: Array | None = None) -> Array:
    """Return the sorted rows to hold out at random, with the shares of the classes if given.

    The rows are those of scikit-learn's ``ShuffleSplit`` and ``StratifiedShuffleSplit``.

    >>> hold_out(10, 0.2, 0).tolist()
    [2, 8]
    >>> hold_out(10, 0.2, 0, np.repeat([0, 1], 5)).tolist()
    [0, 7]
    """
    random, held_out = check_random_state(seed), int(np.ceil(fraction * count))
    kept = count - held_out
    if kept == 0 or (classes is not None and min(held_out, kept) < classes.max() + 1):
        raise ValueError(
            f"validation_fraction={fraction!r} holds {held_out} of {count} rows out; of each class "
            "at least one row must be held out and one learned: give more rows or another fraction."
        )
    if classes is None:
        return np.sort(random.permutation(count)[:held_out]).astype(np.int64)
    sizes = np.bincount(classes)
    if sizes.min() < 2:
        raise ValueError(
            "The least populated class in y has only 1 member, which is too few to hold rows of "
            "each class out; give at least 2 rows of each class, or early_stopping=False."
        )
    members = np.split(np.argsort(classes, kind="mergesort"), np.cumsum(sizes)[:-1])
    learned = _shares(sizes, kept, random)
    tested = _shares(sizes - learned, held_out, random)
    parts = []
    for rows, first, some in zip(members, learned, tested, strict=True):
        parts.append(rows[random.permutation(len(rows))][first : first + some])
    return np.sort(np.concatenate(parts)).astype(np.int64)


def _shares(sizes: Array, draws: int, random: Any) -> Array:
    """Return the number of rows to draw of each class, as proportional as possible."""
    exact = sizes / sizes.sum() * draws
    counts = np.floor(exact)
    missing = int(draws - counts.sum())
    remainder = exact - counts
    for value in np.sort(np.unique(remainder))[::-1]:
        tied = np.flatnonzero(remainder == value)
        some = min(len(tied), missing)
        counts[random.choice(tied, size=some, replace=False)] += 1
        missing -= some
        if missing == 0:
            break
    rows: Array = counts.astype(int)
    return rows


# -- qualities ------------------------------------------------------------------------------------


def accuracy_of(answers: Array, truth: Array, weights: Array | None = None) -> float:
    """Return the share of rows, weighted, of which all labels are predicted correctly."""
    right = answers == truth if truth.ndim == 1 else (answers == (truth > 0)).all(axis=1)
    return mean_of(right, weights)


def mean_of(numbers: Array, weights: Array | None) -> float:
    """Return the weighted mean; weights that are all zero are ignored.

    >>> mean_of(np.array([1.0, 2.0]), np.array([3.0, 1.0])), mean_of(np.array([1, 2]), np.zeros(2))
    (1.25, 1.5)
    """
    if weights is None or not weights.any():
        return float(np.mean(numbers))
    return float(np.average(numbers, weights=weights))


def _spread(values: Array, weights: Array | None, power: int) -> float:
    """Return the mean power of the distances to the mean, summed over columns.

    It is exactly 0 if all rows of positive weight agree.
    """
    there = values if weights is None or not weights.any() else values[weights > 0]
    if (there == there[0]).all():
        return 0.0  # rounding may change the mean of equal numbers
    centre = np.array([mean_of(column, weights) for column in values.T])
    return mean_of((np.abs(values - centre) ** power).sum(axis=1), weights)


def r2_score(truth: Array, scores: Array, weights: Array | None = None) -> float:
    """Return the mean of R² over the columns; constant columns have 1 if predicted exactly, else 0.

    >>> truth = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> r2_score(truth, truth), r2_score(truth, truth + 1)
    (1.0, -0.25)
    """
    residual = ((truth - scores) ** 2).T
    centre = np.array([mean_of(column, weights) for column in truth.T])
    total = ((truth - centre) ** 2).T
    share = []
    for missed, spread in zip(residual, total, strict=True):
        error, variance = mean_of(missed, weights), mean_of(spread, weights)
        share.append(1 - error / variance if variance else float(error == 0))
    return float(np.mean(share))


class Determination:
    """The quality of predictions of held-out rows: 1 − mean error / that of the mean target.

    With squared errors it is R². Equal held-out targets have no error of the mean. The unit is then
    that of all targets or, if these are equal too, that of the largest.

    >>> quality = Determination(np.array([[2.0], [2.0]]), np.array([[2.0], [2.0], [2.0]]))
    >>> quality(np.array([[2.0], [2.0]])), quality(np.array([[1.0], [1.0]]))
    (1.0, 0.75)
    """

    def __init__(
        self,
        truth: Array,
        values: Array,
        weights: Array | None = None,
        criterion: str = "squared",
    ) -> None:
        self.largest = float(np.abs(values).max()) or 1.0  # squares of huge targets would overflow
        self.truth, everything = truth / self.largest, values / self.largest
        self.weights, self.power = weights, 1 + CRITERIA.index(criterion)
        spread = _spread(self.truth, weights, self.power)
        self.unit = spread or _spread(everything, None, self.power) or 1.0

    def __call__(self, scores: Array) -> float:
        """Return the quality of these scores."""
        with np.errstate(over="ignore"):
            errors = (np.abs(self.truth - scores / self.largest) ** self.power).sum(axis=1)
            return 1 - mean_of(errors, self.weights) / self.unit


def scaled_log_loss(scores: Array, targets: Array, weights: Array | None = None) -> float:
    """Return the mean log loss of scores multiplied by the factor that minimises it.

    Margins grow with passes and with C without being better; the loss of the margins themselves
    would prefer more passes and a larger C. ``targets`` are the numbers of the classes, or 0 and 1
    for each of several labels.

    >>> scores, classes = np.array([[2.0], [1.0], [-3.0], [1.0]]), np.array([1, 1, 0, 0])
    >>> round(scaled_log_loss(scores, classes), 3), round(scaled_log_loss(9 * scores, classes), 3)
    (0.45, 0.45)
    """
    labels, values = (targets, None) if targets.ndim == 1 else (None, targets)
    return _core.scaled_log_loss(scores, labels, values, weights)
