"""Finished results are kept, changed ones repeated, and failures reported."""

import io
import json
from contextlib import redirect_stdout

import pytest

from studies.papers import report, runner
from studies.papers.progress import Progress
from studies.papers.store import Store


def go(toy, tmp_path, jobs=1, missing=()):
    module = toy.module
    pair = (module, Store(module, tmp_path / "build"))
    tasks = runner.unfinished([pair], False, missing)
    with redirect_stdout(io.StringIO()), Progress(len(tasks)) as progress:
        return runner.run(tasks, jobs, progress), pair


def test_second_run_reuses_all_results(toy, tmp_path):
    first, (module, store) = go(toy, tmp_path, jobs=2)
    assert (first.finished, first.failures) == (8, ())
    before = [outcome for _, outcome in store.results(module.cells(False)).pairs]
    second, _ = go(toy, tmp_path)
    assert second.finished == 0
    assert [outcome for _, outcome in store.results(module.cells(False)).pairs] == before
    assert len(before[0]["last"]) == 3


def test_changed_code_is_run_again_but_changed_text_is_not(toy, tmp_path):
    go(toy, tmp_path)
    assert go(toy.write(word="other words"), tmp_path)[0].finished == 0
    assert go(toy.write(extra="LIMIT = 3"), tmp_path)[0].finished == 8


def test_missing_or_damaged_result_is_run_again_alone(toy, tmp_path):
    _, (module, store) = go(toy, tmp_path)
    cells = module.cells(False)
    store.path(cells[0]).unlink()
    store.path(cells[1]).write_text('{"cell": ')
    assert go(toy, tmp_path)[0].finished == 2


def test_failing_cell_is_reported_and_the_others_continue(toy, tmp_path):
    outcome, (module, store) = go(toy.write(fail=2), tmp_path)
    assert outcome.finished == 6
    assert len(outcome.failures) == 2
    assert all("this cell is meant to fail" in failure.trace for failure in outcome.failures)
    assert all("learning.py" in failure.trace for failure in outcome.failures)
    assert len(store.results(module.cells(False))) == 6


def test_killed_process_loses_only_its_cell(toy, tmp_path):
    outcome, _ = go(toy.write(die=1), tmp_path)
    assert outcome.finished == 6
    assert {failure.task.cell["seed"] for failure in outcome.failures} == {1}


def test_cells_without_data_are_skipped_and_reported(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("AGGRO_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = runner.missing_data(["20news"])
    assert "AGGRO_DATA" in missing["20news"]
    outcome, (module, store) = go(toy.write(data=("20news",)), tmp_path, missing=missing)
    assert outcome.finished == 4
    text = report.write([(module, store)], False, tmp_path).read_text()
    assert "4 of 8 cells are finished" in text


def test_long_cells_come_first_and_unknown_ones_before_them(toy, tmp_path):
    module = toy.module
    store = Store(module, tmp_path / "build")
    cells = module.cells(False)
    for cell, seconds in zip(cells[1:], (5.0, 9.0, 1.0, 2.0, 3.0, 4.0, 6.0), strict=True):
        store.keep(cell, "{}", seconds)
    store.code = "another"
    tasks = runner.unfinished([(module, store)], False, ())
    assert [task.cell for task in tasks[:3]] == [cells[0], cells[2], cells[7]]


def test_results_are_written_atomically(toy, tmp_path):
    store = Store(toy.module, tmp_path / "build")
    cell = {"gap": 0.5, "seed": 0}
    store.keep(cell, '{"error": 0.25}', 1.23456)
    kept = json.loads(store.path(cell).read_text())
    assert kept == {
        "cell": cell,
        "code": store.code,
        "cpu_seconds": 1.235,
        "outcome": {"error": 0.25},
    }
    with pytest.raises(UnicodeEncodeError):
        store.keep(cell, "\ud800", 1.0)
    assert store.read(cell) == kept
    assert [path.name for path in store.folder.iterdir()] == [store.path(cell).name]
