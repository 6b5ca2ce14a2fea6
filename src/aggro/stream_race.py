"""``C="auto"`` of a stream: a grid of C in lanes, judged while it learns; the best one predicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aggro import _core
from aggro.grids import GRIDS, PIECE, SETTLED, grid_of, memory_of, move_grid, standing
from aggro.learner import Learner
from aggro.rules import Settings


def next_look(examples: int) -> int:
    """Return when to look at the grid again, however often the stream was stored in between."""
    return max(SETTLED, (examples // PIECE + 1) * PIECE)


class RacingStream(_core.Stream):
    """A stream whose lanes differ in C; with a fixed C there is one lane and no race."""

    _memory: float
    _settings: Any
    _learner: Any
    _install: Any

    def _enter(self, settings: Settings) -> None:
        """Lay out a grid that the first example will bring to scale, or the one C there is."""
        self._races = settings.C == "auto"
        self._prices = tuple(GRIDS[settings.metric]) if self._races else (settings.C,)
        self._memory = memory_of(settings) if self._races else 1.0

    def _lanes(self, classes: int) -> list[Settings]:
        settings = self._settings(classes)
        return [replace(settings, C=price) for price in self._prices]

    def _begin_race(self, x: Any, y: Any) -> None:
        """Bring the grid to the scale of the first example; the core calls this before it."""
        settings = self._settings(2)
        numbers = [1.0 if isinstance(value, str) else float(value) for value in x.values()]
        size = float(len(numbers)) if settings.scale != "none" else sum(v * v for v in numbers)
        target = abs(float(y)) if settings.task == "regression" else 1.0
        self._prices = tuple(grid_of(settings, size, target))
        self._go_on(self._learner(0))
        self._next_look = next_look(0)

    def _look(self) -> None:
        """Move the grid when its edge leads; the core calls this now and then."""
        learner = self._learner(len(self._classes()))
        moved = move_grid(learner)
        if moved is not learner:
            self._go_on(moved)
        self._next_look = next_look(self.examples)

    def _go_on(self, learner: Learner) -> None:
        classes = self._classes()
        self._install(classes, list(range(len(classes))), learner)

    @property
    def C_(self) -> float:
        """The C in use: that of the lane that leads when ``C="auto"``."""
        with self._lock:
            return float(self._prices[self._chosen])

    @property
    def lanes_(self) -> list[dict[str, Any]]:
        """What ``C="auto"`` races: each lane's C, mistakes and recent record."""
        if not self._races:
            raise AttributeError("lanes_ exists only with C='auto'.")
        with self._lock:
            leader, prices, records = self._chosen, self._prices, self._records()
        return [
            {"C": price, **standing(record, lane == leader)}
            for lane, (price, record) in enumerate(zip(prices, records, strict=True))
        ]

    def plot_lanes(self, path: str | Path | None = None) -> Any:
        """Draw the recent error of each lane against C, the leader marked; return the figure."""
        from aggro.lanes_plot import draw_lanes

        return draw_lanes(self.lanes_, self._settings(2).task == "regression", path)
