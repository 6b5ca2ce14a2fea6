"""Model selection in a stream: dicts are learned as the rows of one growing CSR matrix."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from aggro import _core
from aggro.estimators import counters
from aggro.learner import Array, Learner
from aggro.selection.common import best_alone, check_coef, widened
from aggro.selection.feature_maps import MOST_COLUMNS, FeatureMaps
from aggro.selection.report import SelectionReport
from aggro.selection.representation import NEVER
from aggro.selection.search_space import FILLED
from aggro.selection.selection import ModelSelection
from aggro.settings import error_name
from aggro.transaction import Transaction

GROWN = 64  # new features after which the candidates must fit into the memory limit again

_core.give_signatures(_core.Stream)


@dataclass(frozen=True)
class SparseRows:
    """The arrays of a CSR matrix; as much of its interface as is needed without SciPy."""

    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def __getitem__(self, rows: Any) -> SparseRows:
        numbers = np.arange(self.shape[0])[rows]
        parts = [slice(self.indptr[i], self.indptr[i + 1]) for i in numbers]
        lengths = [part.stop - part.start for part in parts]
        none = self.data[:0], self.indices[:0]
        return SparseRows(
            np.concatenate([none[0], *(self.data[part] for part in parts)]),
            np.concatenate([none[1], *(self.indices[part] for part in parts)]),
            np.cumsum([0, *lengths]),
            (len(numbers), self.shape[1]),
        )

    def narrowed(self, columns: int) -> SparseRows:
        """Return the first columns."""
        kept = self.indices < columns
        starts = np.concatenate([[0], np.cumsum(kept)])[self.indptr]
        return SparseRows(self.data[kept], self.indices[kept], starts, (self.shape[0], columns))

    def copy(self) -> SparseRows:
        """Return a copy whose values may be changed."""
        return replace(self, data=self.data.copy())


@dataclass(frozen=True)
class StreamSelection:
    """A model selection, and statistics of the columns of a stream.

    Parameters
    ----------
    learner : ModelSelection
        The candidates.
    counters : dict or None
        Columns that only rise or only fall; None if they are not detected.
    entries : int
        Number of features of the first example, which shows whether the stream is sparse.
    width : int
        Columns of the rows that were learned.
    checked : int
        Columns for which the candidates were checked. It is below ``width`` after
        an interrupt between learning and the check.
    """

    learner: ModelSelection
    counters: counters.Counters | None = None
    entries: int = 0
    width: int = 0
    checked: int = 0

    @staticmethod
    def begin(learner: ModelSelection, buckets: int) -> StreamSelection:
        """Return a selection around one that has learned nothing; 0 buckets without hashing."""
        settings = learner.settings
        sought = settings.scale == "auto" and settings.task != "regression"
        blank = SparseRows(np.empty(0), np.empty(0, np.int32), np.zeros(2, np.int64), (1, 0))
        known = counters.begin(blank) if sought else None
        return StreamSelection(learner, known, 0, buckets, learner.features)

    @property
    def examples(self) -> int:
        """Number of examples learned from."""
        return self.learner.examples

    @property
    def most_columns(self) -> int:
        """Maximum number of columns of the candidates; features beyond it count as zero.

        There is none if linear candidates can continue alone. Otherwise it is the limit of feature
        maps that are selected, or the number of columns of the first example if that is larger.
        """
        learner = self.learner
        maps = learner.representations
        if not isinstance(maps, FeatureMaps):
            return NEVER
        kinds = [each.settings.features for each in learner.learners] or maps.kinds
        continues = learner.settings.features == "auto" and "linear" in kinds
        return NEVER if continues else max(MOST_COLUMNS, self.entries)

    @property
    def several(self) -> bool:
        """Whether an example has a set of labels."""
        return self.learner.settings.task == "multilabel"

    @property
    def ignored(self) -> list[int]:
        """Slots of features that count as zero: counters."""
        slots: list[int] = counters.found(self.counters).tolist()
        return slots

    def after(self, X: SparseRows) -> tuple[StreamSelection, SparseRows]:
        """Return the statistics of the columns after some rows, and the rows to learn."""
        new = self if self.examples else replace(self, entries=int(X.indptr[1]))
        new = new if X.shape[1] == self.width else replace(new, width=X.shape[1])
        known = self.counters
        if known is None or known["rows"] >= counters.ROWS:
            return new, X
        if not self.examples and self.width:  # names are hashed: all columns are there
            known = counters.begin(X)
        known, X = counters.follow(counters.widened(known, X.shape[1], self.width), X, None)
        return replace(new, counters=known), X

    def fit_width(self) -> StreamSelection:
        """Remove candidates that do not suit the present number of features."""
        learner = self.learner
        if learner.settings.scale == "auto" and FILLED * self.entries < self.width:
            centred = [each for each in learner.learners if each.settings.scale == "standard"]
            others = [each for each in learner.learners if each not in centred]
            if centred and others:
                learner.remove(others, centred)
        if self.width // GROWN > self.checked // GROWN:
            learner.fit_into_memory()
        return replace(self, checked=self.width)


class SelectingStream(_core.Stream):
    """A stream with a model selection until ``keep_best()``, and then one model in the core."""

    C: Any
    algorithm: Any
    params: dict[str, Any]
    _buckets: int
    _selection: StreamSelection | None
    _settings: Any
    _learner: Any
    _install: Any
    _become: Any

    # -- called by the core ------------------------------------------------------------------

    def _learn_rows(
        self,
        data: Array,
        slots: Array,
        starts: Array,
        targets: Array,
        weights: Array | None,
        replaced: list[int],
    ) -> None:
        """Learn rows; the slots of ``replaced`` get new features. The core undoes the rest."""
        self._fit_width()  # the last check may have been interrupted
        selection = self._selection
        assert selection is not None
        needed = int(slots.max()) + 1 if len(slots) else 1
        X = SparseRows(data, slots, starts, (len(starts) - 1, max(selection.width, needed)))
        known, X = selection.after(X)
        if known is not selection:
            if known.counters is not selection.counters:
                self._warn_of_counters(known)
            self._selection = known
        learner = known.learner
        if needed > learner.features:
            width = min(needed, known.most_columns)
            if width > learner.features:
                learner = widened(learner, width)
                self._selection = replace(known, learner=learner)
            X = X.narrowed(width) if width < needed else X
        rows = _core.Rows(X.data, X.indices, X.indptr, learner.features)
        batch: dict[str, Any] = {"weights": weights}
        if targets.dtype == np.int64:
            batch["labels"] = targets
        else:
            batch["values"] = targets.reshape(len(starts) - 1, -1)
        try:
            if replaced:
                with Transaction(learner.checkpoint(rows, **batch)):
                    self._forget(replaced)
                    learner.learn(rows, **batch)
            else:
                learner.learn(rows, **batch)
        except ValueError as error:
            reason = re.sub(r"^row \d+: ", "", str(error))
            raise ValueError(f"this example cannot be learned: {reason}") from None
        self._fit_width()

    def _fit_width(self) -> None:
        """Remove candidates that do not suit the features, if features were added."""
        selection = self._selection
        assert selection is not None
        if selection.width > selection.checked:
            self._selection = selection.fit_width()

    def _warn_of_counters(self, selection: StreamSelection) -> None:
        if slots := selection.ignored:
            names = dict(enumerate(self._names()))
            listed = ", ".join(repr(names.get(slot, slot)) for slot in slots)
            warnings.warn(
                f"{listed} only rises or only falls, as the numbers of rows and times do, and such "
                "a feature would spoil predictions for other values of it; it counts as zero from "
                "here on. If it is a feature, shuffle the examples.",
                stacklevel=3,
            )

    def _forget(self, slots: list[int]) -> None:
        assert self._selection is not None
        for learner in self._selection.learner.learners:
            if learner.settings.features == "linear":  # feature maps follow the values of a column
                for slot in slots:
                    learner.model.forget(slot)

    def _scores(self, data: Array, slots: Array) -> list[float]:
        """Return the scores of one row."""
        assert self._selection is not None
        learner = self._selection.learner
        if not learner.examples:
            return [0.0] * learner.outputs
        if len(slots) and slots.max() >= learner.features:  # of examples waiting for their batch
            known = slots < learner.features
            data, slots = data[known], slots[known]
        rows = _core.Rows(data, slots, np.array([0, len(slots)]), learner.features)
        scores: list[float] = learner.scores(rows)[0].tolist()
        return scores

    def _grow_selection(self, classes: list[Any], position: list[int]) -> None:
        """Add classes; ``position[c]`` is the new number of class c."""
        selection, count = self._selection, len(classes)
        assert selection is not None
        learner = selection.learner.add_classes(self._settings(count), np.array(position), count)
        self._renumber_classes(classes, position)
        self._selection = replace(selection, learner=learner)

    def _relabel_selection(self, classes: list[Any], outputs: list[int]) -> None:
        """Continue with more labels (see ``continued_labels``)."""
        selection = self._selection
        assert selection is not None
        learner = selection.learner.relabelled(outputs)
        self._relabel(classes, outputs)
        self._selection = replace(selection, learner=learner)

    # -- what was selected -------------------------------------------------------------------

    def keep_best(self) -> None:
        """End the selection: keep the best candidate alone, as if there had been no other.

        Its weights stay the same, to the last bit; learning and predicting then cost a small part
        of the time and memory. Parameters that were selected become those of the best candidate.
        Without a selection nothing happens.
        """
        with self._lock:
            selection = self._selection
            if selection is not None:
                chosen, best = selection.learner.choice, best_alone(selection.learner)
                alone = best if isinstance(best, Learner) else replace(selection, learner=best)
                self._become(chosen, alone)

    def _searched(self, name: str) -> ModelSelection:
        selection = self._selection
        if selection is None or not selection.learner.selects:
            raise AttributeError(
                f"{name} exists only while something is selected: make the model without an "
                "algorithm, or with C, metric, scale or features 'auto', and use it before "
                "keep_best()."
            )
        return selection.learner

    @property
    def C_(self) -> float:
        """The C in use: that of the best candidate while C is selected."""
        with self._lock:
            selection = self._selection
            return float(self._settings(2).C if selection is None else selection.learner.C)

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best settings so far of those that are selected; empty if there are none."""
        with self._lock:
            return {} if self._selection is None else dict(self._selection.learner.choice)

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """The candidates of the selection: settings, mistakes and recent record of each."""
        with self._lock:
            return self._searched("candidates_").candidates()

    def selection_report(self, path: str | Path | None = None) -> SelectionReport:
        """Return the candidates and by how much the best one is ahead: a table, once printed.

        With a path, a picture of it is drawn there.
        """
        from aggro.plot import with_picture

        with self._lock:
            return with_picture(self._searched("selection_report()").report(), path)

    def plot_candidates(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each candidate against C; return the figure."""
        from aggro.plot import draw_candidates

        return draw_candidates(self.candidates_, error_name(self._settings(2)), path)

    # -- counters and weights ----------------------------------------------------------------

    def _counts(self) -> tuple[float, float, float]:
        """Return mistakes, updates and loss."""
        if self._selection is None:
            return self._progress()
        progress = self._selection.learner.progress
        return progress.mistakes, progress.updates, progress.loss

    def _coefficients(self) -> tuple[Array, Array]:
        """Return the weights that predict, slots x outputs, and the intercepts."""
        if self._selection is None:
            weights, intercepts = self._weights()
        else:
            learner = self._selection.learner
            check_coef(learner, "coef_")
            weights, intercepts = learner.coef().T.copy(), learner.intercept()
        weights[self._ignored] = 0.0
        return weights, intercepts
