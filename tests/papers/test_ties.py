"""Of equally good settings, the middle one is selected."""

import numpy as np
import pytest

from studies.papers.ties import best, middle, tied


@pytest.mark.parametrize(
    ("errors", "place"),
    [
        ([3, 1, 2], 1),
        ([1, 1, 1, 2, 2], 1),
        ([1, 1, 1, 1, 1, 1, 1], 3),  # not the smallest C of a plateau
        ([1, 1, 1, 1], 2),  # of two middle ones, the larger
        ([1, 2, 2, 1, 1], 3),  # the nearest tied one
        ([0.1 + 0.2, 0.3, 1.0], 1),  # rounding is not a difference
    ],
)
def test_tie_on_one_axis_is_broken_at_the_middle(errors, place):
    assert best(errors) == (place,)


def test_tie_on_two_axes_is_broken_at_the_middle():
    errors = np.full((7, 6), 0.5)
    errors[:5, 2] = 0.1
    assert tied(errors) == [(i, 2) for i in range(5)]
    assert best(errors) == (2, 2)
    errors[4, 4] = 0.1
    assert middle(tied(errors)) == (2, 2)


def test_chosen_setting_is_one_of_the_tied():
    random = np.random.default_rng(1)
    for _ in range(50):
        errors = random.integers(0, 3, (5, 4))
        assert errors[best(errors)] == errors.min()
