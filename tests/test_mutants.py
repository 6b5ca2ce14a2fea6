"""The trial of faults: every module has its tests, and who notices a fault is told by name."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
pytest.importorskip("tomllib", reason="the tool reads TOML as Python 3.11 does")

from qa.mutants import trial
from qa.mutants.cpp_sites import cpp_mutants
from qa.mutants.mutant import ROOT
from qa.mutants.python_sites import python_mutants
from qa.mutants.sample import modules


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


def faults(find, path, source):
    """The lines that have faults, and the faults of each."""
    path.write_text(source)
    found = {}
    for each in find(str(path)):
        found.setdefault(each.before, []).append(each.after)
    return found


def test_no_fault_where_by_its_kind_none_can_be_noticed(tmp_path):
    source = """
import sys
ROWS_AT_ONCE = 64
MOST_ROWS = 64
def read(deep=True, much=2): return much
def everything(deep=True): return dict(locals())
def pairs(a, b): return list(zip(a, b, strict=True))
def version(): return sys.version_info >= (3, 14)
"""
    assert faults(python_mutants, tmp_path / "some.py", source) == {
        "MOST_ROWS = 64": ["MOST_ROWS = 128"],
        "def read(deep=True, much=2): return much": [
            "def read(deep=True, much=3): return much",
            "def read(deep=True, much=2): return None",
        ],
        "def everything(deep=True): return dict(locals())": [
            "def everything(deep=False): return dict(locals())",
            "def everything(deep=True): return None",
        ],
        "def pairs(a, b): return list(zip(a, b, strict=True))": [
            "def pairs(a, b): return None",
        ],
    }


def test_no_fault_in_hints_to_the_processor(tmp_path):
    source = """
void look(const Table& t) {
    if (t.rows > 0)
        for (std::size_t i = 0; i < t.rows; i += 8) __builtin_prefetch(t.row(i));
    if (t.rows > 1) t.sort();
}
"""
    found = faults(cpp_mutants, tmp_path / "some.hpp", source)
    assert found == {
        "if (t.rows > 1) t.sort();": [
            "if (t.rows > 2) t.sort();",
            "if (t.rows >= 1) t.sort();",
            "if (t.rows > 1) ;",
        ]
    }
