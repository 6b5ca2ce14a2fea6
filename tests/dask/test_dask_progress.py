"""What is noted of each round of a training on a cluster."""

import numpy as np
import pytest

from aggro.dask.progress import Progress


def test_rounds_are_noted_with_their_errors_and_speed(capsys):
    progress = Progress(verbose=1)
    progress.tell(number=0, place=0, of=2, rows=100, made=20, seconds=4.0, sent=7)
    progress.tell(number=0, place=1, of=2, rows=300, made=30, seconds=0.5, sent=9)
    first, second = progress.history
    assert (first["rows_per_second"], second["rows_per_second"]) == (25.0, 600.0)
    assert (first["error"], second["error"]) == (0.2, 0.1)
    assert (first["error_so_far"], second["error_so_far"]) == (0.2, pytest.approx(0.125))
    assert (second["pass"], second["round"], second["bytes"]) == (0, 1, 9)
    told = capsys.readouterr().err.splitlines()
    assert "round 1/2: 100 rows" in told[0] and "error so far 20.00%" in told[0]
    assert "round 2/2: 400 rows" in told[1] and "error so far 12.50%" in told[1]


def test_later_passes_keep_the_error_of_the_first():
    progress = Progress()
    progress.tell(number=0, place=0, of=1, rows=100, made=20, seconds=1.0, sent=0)
    progress.tell(number=1, place=0, of=1, rows=100, made=0, seconds=1.0, sent=0)
    assert [each["error_so_far"] for each in progress.history] == [0.2, 0.2]
    assert np.isnan(progress.history[1]["error"])


def test_the_speed_is_that_since_the_beginning(capsys, monkeypatch):
    progress = Progress(verbose=1, began=100.0)
    monkeypatch.setattr("time.perf_counter", lambda: 104.0)
    progress.tell(number=0, place=0, of=2, rows=4000, made=20, seconds=1.0, sent=7)
    assert ", 1,000 rows/s, " in capsys.readouterr().err


def test_a_regression_tells_distances(capsys):
    Progress(verbose=1, regression=True).tell(0, 0, 1, 10, 25.0, 0.0, 0)
    assert "error so far 2.5\n" in capsys.readouterr().err


def test_a_round_of_nothing_has_no_error():
    progress = Progress()
    progress.tell(0, 0, 1, 0, 0.0, 0.0, 0)
    assert progress.history[0]["error"] == progress.history[0]["error_so_far"] == 0
