"""Verdicts on constructed numbers."""

import numpy as np
import pytest

from studies.papers.experiment import Published
from studies.papers.verdict import deviation, judge, standard_error, tally, tolerance


def printed(value, spread=None, better="lower", decimals=2, measure="error (%)"):
    return Published("T", "r", "c", measure, value, spread, better, decimals)


@pytest.mark.parametrize(
    ("entry", "values", "mark"),
    [
        # with an interval: inside, or outside by more than two standard errors
        (printed(20.0, 3.0), [21.0, 23.0, 22.0], "inside"),
        (printed(20.0, 3.0), [24.0, 24.2], "worse"),
        (printed(20.0, 3.0), [10.0, 10.2], "better"),
        (printed(80.0, 3.0, "higher"), [90.0, 90.0], "better"),
        (printed(80.0, 3.0, "higher"), [70.0, 70.0], "worse"),
        (printed(20.0, 1.0), [10.0, 30.0], "inconclusive"),  # inside, but uninformative
        (printed(20.0, 1.0), [19.6, 20.5], "inside"),  # ours is as wide as the printed one
        (printed(20.0, 1.0), [19.4, 20.5], "inconclusive"),  # ours is wider
        (printed(20.0, 1.0), [12.0, 32.0], "inconclusive"),  # outside, by less than the uncertainty
        # without: one point
        (printed(20.0), [20.5, 20.9, 20.7], "inside"),
        (printed(20.0), [21.2, 21.3, 21.4], "worse"),
        (printed(0.2, measure="error", decimals=4), [0.205, 0.206, 0.207], "inside"),
        (printed(0.2, measure="error", decimals=4), [0.215, 0.216, 0.217], "worse"),
        # a quarter of small numbers
        (printed(2.0), [2.4, 2.4], "inside"),
        (printed(2.0), [2.6, 2.6], "worse"),
        (printed(0.01, decimals=2), [0.014], "inside"),  # hidden by rounding
        (printed(20.0, better="-"), [9.0], "not judged"),
        (printed(20.0), None, "not comparable"),
        (printed(20.0), [], "not comparable"),
    ],
)
def test_verdict(entry, values, mark):
    assert judge(entry, None if values is None else np.array(values)).mark == mark


def test_ten_wide_folds_are_inconclusive():
    """The mean of ten folds is judged by its standard error, not by the spread of folds."""
    folds = 10.4 + 1.9 * np.array([-1, 1] * 5)
    assert abs(folds.mean() - 14.0) < 2 * deviation(folds)
    assert judge(printed(14.0), folds).mark == "better"


def test_uncertainty_of_the_printed_number_counts():
    entry, values = printed(20.0), np.array([21.9, 22.1])
    assert judge(entry, values).mark == "worse"
    assert judge(entry, values, printed_error=1.5).mark == "inconclusive"
    near = np.array([20.1, 20.2])
    assert judge(entry, near).mark == "inside"
    assert judge(entry, near, printed_error=1.5).mark == "inconclusive"
    # contained in the printed interval
    assert judge(printed(20.0, 2.0), near, printed_error=1.5).mark == "inside"


def test_other_data_get_no_verdict():
    for value in (5.0, 20.0, 90.0):
        judged = judge(printed(20.0), np.array([value]), other_data=True)
        assert judged.mark == "other data"
    assert judge(printed(20.0), None, other_data=True).mark == "not comparable"


def test_tolerance_follows_the_printed_digits():
    assert tolerance(printed(20.0, 3.0)) == 3.0
    assert tolerance(printed(20.0)) == 1.0
    assert tolerance(printed(2.0)) == 0.5
    assert tolerance(printed(0.2, measure="error")) == 0.01
    assert tolerance(printed(20.0, 0.001)) == 0.005


def test_standard_errors_are_those_of_a_sample():
    assert deviation([1.0, 3.0]) == pytest.approx(np.sqrt(2))
    assert deviation([5.0]) == standard_error([5.0]) == 0
    assert standard_error([1.0, 3.0]) == pytest.approx(1)


def test_summary_counts_are_consistent():
    wide = np.array([10.0, 30.0])
    judged = [
        judge(printed(20.0), np.array([20.1, 20.2])),
        judge(printed(20.0), wide),
        judge(printed(20.0), np.array([5.0, 5.1])),
        judge(printed(20.0), np.array([35.0, 35.1])),
        judge(printed(20.0), np.array([20.0, 20.0]), other_data=True),
        judge(printed(20.0), None),
        judge(printed(20.0, better="-"), np.array([20.0])),
    ]
    count = tally(judged)
    assert (count.inside, count.better, count.worse, count.untold, count.other) == (1, 1, 1, 1, 1)
    assert (count.judged, count.missing) == (5, 1)
    assert count.near == 3  # mean in the range: the first two, and the other data
