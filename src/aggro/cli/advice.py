"""What a person should be told about the data and the model, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.cli.metrics import Classification, Regression, label_text
from aggro.learner import Array

if TYPE_CHECKING:
    from aggro.cli.watch import Line

ENOUGH = 100  # examples before anything is said
ENOUGH_TESTS = 20  # of test data
LONG = 5  # times as long as chance would make them: runs of one label


class Runs:
    """How often the label changes from one example to the next, and how often by chance."""

    def __init__(self) -> None:
        self.changes, self.seen = 0, 0
        self.last: Any = None
        self.counts: dict[Any, int] = {}

    def meet(self, y: Array) -> None:
        """Take in some labels."""
        if self.seen:
            self.changes += int(y[0] != self.last)
        self.changes += int(np.count_nonzero(y[1:] != y[:-1]))
        for label, count in zip(*np.unique(y, return_counts=True), strict=True):
            self.counts[label] = self.counts.get(label, 0) + int(count)
        self.last, self.seen = y[-1], self.seen + len(y)

    @property
    def expected(self) -> float:
        """How many changes rows in random order would have."""
        shares = np.array(list(self.counts.values())) / max(self.seen, 1)
        return float(self.seen * (1.0 - np.sum(shares**2)))

    @property
    def are_long(self) -> bool:
        """Whether rows look sorted by their labels."""
        return self.seen >= ENOUGH and self.changes * LONG < self.expected


def of_labels(runs: Runs, shuffled: bool) -> Iterable[str]:
    """Yield what the labels of classes give rise to."""
    if len(runs.counts) == 1:
        only = next(iter(runs.counts))
        yield (
            f"all {runs.seen:,} labels are {label_text(only)}: a model of one class gives one "
            "answer; check --label, or give data of other classes too"
        )
    elif runs.are_long and not shuffled:
        yield (
            f"labels change {runs.changes:,} times in {runs.seen:,} examples, where random "
            f"order has about {runs.expected:,.0f}: rows seem to be sorted, and errors judged on "
            "the way are then too good; --shuffle learns them in random order"
        )


def of_columns(wordy: Iterable[str]) -> Iterable[str]:
    """Yield what is to be said of columns that were taken for categories."""
    for name in wordy:
        yield (
            f"column {name!r} has a new text in almost every row and says nothing as a category; "
            f"--text {name} reads it as words"
        )


def of_counters(names: Iterable[str]) -> Iterable[str]:
    """Yield what is to be said of columns that only rise or only fall."""
    for name in names:
        yield (
            f"column {name} only rises or only falls, as the numbers of rows and times do, and "
            "counts as zero; if it is a feature, --shuffle learns it"
        )


def of_error(
    lines: Sequence[Line], regression: bool, wordy: bool, open_settings: bool
) -> Iterable[str]:
    """Yield a warning if the model is no better than a constant answer, since half of the way."""
    if not lines or lines[-1].examples < ENOUGH or lines[-1].baseline == 0:
        return
    recent, constant = error_since_half(lines), lines[-1].baseline
    if recent < constant:
        return
    shown = (f"{v:.4g}" if regression else f"{v:.1%}" for v in (recent, constant))
    what = "the mean so far" if regression else "the most frequent class"
    advice = ["--passes 5"] if open_settings else ["the choices that are made without --fast"]
    advice += ["--text COLUMN"] * wordy
    yield (
        "the model is no better than answering {2} always: its error is {0}, that of the constant "
        "{1}; try {3}, or other features".format(*shown, what, " or ".join(advice))
    )


def of_test(figures: Classification | Regression) -> Iterable[str]:
    """Yield a warning if predictions for test data are worse than the best constant answer."""
    if figures.count < ENOUGH_TESTS or figures.error <= figures.constant_error:
        return
    if isinstance(figures, Classification):
        what, shown = "the most frequent class", "{:.1%}"
    else:
        what, shown = "the median", "{:.4g} on average"
    yield (
        f"on the test data the model is worse than answering {what} always: its error is "
        f"{shown.format(figures.error)}, that of the constant "
        f"{shown.format(figures.constant_error)}; check that the test data are like those "
        "that were learned, or try --shuffle, --passes 5 or other --features"
    )


def error_since_half(lines: Sequence[Line]) -> float:
    """Return the error since half of the examples, as far as lines were written then."""
    last = lines[-1]
    before = [line for line in lines if line.examples <= last.examples / 2]
    if not before:
        return last.so_far
    made = last.so_far * last.examples - before[-1].so_far * before[-1].examples
    return made / (last.examples - before[-1].examples)
