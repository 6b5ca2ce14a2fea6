"""The kernel vote, and the selection of C in the middle of a plateau."""

import numpy as np
import pytest

from studies.papers.minibatches import protocol
from studies.papers.minibatches.protocol import READINGS, choose, run


@pytest.fixture
def blobs(monkeypatch):
    """Two distant blobs, which every setting separates after a few rows."""
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 80)
    X = random.normal(size=(80, 2)) * 0.05 + (2 * y[:, None] - 1)
    monkeypatch.setattr(protocol, "_rows", lambda name: (X, y))


CELL = {"set": "blobs", "method": "BPAI", "batch": 8, "reading": "plain", "trials": 2}


def test_middle_one_of_equal_settings_is_chosen(blobs):
    chosen = choose(CELL, READINGS["plain"])
    values = sorted({C for C, _ in chosen.tied})
    assert len(values) == 7
    assert values[3] == chosen.C
    assert (chosen.C, chosen.sigma) in chosen.tied


def test_outcome_contains_plateau_vote_and_trajectory(blobs):
    outcome = run(CELL)
    assert outcome["test"] == outcome["vote"] == [0.0, 0.0]
    assert outcome["size"] == 80
    assert outcome["dimensionality"] == 2
    assert [len(each) for each in outcome["trajectory"]] == [2, 2]  # 60 rows, evaluated every 24
    assert len(outcome["tied"]) > 7


def test_the_vote_counts_each_row_once():
    X, y = np.array([[0.0], [0.1], [5.0]]), np.array([1, 1, 0])
    near_five = np.array([[4.9], [0.05]]), np.array([0, 1])
    error = protocol._vote_error((X, y, *near_five), 1.0, READINGS["plain"])
    assert error == 0.0
    # with a bias all rows vote, and the larger class wins
    assert protocol._vote_error((X, y, *near_five), 1.0, READINGS["intercept"]) >= 0.0
