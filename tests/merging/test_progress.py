"""The history of the rounds of distributed training."""

import numpy as np
import pytest

from aggro.merging.progress import Progress


def test_rounds_are_recorded_with_their_errors_and_speed(capsys):
    progress = Progress(verbose=1)
    progress.add(number=0, place=0, of=2, rows=100, made=20, seconds=4.0, sent=7)
    progress.add(number=0, place=1, of=2, rows=300, made=30, seconds=0.5, sent=9)
    first, second = progress.history
    assert (first["rows_per_second"], second["rows_per_second"]) == (25.0, 600.0)
    assert (first["error"], second["error"]) == (0.2, 0.1)
    assert (first["error_so_far"], second["error_so_far"]) == (0.2, pytest.approx(0.125))
    assert (second["pass"], second["round"], second["bytes"]) == (0, 1, 9)
    lines = capsys.readouterr().err.splitlines()
    assert "round 1/2: 100 rows" in lines[0] and "error so far 20.00%" in lines[0]
    assert "round 2/2: 400 rows" in lines[1] and "error so far 12.50%" in lines[1]


def test_later_passes_keep_the_error_of_the_first():
    progress = Progress()
    progress.add(number=0, place=0, of=1, rows=100, made=20, seconds=1.0, sent=0)
    progress.add(number=1, place=0, of=1, rows=100, made=0, seconds=1.0, sent=0)
    assert [each["error_so_far"] for each in progress.history] == [0.2, 0.2]
    assert np.isnan(progress.history[1]["error"])


def test_the_speed_counts_from_the_beginning(capsys, monkeypatch):
    progress = Progress(verbose=1, began=100.0)
    monkeypatch.setattr("time.perf_counter", lambda: 104.0)
    progress.add(number=0, place=0, of=2, rows=4000, made=20, seconds=1.0, sent=7)
    assert ", 1,000 rows/s, " in capsys.readouterr().err


def test_a_regression_prints_distances(capsys):
    Progress(verbose=1, regression=True).add(0, 0, 1, 10, 25.0, 0.0, 0)
    assert "error so far 2.5\n" in capsys.readouterr().err


def test_a_round_without_rows_has_no_error():
    progress = Progress()
    progress.add(0, 0, 1, 0, 0.0, 0.0, 0)
    assert progress.history[0]["error"] == progress.history[0]["error_so_far"] == 0
