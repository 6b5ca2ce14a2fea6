"""The trial of faults: every module has its tests, and who notices a fault is told by name."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
pytest.importorskip("tomllib", reason="the tool reads TOML as Python 3.11 does")

from mutants import trial
from mutants.mutant import ROOT
from mutants.sample import modules


@pytest.mark.parametrize("kind", ["python", "cpp"])
def test_every_module_has_tests(kind):
    for file in modules(kind):
        assert trial.tests_of(file), file


def test_every_row_of_the_table_names_tests_that_are_there():
    for pattern, tests in trial.TABLE.items():
        assert any(ROOT.glob(pattern)), pattern
        for test in tests:
            assert any(ROOT.glob(test)), f"{pattern}: {test}"


def test_a_witness_is_told_by_its_whole_name(tmp_path, monkeypatch):
    """So that it can be asked again, without the fault; a thread that has no end delays nothing."""
    monkeypatch.setattr(trial, "FOLDER", tmp_path)
    place = trial.Place("place", [])
    shutil.rmtree(place.folder / "aggro")
    name = "{'metric': 'full'} - and more"
    test = tmp_path / "test_it.py"
    test.write_text(
        "import threading\nimport pytest\n\n"
        f"@pytest.mark.parametrize('fails', [True, False], ids=[{name!r}, {name + '!'!r}])\n"
        "def test_sometimes(fails):\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    assert not fails\n"
    )
    witness = trial._witness(*place.run([str(test)], 60))
    assert witness.endswith(f"test_it.py::test_sometimes[{name}]")
    assert place.run([f"{test}::test_sometimes[{name}!]"], 60)[0] == 0
