"""Model selection: candidates learn from the same examples, and the best one predicts."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from aggro import _core
from aggro.learner import Array, Learner
from aggro.selection import ensemble
from aggro.selection.candidates import (
    Candidates,
    best_of,
    by_representation,
    chosen_of,
    rank_first,
    record_of,
    remaining,
)
from aggro.selection.drift import DriftDetector
from aggro.selection.learners import (
    History,
    ModelStates,
    Views,
    clear_record,
    first_learners,
    move_grid,
    narrowed,
    select,
    within_grid,
)
from aggro.selection.memory import affordable, fits_into_memory, importance_of
from aggro.selection.report import removed_rows
from aggro.selection.representation import NEVER
from aggro.selection.search_space import FIRST_REMOVAL
from aggro.settings import Settings, check_same_layout, selected_axes
from aggro.transaction import Checkpoint, Transaction, checkpoint_of


class Record(Protocol):
    """The margins of the rows of a selection, recorded by its owner."""

    def checkpoint(self) -> Checkpoint:
        """Return what restores the record."""

    def add_margins(self, targets: dict[str, Any], margins: Array) -> None:
        """Add the targets and the margins of a block, within its transaction."""


class ModelSelection(Candidates):
    """Candidates that learn from the same examples; it behaves like the best of them.

    A candidate is a representation of the input with settings: metric, scale and C. Candidates that
    differ in C alone share a learner. The best one has the fewest recent mistakes (regression: the
    least recent error), each example being predicted before it is learned. Candidates that are far
    behind are removed. An ensemble predicts the first examples of two classes (see ``ensemble``).
    After drift, selection restarts with the best candidate among new ones.
    """

    # -- learning ----------------------------------------------------------------------------------

    def learn(
        self,
        rows: Any,
        *,
        order: Array | None = None,
        undo: bool = True,
        threads: int = 1,
        reference: _core.Rows | None = None,
        margins: Array | None = None,
        record: Record | None = None,
        again: bool = False,
        **targets: Any,
    ) -> None:
        """Learn rows with all candidates; if it raises, the selection is unchanged.

        After an interrupt all candidates have learned the same rows. If the representation is not
        the identity, rows are learned in blocks, and each block is learned completely or not at
        all.

        Parameters
        ----------
        rows : rows of the core, or what the representations encode
            Rows to learn. Rows of weight zero are ignored.
        order : array, optional
            Positions of the rows to learn. By default all of them in their order.
        undo : bool, default=True
            Whether a failure is undone. Otherwise the caller must discard the selection.
        threads : int, default=1
            Number of threads; the result does not depend on it.
        reference : rows of the core, optional
            A reference row of the input, whose margins are recorded beside those of each row.
        margins : array of shape (len(order), 2, outputs), optional
            Filled with the scores of each row and of the reference row before the row is learned,
            in units of ``margin_unit``.
        record : Record, optional
            Receives the targets and the margins of each block, within its transaction.
        again : bool, default=False
            Whether the rows were learned before. They are not evaluated then.
        targets : arrays
            ``labels`` or ``values``, and ``weights``, one for each row.
        """
        order = np.arange(rows.count, dtype=np.int64) if order is None else order
        with self.turns.take():
            again = again or self.frozen
            recording = (reference, margins)
            if not self._encodes:
                # After an interrupt, rows that all candidates have learned stay learned.
                with Transaction(interrupts=False) as transaction:
                    how = (undo, threads, recording, targets, again)
                    self._learn({0: rows}, order, *how, transaction)
                return
            weights = targets.get("weights")
            if weights is not None:
                order = order[weights[order] > 0]
            size = min(self._until_checkpoint(), self.representations.block_size())
            several = undo and len(order) > size
            start, checkpoints = 0, [self._history_of(len(order)).restore] if several else []
            with Transaction(*checkpoints, interrupts=False):
                while start < len(order):
                    size = min(self._until_checkpoint(), self.representations.block_size())
                    end = min(start + size, len(order))
                    some = None if margins is None else margins[start:end]
                    block, both = (rows, order[start:end]), (reference, some)
                    self._learn_block(block, undo, threads, both, targets, again, record)
                    start = end

    def _learn_block(
        self,
        block: tuple[Any, Array],
        undo: bool,
        threads: int,
        recording: tuple[_core.Rows | None, Array | None],
        targets: dict[str, Any],
        again: bool,
        record: Record | None,
    ) -> None:
        """Encode and learn some rows; a failure or an interrupt undoes all of them."""
        rows, order = block
        own = {name: None if each is None else each[order] for name, each in targets.items()}
        reference, margins = recording
        first, history = not self.examples, self.history()
        if history is not None:
            undo, representations = True, self.representations.checkpoint()
            assert representations is not None
            history.add(checkpoint_of(self), representations)
        if record is not None and not first:
            margins = np.zeros((len(order), 2, self.outputs))
        checkpoints = [checkpoint_of(self), self.representations.rollback] if undo else []
        if undo:
            self.representations.begin()
        if record is not None and undo:
            checkpoints.append(record.checkpoint())
        with Transaction(*checkpoints) as transaction:
            views = self._views(rows, order, again, threads)
            positions = np.arange(len(order), dtype=np.int64)
            how = (undo, threads, (reference, margins), own, again, transaction, record)
            self._learn(views, positions, *how)
            self.representations.commit()
        self.representations.prune(self.examples)

    def _views(self, rows: Any, order: Array, again: bool, threads: int) -> Views:
        """Return rows as the candidates see them, which get columns for what is new to them."""
        learners = self.learners
        everything = range(len(self.representations.descriptions))
        starts = not self.examples or self.drift.drifted
        needed = sorted({each.representation for each in learners}) if not starts else everything
        widths = [self.width(which) for which in needed]
        encoded = self.representations.encode(
            rows, order, needed, widths, learn=not again, threads=threads
        )
        views = dict(zip(needed, encoded, strict=True))
        for which, group in by_representation(learners).items():
            if group[0].features < views[which].features:
                for each in reversed(group):  # the first one last: then all have grown
                    each.model.grow(views[which].features)
        if not fits_into_memory(learners, self.settings):
            self.fit_into_memory()
        return views

    def _learn(
        self,
        views: Views,
        order: Array,
        undo: bool,
        threads: int,
        recording: tuple[_core.Rows | None, Array | None],
        targets: dict[str, Any],
        again: bool,
        transaction: Transaction,
        record: Record | None = None,
    ) -> None:
        """Learn rows piece by piece; evaluate the candidates between two pieces.

        ``transaction`` is that of the caller. One of this function alone could not be undone by an
        interrupt after its end, and the representations would differ from the candidates.
        """
        reference, margins = recording
        weights = targets.get("weights")
        counts = np.ones(len(order), bool) if weights is None else weights[order] > 0
        learned = np.cumsum(counts)  # examples after each row
        counted = bool(learned.size) and learned[-1] > 0
        if not self.examples and not counted:
            self._blank().learn(views[0], order=order, **targets)  # may raise
            return
        known, models = self.learners, self._begin(views, order, targets) if undo else None
        checkpoints = [self._checkpoint(models)] if undo else []
        if (history := self.history()) is not None:
            history.add(*checkpoints)
        transaction.add(*checkpoints)
        if counted and not again:
            self._reopen()
        if not self.examples:
            first = int(order[counts.argmax()])
            self.learners = first_learners(self, views, targets, first)
        elif counted:
            self.evaluate_if_due()  # the last step may have been interrupted
            self._restart_if_due(views, targets, order, counts)
        how = {**targets, "batch_size": self.settings.batch_size, "threads": threads}
        check = models if self.learners == known else None
        check = check or ModelStates(self._groups(), views, order, targets, undo=False)
        start = 0
        while start < len(order):
            done = learned[start] - counts[start]
            end = int(np.searchsorted(learned, done + self._until_checkpoint())) + 1
            some = None if margins is None else margins[start:end]
            self._learn_together(views, order[start:end], how, reference, some)
            before = self.learners
            self.evaluate_if_due()
            start = end
            self._restart_if_due(views, targets, order[start:], counts[start:])
            if self.learners != before:
                check.check_overflow()
                rest = order[start:]
                check = ModelStates(self._groups(), views, rest, targets, undo=False)
        check.check_overflow()
        if models is not None:
            models.end()
        if record is not None:
            none = np.empty((0, 2, self.outputs))
            record.add_margins(targets, none if margins is None else margins)

    def _learn_together(
        self,
        views: Views,
        order: Array,
        how: dict[str, Any],
        reference: _core.Rows | None,
        margins: Array | None,
    ) -> None:
        """Learn rows with all candidates, those of one representation in one call of the core."""
        best = self.learners[self.leading]
        for which, group in self._groups().items():
            recording: dict[str, Any] = {}
            if margins is not None and which == best.representation:
                row = self.representations.reference(which, reference, views[which].features)
                recording = {"reference": row, "margins": margins, "recorded": group.index(best)}
            models: list[Any] = [each.model for each in group]
            options = {**how, **recording, "undo": False, "check": False}
            _core.learn_together(models, views[which], order=order, **options)
        if margins is not None:
            margins /= self.margin_unit

    def _groups(self) -> dict[int, list[Learner]]:
        return by_representation(self.learners) if self._encodes else {0: self.learners}

    def _reopen(self) -> None:
        """Let candidates compete again; the next example is still predicted by the same one."""
        if self.fixed is None:
            return
        if self.fixed != best_of(self.learners):
            rank_first(self.learners, self.fixed)
        self.leading, self.fixed = self.fixed[0], None

    def checkpoint(self, rows: Any, **targets: Any) -> Checkpoint:
        """Return what restores the selection after these rows, learned in any number of calls."""
        if not self._encodes:
            return self._checkpoint(self._begin({0: rows}, None, targets))
        return self._history_of(rows.count).restore

    def _history_of(self, count: int) -> History:
        """Return what undoes the next blocks, of this many rows in all.

        A short history has the changes of each block, a long one begins with a copy of all weights.
        """
        history, representations = History(), self.representations.checkpoint()
        if representations is None:  # blocks stay learned
            return history
        if count <= self.representations.block_size():
            self.history = weakref.ref(history)
        else:
            models = [each.checkpoint_of_all() for each in self.learners]
            history.add(checkpoint_of(self), representations, *models)
        return history

    def _begin(
        self, views: Views, order: Array | None, targets: dict[str, Any]
    ) -> ModelStates | None:
        """Return the state of all models before these rows, if there is one."""
        if not self.examples:
            return None
        return ModelStates(self._groups(), views, order, targets, undo=True)

    def _checkpoint(self, models: ModelStates | None) -> Checkpoint:
        own = checkpoint_of(self)

        def restore() -> None:
            own()
            if models is not None:
                models.restore()

        return restore

    # -- evaluation steps --------------------------------------------------------------------------

    @property
    def _ended(self) -> bool:
        return self.fixed is not None or self.paused or not self.selects

    def _until_checkpoint(self) -> int:
        """Return the number of examples, in whole batches, until the next evaluation step."""
        if self._ended:
            return NEVER
        batch = self.settings.batch_size
        return -(-max(self.drift.next_checkpoint - self.examples, 1) // batch) * batch

    def evaluate_if_due(self) -> None:
        """Find the best candidate, remove those that are far behind, and move the grids."""
        now, drift = self.examples, self.drift
        if self._ended or now < drift.next_checkpoint:
            return
        learners, tests, elapsed = self.learners, drift.is_test_due(now), drift.elapsed(now)
        if tests:
            drift = drift.verified(learners[0].model.drift_record)  # the best one at a restart
            drift = drift.tested(self._drift_sums(), self._regression)
        space = replace(self.space, patience=NEVER) if self.below else self.space
        stay = remaining(learners, elapsed, self._regression, space) if tests else learners
        moved = [move_grid(each, tests, elapsed, self.below) for each in stay]
        together = ensemble.predicts(learners)
        if together:
            for group in by_representation(moved).values():
                ensemble.weight(group, predict=elapsed < self.space.ensemble)
        self.go_on_with(moved, [each for each in learners if each not in stay], drift)
        self._note_end_of(together)

    def _note_end_of(self, together: bool) -> None:
        """Continue calibration with margins of the same unit where an ensemble has ended."""
        if together and not ensemble.predicts(self.learners):
            self.margin_unit = self.learners[self.leading].model.chosen_unit

    def _restart_if_due(
        self, views: Views, targets: dict[str, Any], order: Array, counts: Array
    ) -> None:
        """Restart the selection with the best candidate among new ones, after drift."""
        if self._ended or not (self.drift.drifted and counts.any()):
            return
        others = list(self.learners)
        stay = [clear_record(others.pop(self.leading))]
        stay += first_learners(self, views, targets, int(order[counts.argmax()]))
        self.go_on_with(stay, others, self.drift.restarted(self.examples))

    def go_on_with(
        self,
        learners: list[Learner],
        removed: Sequence[Learner] = (),
        drift: DriftDetector | None = None,
        leading: int | None = None,
    ) -> None:
        """Continue with these learners, without the removed ones; error counts are kept.

        The best one predicts, unless ``leading`` is another.
        """
        leading = best_of(learners)[0] if leading is None else leading
        made = learners[leading].model.chosen_record
        counted = (self.mistakes - made[0], self.distance - made[1])
        drift = (drift or self.drift).followed(
            self._drift_sums(), learners[leading].model.drift_record
        )
        drift = drift.after_checkpoint(self.examples)
        left = self.left if drift.start == self.drift.start else []
        if removed:
            gone, rest = (self._described(some) for some in (removed, learners))
            left = [*left, *removed_rows(gone, rest, self.examples, self.measured)]
        evaluated = {"learners": learners, "leading": leading, "counted": counted}
        self.__dict__.update(evaluated, drift=drift, left=left)  # no signal in between

    # -- memory ------------------------------------------------------------------------------------

    def affordable(
        self,
        places: Sequence[Settings],
        widths: Sequence[int],
        spent: int = 0,
        most: Sequence[int] | None = None,
    ) -> tuple[int, int]:
        """Return how many of the settings fit into memory, and with how many values of C.

        ``most`` are their present numbers of values, once these have become unequal.
        """
        shape = (self.outputs, self.dtype.itemsize)
        if most is None:
            grids = [self.space.grid(place, self.outputs) for place in places]
            most = [max(map(len, grids))] * len(places)
        return affordable(places, widths, *shape, spent, most)

    def fit_into_memory(self) -> None:
        """Remove the candidates that the memory limit does not allow.

        Before the first removal by error, the remaining ones are those of a selection that had as
        many outputs from the beginning; later they are the best ones.
        """
        learners, by_record = self.learners, self.drift.elapsed(self.examples) >= FIRST_REMOVAL
        if not learners or self.paused:
            return
        ranked = sorted(learners, key=record_of if by_record else importance_of)
        places, widths = [each.settings for each in ranked], [each.features for each in ranked]
        most = [each.models for each in ranked] if by_record else None
        count, values = self.affordable(places, widths, most=most)
        if count == len(learners) and all(each.models <= values for each in learners):
            return
        kept = ranked[:count]
        stay = [
            narrowed(each, values)
            if by_record
            else within_grid(each, values, self.space.grid(each.settings, self.outputs))
            for each in learners
            if each in kept
        ]
        self.remove(stay, [each for each in learners if each not in kept])

    def remove(self, stay: list[Learner], out: list[Learner]) -> None:
        """Remove candidates between two checkpoints; the next one may be due."""
        checkpoint, unit = self.drift.next_checkpoint, self.best_unit
        self.go_on_with(stay, out)
        self.drift, self.fixed = replace(self.drift, next_checkpoint=checkpoint), None
        if not ensemble.predicts(stay):  # none of them has several values of C
            self.margin_unit = unit

    # -- the end of selection ----------------------------------------------------------------------

    def keep_best(self) -> None:
        """Keep the best candidate and its representation; there is nothing to select then."""
        with self.turns.take():
            alone, unit = self.best_learner(), self.best_unit
            self._keep([alone], settings=alone.settings, left=[], margin_unit=unit, fixed=None)

    def keep_representation(self) -> None:
        """Keep the best representation, once the patience of the search space has passed."""
        if len(self.representations.descriptions) > 1 and self.examples >= self.space.patience:
            self.keep_only(self.representation)

    def keep_only(self, representation: int) -> None:
        """Keep the candidates of one representation; do nothing if it has none left."""
        with self.turns.take():
            stay = [each for each in self.learners if each.representation == representation]
            gone = [each for each in self.learners if each not in stay]
            if not self.learners:
                self.representations = self.representations.only(representation)
            elif stay:
                rows = (self._described(gone), self._described(stay), self.examples, self.measured)
                self._keep(stay, left=[*self.left, *removed_rows(*rows)], fixed=None)

    def _keep(self, learners: list[Learner], **changes: Any) -> None:
        """Continue with learners of one representation alone."""
        representations = self.representations.only(learners[0].representation)
        mistakes, distance, best = self.mistakes, self.distance, self.learners[self.leading]
        leading = learners.index(best) if best in learners else best_of(learners)[0]
        made = learners[leading].model.chosen_record
        counted = (mistakes - made[0], distance - made[1])
        alone = [each.with_representation(0) for each in learners]
        kept = {"representations": representations, "learners": alone, "leading": leading}
        self.__dict__.update(kept, counted=counted, **changes)  # at once, for other threads
        self.selects = bool(selected_axes(self.settings))

    def freeze_means(self, frozen: bool = True) -> None:
        """Stop or continue evaluation and class means: repeated examples are no fair test.

        Only the best learner continues to learn repeated examples; before ``choose``, that of each
        representation.
        """
        if frozen and self.fixed is None and self.learners:
            rest, (leading, candidate) = list(self.learners), self.best
            together = ensemble.predicts(rest)
            stay = [rest.pop(leading)]
            if self.below:
                groups = by_representation(rest)
                groups.pop(stay[0].representation, None)
                stay += [min(group, key=record_of) for group in groups.values()]
            self._go_on_with_first(stay, [each for each in rest if each not in stay], candidate)
            ensemble.weight(self.learners, predict=False)
            self._note_end_of(together)
        elif not frozen:
            self.fixed = None
        self.frozen = frozen
        for learner in self.learners:
            learner.freeze_means(frozen)

    def keep_promising(self, qualities: dict[tuple[int, int], float]) -> tuple[int, int]:
        """Keep the candidates that may be the best after more passes over the same rows.

        Mapped features learn more slowly than the columns, so a representation that is worse now
        and learns faster is removed. Of each other one the considered candidates remain, later the
        best alone. Return the new place of the best candidate.
        """
        leading, best = max(qualities, key=qualities.__getitem__)
        first = self.learners[leading]
        stay: list[Learner] = []
        removed: list[Learner] = []
        for i, each in enumerate(self.learners):
            if each is not first and each.representation < first.representation:
                removed.append(each)
                continue
            own = {
                candidate: found for (owner, candidate), found in qualities.items() if owner == i
            }
            kept = sorted(own) if len(own) < each.models else [max(own, key=own.__getitem__)]
            if each is first:
                best = kept.index(best)
            if len(kept) < each.models:
                each = select(each, kept, [each.all_settings[candidate] for candidate in kept])
                each.freeze_means(self.frozen)
            stay.insert(0 if i == leading else len(stay), each)
        self._go_on_with_first(stay, removed, best)
        return 0, best

    def choose(self, place: tuple[int, int]) -> None:
        """Keep one learner; let this candidate of it predict, until new rows are learned."""
        rest, (leading, candidate) = list(self.learners), place
        self._go_on_with_first([rest.pop(leading)], rest, candidate)
        self.below = 0

    def _go_on_with_first(
        self, stay: list[Learner], removed: list[Learner], candidate: int
    ) -> None:
        """Continue with some learners; this candidate of the first one predicts."""
        if removed or stay != self.learners:
            self.go_on_with(stay, removed, leading=0)
        self.fixed = (0, candidate)

    # -- parameters and classes --------------------------------------------------------------------

    def configure(self, settings: Settings) -> None:
        """Replace the parameters that are not selected, for future examples."""
        check_same_layout(self.settings, settings)
        for learner in self.learners:
            learner.configure([chosen_of(s, settings) for s in learner.all_settings])
        self.settings = settings

    def set_coef(self, coef: Array, intercept: Array) -> None:
        """Raise: candidates cannot start from given weights."""
        raise ValueError(
            "C, metric, scale or features are 'auto', or features are mapped: candidates with "
            "models of their own cannot be given weights; leave coef_init and intercept_init out, "
            "or choose all of them and features='linear'."
        )

    def add_classes(self, settings: Settings, position: Array, classes: int) -> ModelSelection:
        """Return a selection of more classes that continues this one, which does not change.

        ``position[c]`` is the new index of the old class c (see ``Learner.add_classes``).
        """

        def grow(learner: Learner) -> Learner:
            chosen = [chosen_of(s, settings) for s in learner.all_settings]
            return learner.add_classes(chosen, position, classes)

        new = self._with_outputs(settings, classes, grow)
        if not ensemble.predicts(new.learners):
            new.margin_unit = self.best_unit
        return new

    def relabelled(self, outputs: Sequence[int]) -> ModelSelection:
        """Return a selection whose output k continues output ``outputs[k]`` of this one."""
        return self._with_outputs(
            self.settings, len(outputs), lambda learner: learner.relabelled(outputs)
        )

    def _with_outputs(
        self, settings: Settings, classes: int, grow: Callable[[Learner], Learner]
    ) -> ModelSelection:
        """Return a selection of other outputs, whose learners continue those of this one."""
        new = copy.copy(self)
        new.settings, new.classes = settings, classes
        new.outputs = 1 if settings.task == "binary" else classes
        new.fit_into_memory()  # before they grow
        new.learners = [grow(each) for each in new.learners]
        return new
