"""Verdicts on numbers made by hand, and tests over runs against counts made by hand."""

import numpy as np
import pytest

from papers.experiment import Published
from papers.verdict import deviation, judge, p_text, sign, signed_rank


def printed(value, spread=None, better="lower", decimals=2):
    return Published("T", "r", "c", "error", value, spread, better, decimals)


@pytest.mark.parametrize(
    ("entry", "values", "mark"),
    [
        (printed(0.20, 0.03), [0.21, 0.23], "agrees"),
        (printed(0.20, 0.03), [0.24, 0.24], "worse"),
        (printed(0.20, 0.03), [0.10, 0.10], "better"),
        (printed(0.80, 0.03, "higher"), [0.90, 0.90], "better"),
        (printed(0.80, 0.03, "higher"), [0.70, 0.70], "worse"),
        (printed(0.20), [0.22, 0.24, 0.26], "agrees"),  # mean 0.24, two deviations are 0.04
        (printed(0.19), [0.22, 0.24, 0.26], "worse"),
        (printed(0.20), [0.2049], "agrees"),  # what rounding hides
        (printed(0.20, decimals=4), [0.2049], "worse"),
        (printed(0.20), [0.206], "worse"),
        (printed(0.20, better="-"), [9.0], "not judged"),
        (printed(0.20), None, "not comparable"),
        (printed(0.20), [], "not comparable"),
    ],
)
def test_verdict(entry, values, mark):
    assert judge(entry, None if values is None else np.array(values)).mark == mark


def test_deviation_is_that_of_a_sample():
    assert deviation([1.0, 3.0]) == pytest.approx(np.sqrt(2))
    assert deviation([5.0]) == 0


def test_signed_rank_is_exact_for_few_pairs():
    ours, theirs = [1, 2, 3, 4, 5], [2, 4, 6, 8, 10]
    assert signed_rank(ours, theirs, "less") == pytest.approx(1 / 32)
    assert signed_rank(ours, theirs) == pytest.approx(2 / 32)
    assert signed_rank(theirs, ours, "less") == pytest.approx(1)
    assert signed_rank(ours, ours) == 1


def test_sign_test_counts_heads():
    ours, theirs = [1, 1, 1, 1, 9, 5], [2, 2, 2, 2, 2, 5]  # four below, one above, one equal
    assert sign(ours, theirs, "less") == pytest.approx(6 / 32)
    assert sign(theirs, ours, "greater") == pytest.approx(6 / 32)
    assert sign(ours, ours) == 1


def test_p_values_as_text():
    assert [p_text(p) for p in (0.0001, 0.0312, 0.5)] == ["p < 0.001", "p = 0.031", "p = 0.50"]
