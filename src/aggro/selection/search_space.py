"""The search space of a model selection as data: grids of C, and when candidates are removed."""

from __future__ import annotations

from dataclasses import dataclass

from aggro.selection.grids import PIECE
from aggro.settings import METRICS, Settings


@dataclass(frozen=True)
class SearchSpace:
    """What a model selection chooses from, besides the settings that are "auto".

    Parameters
    ----------
    grids : (range, range), optional
        Values of C in steps from their unit, for models of one output and of several. By default
        the grid of each metric.
    halves_each : bool, default=False
        Whether successive halving applies to each representation separately. Then a representation
        that is worse at the beginning and better later can win.
    patience : int, default=0
        Examples before a candidate is removed because one of another representation is better.
    ensemble : bool, default=True
        Whether an ensemble predicts the first examples of two classes.
    """

    grids: tuple[range, range] | None = None
    halves_each: bool = False
    patience: int = 0
    ensemble: bool = True

    def grid(self, settings: Settings, outputs: int) -> range:
        """Return the values of C of candidates with these settings, in steps from their unit."""
        if self.grids is None:
            return METRICS[settings.metric].grid
        return self.grids[outputs > 1]


DEFAULT_SEARCH_SPACE = SearchSpace()
# Rows of texts have unit length, and on seven of the tasks of docs/text.md the best C was between
# 0.3 and 100: a short grid suffices, since it moves with its best candidate, and saves memory. Long
# n-grams are worse at the beginning and better later.
TEXT_SEARCH_SPACE = SearchSpace((range(-3, 5), range(-1, 3)), halves_each=True, patience=3 * PIECE)
