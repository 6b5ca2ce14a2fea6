"""Drift detection of model selection: evaluation schedule and significance test.

Selection ends with one candidate whose steps have become small. When the concept changes, a model
without that history may soon be better, so selection restarts with the best candidate among new
ones.

The core evaluates each row once, before it is learned, by the candidate that predicts, and sums
its bounded loss (``DriftRecord`` in core/constraints/task.hpp): 0 or 1 in classification,
e / (e + s) for an error e and a robust error scale s in regression. Rows of repeated passes are
not evaluated. Each test compares the mean loss of the rows since the previous test with its
running mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aggro.selection.search_space import is_test_due, next_checkpoint

PATIENCE = 2048  # effective rows before drift detection starts
WINDOW = 4096  # rows in the running mean of the loss, about
RATIO = 1.2  # smallest increase of the odds of a loss that is worth a restart
# Standard deviations beyond which an increase is significant. In simulated streams of two million
# stationary rows with error rates between 0.0001 and 0.5, at most 2 % had a false alarm.
DEVIATIONS = 4.25
# A block that is z standard deviations above the last one counts as z², at most this.
LARGEST_SQUARE = 25.0
DISPERSION_RATE = 1 / 16
PERSISTS = 1.5  # standard deviations above the usual loss, after a detection that was right
# An increase with this times the squared deviations of a transient one needs no second block.
MARGIN = 1.2

# Of weights, squared weights, and weighted losses and squared losses.
Sums = tuple[float, float, float, float]
NO_ROWS: Sums = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class DriftDetector:
    """When selection is evaluated, and whether the loss of the best candidate has increased.

    Parameters
    ----------
    start : examples before the first of this selection
    next_checkpoint : examples at the next evaluation step
    origin : sums of the best candidate at the last evaluation step
    block : sums of the best candidates since the last test
    rows : effective number of rows that were tested since ``start``
    mean : running mean of the loss of classifiers; that of regressors is 1/2 by definition
    dispersion : variance of the means of blocks over that of independent rows, by the differences
        of successive blocks, which a slow trend does not raise. Bursts and
        autocorrelation raise it, and with it the threshold of every detection but the first: one
        false alarm costs one restart, repeated ones must not happen.
    drifted : drift was detected; selection restarts with the next row
    alarm : of the last detection, until it is verified: its squared deviations over those that are
        significant, the usual mean loss, and the candidate's sums at the restart
    tolerance : the largest of these squares, with a margin, that proved to be transient. A smaller
        increase must last for two blocks. Since the tolerance grows with every transient detection,
        a stream has only a few of them.
    pending : the last block was such an increase
    last : mean loss of the last block
    """

    start: int = 0
    next_checkpoint: int = next_checkpoint(0)
    origin: Sums = NO_ROWS
    block: Sums = NO_ROWS
    rows: float = 0.0
    mean: float = 0.0
    dispersion: float = 1.0
    drifted: bool = False
    alarm: tuple[float, ...] = ()
    tolerance: float = 1.0
    pending: bool = False
    last: float = 0.0

    def elapsed(self, examples: int) -> int:
        """Return how many of all examples belong to this selection."""
        return examples - self.start

    def is_test_due(self, examples: int) -> bool:
        """Return True if this evaluation step may remove candidates and test for drift."""
        return is_test_due(self.elapsed(examples), self.next_checkpoint - self.start)

    def after_checkpoint(self, examples: int) -> DriftDetector:
        """Return the detector with the next evaluation step scheduled."""
        return replace(self, next_checkpoint=self.start + next_checkpoint(self.elapsed(examples)))

    def followed(self, sums: Sums, origin: Sums) -> DriftDetector:
        """Return the detector when the best candidate changes from one sum of losses to another."""
        return replace(self, block=self._block(sums), origin=origin)

    def tested(self, sums: Sums, regression: bool) -> DriftDetector:
        """Return the detector after a test of the rows since the last one."""
        weight, squares, loss, square_loss = self._block(sums)
        if not (weight > 0.0 and squares > 0.0):
            return replace(self, origin=sums, block=NO_ROWS, drifted=False)
        rows, mean = weight**2 / squares, min(loss / weight, 1.0)
        usual, known = 0.5 if regression else self.mean, self.rows + rows
        drifted, pending, dispersion, alarm = False, False, self.dispersion, self.alarm
        if self.rows > 0.0 and known >= PATIENCE:
            spread = math.sqrt(spread_of(mean, square_loss / weight))
            deviation = spread * deviation_of(usual, min(self.rows, WINDOW), rows)
            first = self.start == 0
            variance = 1.0 if first else dispersion
            increased, exceeds = (
                is_increase(mean, usual, rows, math.sqrt(factor) * deviation)
                for factor in (variance, max(variance, self.tolerance))
            )
            drifted = exceeds or (increased and self.pending)
            pending = increased and not drifted
            if mean > self.last and not (first and drifted):  # a decrease is what learning is for
                difference = spread * deviation_of(usual, rows, rows)
                square = min(((mean - self.last) / difference) ** 2, LARGEST_SQUARE)
                dispersion += DISPERSION_RATE * (square - dispersion)
            if drifted:
                alarm = (((mean - usual) / deviation / DEVIATIONS) ** 2, usual)
        tested = replace(
            self,
            origin=sums,
            block=NO_ROWS,
            dispersion=max(dispersion, 1.0),
            drifted=drifted,
            alarm=alarm,
            pending=pending,
            last=mean,
        )
        if pending:  # compare the next block with the same mean
            return tested
        share = rows / min(known, max(rows, WINDOW))
        return replace(tested, rows=known, mean=self.mean + share * (mean - self.mean))

    def verified(self, sums: Sums) -> DriftDetector:
        """Return the detector after a check of the last detection, at the first test after it.

        ``sums`` are those of the candidate that was the best before. If its loss is usual again, no
        restart was needed: a burst of wrong labels, for example.
        """
        if len(self.alarm) < len(("square", "usual", *NO_ROWS)):  # no restart since then
            return self
        square, usual, *before = self.alarm
        weight, squares, loss, _ = (now - was for now, was in zip(sums, before, strict=True))
        if weight <= 0.0:  # the candidate has left
            return replace(self, alarm=())
        variance = usual * (1.0 - usual) * max(squares, 0.0)  # of the sum of losses
        persists = loss > usual * weight + PERSISTS * math.sqrt(variance)
        tolerance = self.tolerance if persists else max(self.tolerance, MARGIN * square)
        return replace(self, alarm=(), tolerance=tolerance)

    def decided(self, drifted: bool) -> DriftDetector:
        """Return the detector with the decision of the detector that counts for several."""
        overruled = self.drifted and not drifted
        return replace(self, drifted=drifted, alarm=() if overruled else self.alarm)

    def restarted(self, examples: int) -> DriftDetector:
        """Return the detector of a selection that starts after this number of examples."""
        after = examples + next_checkpoint(0)
        kept = {
            name: getattr(self, name) for name in ("origin", "dispersion", "alarm", "tolerance")
        }
        if self.alarm:
            kept["alarm"] = (*self.alarm[:2], *self.origin)
        return DriftDetector(examples, after, **kept)

    def _block(self, sums: Sums) -> Sums:
        parts = zip(self.block, sums, self.origin, strict=True)
        weight, squares, loss, square_loss = (max(had + now - was, 0.0) for had, now, was in parts)
        return weight, squares, loss, square_loss


def deviation_of(mean: float, reference: float, rows: float) -> float:
    """Return the standard deviation of a block's mean loss from a mean of ``reference`` rows.

    One more loss of 1 and of 0 keep the estimate of a rare loss away from zero.
    """
    mean = (mean * reference + 1.0) / (reference + 2.0)
    return math.sqrt(mean * (1.0 - mean) * (1.0 / rows + 1.0 / reference))


def spread_of(mean: float, mean_square: float) -> float:
    """Return the variance of losses over that of losses of 0 and 1 with this mean, at least 1/16.

    >>> spread_of(0.3, 0.3), round(spread_of(0.5, 0.3), 3)
    (1.0, 0.2)
    """
    variance = mean * (1.0 - mean)
    return min(max((mean_square - mean**2) / variance, 1 / 16), 1.0) if variance > 0.0 else 1.0


def is_increase(mean: float, usual: float, rows: float, deviation: float) -> bool:
    """Return True if the mean loss of a block is larger than usual by a relevant, significant part.

    The last term is that of Bernstein's inequality: rare losses are skewed.

    >>> is_increase(0.10, 0.08, 1000, 0.01), is_increase(0.14, 0.08, 1000, 0.01)
    (False, True)
    """
    increase = DEVIATIONS * deviation + DEVIATIONS**2 / (6.0 * rows)
    return mean * (1.0 - usual) > RATIO * usual * (1.0 - mean) and mean > usual + increase
