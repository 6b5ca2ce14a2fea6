"""Conversion of ``n_jobs`` to a number of threads."""

import os

import numpy as np
import pytest

from aggro import checks
from aggro.checks import threads_of


def test_numbers_are_converted(monkeypatch):
    monkeypatch.setattr(checks, "_cores", lambda: 4)
    meant = {None: 1, 1: 1, 3: 3, 64: 64, -1: 4, -2: 3, -4: 1, -5: 1, -99: 1}
    assert {given: threads_of(given) for given in meant} == meant
    assert threads_of(np.int64(2)) == 2 and type(threads_of(np.int64(2))) is int


@pytest.mark.parametrize("wrong", [0, True, False, 1.0, "2", [1]])
def test_other_values_are_rejected(wrong):
    with pytest.raises(ValueError, match=r"n_jobs=.*-1 for all cores, or None"):
        threads_of(wrong)


def test_number_of_cores_respects_the_affinity(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6}, raising=False)
    assert checks._cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert checks._cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert checks._cores() == 1
