"""The race of a text learner: its grid of C."""

import pytest

from aggro.learn.grids import price
from aggro.rules import Settings
from aggro.text.race import make_race


@pytest.mark.parametrize(
    ("task", "first", "last"), [("binary", -3, 4), ("regression", -3, 4), ("multiclass", -1, 2)]
)
def test_the_short_grid_of_texts_moves_in_steps(task, first, last):
    race = make_race(Settings(task=task, C="auto"), 1 if task == "regression" else 3, "<f8", 0)
    for steps in (-2, 0, 3):
        grid = race.grid(race.settings, steps)
        assert (grid[0], grid[-1]) == (price(first + steps), price(last + steps))
        assert len(grid) == last - first + 1
