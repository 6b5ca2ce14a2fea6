"""A training run: rows in random order, the table of progressive errors, and warnings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from aggro.cli.model import Model
from aggro.cli.output import label_text
from aggro.io import Batch
from aggro.learner import Array

FIRST = 16  # examples of the first line; each later line has twice as many
ENOUGH = 100  # examples before any warning
LONG = 5  # times as long as by chance: runs of one label that count as sorted rows


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the table: error rates, or mean errors of a regression.

    Errors are those of the first pass, which has ``evaluated`` examples so far; without such
    examples they are None.
    """

    examples: int
    evaluated: int
    since_last: float | None
    so_far: float | None
    baseline: float | None
    updates: int

    def text(self, percent: bool) -> str:
        """Return the line as text."""
        errors = (self.since_last, self.so_far, self.baseline)
        form = ">12.2%" if percent else ">12.5g"
        shown = "".join(f"{'-':>12}" if v is None else format(v, form) for v in errors)
        return f"{self.examples:>12,}{shown}{self.updates:>14,}"


def heading() -> str:
    """Return the heading of the table."""
    names = ("since last", "so far", "constant")
    return f"{'examples':>12}" + "".join(f"{name:>12}" for name in names) + f"{'updates':>14}"


class Progress:
    """Divides batches at the examples where a line is due, and keeps the lines."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.examples = 0
        self.evaluated = 0  # of them, those of the first pass
        self.lines: list[Line] = []
        self.constant = Constant(model.measured)
        self._due = FIRST
        self._loss = 0.0  # at the last line
        self._before = model.loss

    def learn(self, X: Any, y: Array, weights: Array | None) -> list[Line]:
        """Learn a batch; return the lines that became due. Rows of weight zero do not count."""
        counted = np.flatnonzero(np.ones(len(y)) if weights is None else weights)
        if len(counted) == 0:
            return []
        model, shown = self.model, len(self.lines)
        batch = model.begin_batch(X, y, weights)
        step, start = model.step, 0
        while start < len(counted):
            due = self._due - self.examples
            end = start + -(-due // step) * step  # whole steps only
            order = counted[start:end]
            if not model.again:
                self.constant.add(y[order])
                self.evaluated += len(order)
            model.estimator._learn_batch(batch, weights, order, again=model.again)
            self.examples += len(order)
            start = end
            if self.examples >= self._due:
                self.report()
                self._due = 1 << self.examples.bit_length()
        return self.lines[shown:]

    def report(self) -> None:
        """Add a line to the table, unless there are no new examples."""
        examples, evaluated = self._last_counts()
        if self.examples == examples:
            return
        loss, new = self.model.loss - self._before, self.evaluated - evaluated
        recent = (loss - self._loss) / new if new else None
        so_far = baseline = None
        if self.evaluated:
            so_far, baseline = loss / self.evaluated, self.constant.error()
        counts = (self.examples, self.evaluated)
        self.lines.append(Line(*counts, recent, so_far, baseline, self.model.updates))
        self._loss = loss

    def _last_counts(self) -> tuple[int, int]:
        """Return the examples at the last line, and how many of them were evaluated."""
        return (self.lines[-1].examples, self.lines[-1].evaluated) if self.lines else (0, 0)

    def recent_error(self) -> float:
        """Return the error since half of the evaluated examples, or the last line before."""
        counts = [(line.evaluated, (line.so_far or 0.0) * line.evaluated) for line in self.lines]
        last, loss = counts[-1]
        half, before = max((each for each in counts if each[0] <= last / 2), default=(0, 0.0))
        return (loss - before) / (last - half)


class Constant:
    """The constant prediction that a model must beat, and the order of the labels.

    The constant is the most frequent class of all examples, or the mean of the targets so far.
    """

    def __init__(self, measured: str = "mistakes") -> None:
        self.regression = measured != "mistakes"
        self.power = 2 if measured == "squared error" else 1
        self.seen, self.changes = 0, 0  # examples, and changes of the label between them
        self.counts: dict[Any, int] = {}
        self._last: Any = None
        self._total, self._loss = 0.0, 0.0

    def add(self, y: Array) -> None:
        """Add some labels, or compare some targets with the mean so far."""
        if self.regression:
            mean = self._total / self.seen if self.seen else 0.0
            self._loss += float((np.abs(y - mean) ** self.power).sum())
            self._total += float(np.sum(y))
        else:
            self.changes += int(self.seen > 0 and y[0] != self._last)
            self.changes += int(np.count_nonzero(y[1:] != y[:-1]))
            self._last = y[-1]
            for label, count in zip(*np.unique(y, return_counts=True), strict=True):
                self.counts[label] = self.counts.get(label, 0) + int(count)
        self.seen += len(y)

    def error(self) -> float:
        """Return the error of the constant."""
        if self.regression:
            return self._loss / self.seen
        return 1 - max(self.counts.values()) / self.seen

    @property
    def expected_changes(self) -> float:
        """Number of changes of the label if the rows were in random order."""
        shares = np.array(list(self.counts.values())) / max(self.seen, 1)
        return float(self.seen * (1.0 - np.sum(shares**2)))

    @property
    def is_sorted(self) -> bool:
        """Return whether the rows seem to be sorted by their labels."""
        return self.seen >= ENOUGH and self.changes * LONG < self.expected_changes


# -- warnings ----------------------------------------------------------------------------------


def label_warnings(constant: Constant, shuffled: bool) -> Iterable[str]:
    """Yield warnings about the labels of classes."""
    if len(constant.counts) == 1:
        only = next(iter(constant.counts))
        yield (
            f"all {constant.seen:,} labels are {label_text(only)}: the model can only predict this "
            "class; check --label, or add data of other classes"
        )
    elif constant.is_sorted and not shuffled:
        yield (
            f"labels change {constant.changes:,} times in {constant.seen:,} examples, against "
            f"about {constant.expected_changes:,.0f} in random order: the rows seem to be sorted, "
            "so the errors above are too small; leave --no-shuffle out"
        )


def column_warnings(wordy: Iterable[str], counters: Iterable[str]) -> Iterable[str]:
    """Yield warnings about columns: categories that look like texts, and counters."""
    for name in wordy:
        yield (
            f"column {name!r} has a new text in almost every row, which is useless as a category; "
            f"--text {name} reads it as words"
        )
    for name in counters:
        yield (
            f"column {name} only rises or only falls, as row numbers and times do, and counts as "
            "zero; if it is a feature, --shuffle learns it"
        )


def error_warnings(progress: Progress, wordy: bool, selects: bool) -> Iterable[str]:
    """Yield a warning if the model was no better than a constant since half of the examples."""
    if not progress.lines or progress.evaluated < ENOUGH:
        return
    recent, constant = progress.recent_error(), progress.lines[-1].baseline
    if not constant or recent < constant:
        return
    regression = progress.model.regression
    name = "the mean so far" if regression else "the most frequent class"
    errors = [f"{v:.4g}" if regression else f"{v:.1%}" for v in (recent, constant)]
    several = progress.examples > progress.evaluated
    advice = ["--passes 5"] * (selects and not several)
    advice += ["model selection (leave --fast out)"] * (not selects) + ["--text COLUMN"] * wordy
    when = " in the first pass" * several
    yield (
        f"the model is no better than always predicting {name}: its error{when} is {errors[0]}, "
        f"that of the constant {errors[1]}; try {' or '.join([*advice, 'other features'])}"
    )


# -- random order --------------------------------------------------------------------------------

BLOCK = 1 << 28  # bytes of rows that are shuffled together
ROWS_AT_ONCE = 8192  # in a batch


class Shuffled:
    """The batches of a reader with their rows shuffled; the same order in every pass."""

    def __init__(self, batches: Iterable[Batch], seed: int, block: int = BLOCK) -> None:
        self.batches, self.seed, self.block = batches, seed, block
        self.blocks = 0  # of the last pass

    def __iter__(self) -> Iterator[Batch]:
        random = np.random.default_rng(self.seed)
        waiting: list[Batch] = []
        size, self.blocks = 0, 0
        for batch in self.batches:
            waiting.append(batch)
            size += batch.X.nbytes
            if size >= self.block:
                yield from self._shuffled(waiting, random)
                waiting, size = [], 0
        if waiting:
            yield from self._shuffled(waiting, random)

    def _shuffled(self, batches: Sequence[Batch], random: np.random.Generator) -> Iterator[Batch]:
        self.blocks += 1
        whole = Batch.joined(batches)
        order = random.permutation(whole.n_rows)
        for start in range(0, len(order), ROWS_AT_ONCE):
            yield whole.rows(order[start : start + ROWS_AT_ONCE])
