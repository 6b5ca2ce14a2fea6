"""Verdicts on claims: definition, correction for multiple tests, and the test."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from studies.papers.claims import (
    Claim,
    Part,
    counted,
    evaluate_claims,
    higher,
    holm,
    lower,
    met,
    paired,
    verdict,
)


@pytest.mark.parametrize(
    ("favour", "against", "open_", "expected"),
    [
        (10, 0, 0, "holds"),
        (9, 0, 1, "holds"),
        (8, 0, 2, "holds in part"),
        (9, 1, 0, "holds in part"),
        (2, 0, 0, "holds"),
        (1, 0, 1, "holds in part"),
        (1, 1, 0, "holds in part"),
        (1, 2, 0, "does not hold"),
        (3, 2, 7, "holds in part"),
        (3, 0, 9, "holds in part"),
        (2, 0, 10, "inconclusive"),  # open parts are no evidence against it
        (0, 0, 5, "inconclusive"),
        (0, 1, 5, "inconclusive"),
        (0, 2, 6, "does not hold"),
        (1, 1, 10, "inconclusive"),
        (0, 5, 0, "does not hold"),
        (0, 0, 0, "cannot be tested"),
    ],
)
def test_selection_rule_is_defined_once(favour, against, open_, expected):
    assert verdict(favour, against, open_) == expected


@pytest.mark.parametrize("count", [2, 3, 4, 7, 12, 27])
@pytest.mark.parametrize("tested", [True, False])
def test_every_verdict_can_be_reached(count, tested):
    """By tests or by thresholds, with any number of parts."""
    states = [Part(True, 1e-9 if tested else None), Part(False, 1e-9 if tested else None)]
    states += [Part(True, 1.0)] if tested else []  # open
    kinds = product(range(count + 1), range(len(states)), range(len(states)))
    reached = set()
    for favour, one, other in kinds:
        parts = (states[one],) * favour + (states[other],) * (count - favour)
        (outcome,) = evaluate_claims([Claim("it is so", "here", parts, "")])
        reached.add(outcome.verdict)
    expected = {"holds", "holds in part", "does not hold"}
    assert reached == (expected | {"inconclusive"} if tested else expected)


def test_claim_with_one_part_is_rejected():
    with pytest.raises(ValueError, match="one part"):
        Claim("it is so", "here", met(True), "")
    assert evaluate_claims([Claim("who knows", "there", (), "")])[0].verdict == "cannot be tested"


def test_holm_correction_equals_the_formula():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_all_tests_of_a_paper_are_corrected_together():
    weak = Part(True, 0.03)
    alone = Claim("weak", "here", (weak, *met(True)), "")
    many = Claim("others", "there", (Part(True, 0.9),) * 20, "")
    assert evaluate_claims([alone])[0].favour == 2
    assert evaluate_claims([alone, many])[0].favour == 1
    assert evaluate_claims([alone, many])[0].open == 1


def test_difference_is_tested_two_sided():
    (outcome,) = evaluate_claims(
        [Claim("so", "x", (Part(True, 0.0), Part(False, 0.0), Part(False, 0.9)), "")]
    )
    assert (outcome.favour, outcome.against, outcome.open) == (1, 1, 1)
    assert outcome.counts == "1 / 1 / 1"


def test_difference_is_tested_a_paired_t_test():
    random = np.random.default_rng(3)
    ours, theirs = random.normal(size=12), random.normal(0.5, size=12)
    assert paired(ours, theirs) == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert paired(theirs, ours) == pytest.approx(paired(ours, theirs))
    assert paired(ours, ours) == paired([1.0], [2.0]) == 1.0
    assert paired([1.0, 2.0], [2.0, 3.0]) == 0.0  # equal differences


def test_overlapping_folds_widen_the_interval():
    ours = np.array([1.0, 1.2, 0.9, 1.1, 1.3])
    theirs = ours + np.array([0.1, 0.3, 0.2, 0.1, 0.4])
    difference, overlap = ours - theirs, 0.25
    error = difference.std(ddof=1) * np.sqrt(1 / 5 + overlap)
    expected = 2 * stats.t.sf(abs(difference.mean()) / error, 4)
    assert paired(ours, theirs, overlap) == pytest.approx(expected)
    assert paired(ours, theirs, overlap) > paired(ours, theirs)


def test_parts_have_a_direction():
    low, high = np.array([1.0, 1.1, 1.2]), np.array([2.0, 2.2, 2.1])
    assert lower(low, high).towards
    assert not lower(high, low).towards
    assert higher(high, low).towards
    assert counted([lower(low, high), lower(high, low)]) == "1 of 2"
