"""``C="auto"`` of a stream: a grid of C in lanes, judged while it learns; the best one predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aggro import _core
from aggro.learner import Learner
from aggro.selection.learners import move_grid, narrowed, select
from aggro.selection.memory import affordable
from aggro.selection.search_space import (
    first_steps,
    grid_of,
    is_clearly_best,
    is_test_due,
    next_checkpoint,
    off_edge,
    off_unit,
    record_row,
    values_kept,
)
from aggro.settings import Settings, memory_of

_core.give_signatures(_core.Stream)


class RacingStream(_core.Stream):
    """A stream whose lanes differ in C; with a fixed C there is one lane and no race."""

    C: Any
    seed: int
    _keywords: dict[str, Any]
    _memory: float
    _settings: Any
    _learner: Any
    _install: Any

    def _enter(self, settings: Settings) -> None:
        """Tell what is raced."""
        self._races = settings.C == "auto"
        chooses = self._races or settings.average == "auto"
        self._memory = memory_of(settings) if chooses else 1.0

    def _first_lanes(self, steps: int = 0) -> list[Settings]:
        """Return a grid around its unit, or the one C there is."""
        settings = self._settings(0)
        return self._lanes(0, grid_of(settings, steps) if self._races else (settings.C,))

    def _lanes(self, classes: int, prices: Sequence[float] = ()) -> list[Settings]:
        settings = self._settings(classes)
        return [replace(settings, C=C) for C in prices or self._prices]

    def _begin_race(self, x: Any, y: Any) -> None:
        """Lay out the grid by the first example; the core calls this before it."""
        settings = self._settings(2)
        numbers = [1.0 if isinstance(value, str) else float(value) for value in x.values()]
        squares = {
            "none": sum(v * v for v in numbers),
            "online": float(sum(v != 0 for v in numbers)),
            "standard": 0.0,
        }
        target = abs(float(y)) if settings.task == "regression" else 1.0
        steps = first_steps(settings, squares[settings.scale], target)
        learner = Learner(self._first_lanes(steps), self._slots, 1, seed=self.seed)
        learner.model.set_unit(steps)
        self._go_on(learner, next_checkpoint(0))

    def _look(self) -> None:
        """Let the grid follow its unit and its leader; the core calls this when it is due."""
        unit, look = self._unit, next_checkpoint(self.examples)
        if not unit:  # it was settled
            self._next_look = 0
            return
        settled, classes = is_test_due(self.examples, self._next_look), len(self._classes())
        settings = self._settings(classes)
        off = off_unit(settings, unit)
        slots, prices = max(self._slots, 1), len(self._prices)
        affords = affordable([settings], slots, classes if classes > 2 else 1, 8)[1]
        wide = prices > affords or (settled and prices > values_kept(self.examples))
        edge = settled and off_edge(self._prices, self._chosen, unit)
        if off or wide or (edge and is_clearly_best(self._records(), self._chosen, settings)):
            learner = narrowed(self._learner(classes), max(affords, 1))
            self._go_on(move_grid(learner, settled), look)
        else:
            self._next_look = look

    def _go_on(self, learner: Learner, look: int) -> None:
        self._install(self._classes(), learner, look)

    def keep_best(self) -> None:
        """End the race: keep the leader alone, with its C, as if there had been no other.

        Its weights stay the same, to the last bit, and take a small part of the memory. ``C``
        becomes the value that was chosen. Without a race nothing happens.
        """
        if not self._races:
            return
        if self._next_look < 0:
            raise ValueError("C='auto' has nothing to choose by before the first example.")
        with self._lock:
            C, classes = self.C_, len(self._classes())
            lanes = [replace(self._settings(classes), C=C)]
            self._go_on(select(self._learner(classes), [self._chosen], lanes), 0)
            self.__dict__.update(C=C, _races=False, _keywords={**self._keywords, "C": C})

    @property
    def C_(self) -> float:
        """The C in use: that of the lane that leads when ``C="auto"``."""
        with self._lock:
            return float(self._prices[self._chosen])

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """What ``C="auto"`` races: each lane's C, mistakes and recent record."""
        if not self._races:
            raise AttributeError("candidates_ exists only with C='auto'.")
        with self._lock:
            leader, prices, records = self._chosen, self._prices, self._records()
        return [
            {"C": price, **record_row(record, lane == leader)}
            for lane, (price, record) in enumerate(zip(prices, records, strict=True))
        ]

    def plot_candidates(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each lane against C, the leader marked; return the figure."""
        from aggro.plot.selection import draw_candidates

        return draw_candidates(self.candidates_, self._settings(2).task == "regression", path)
