"""Mutation testing: every module has tests, and the test that detects a fault is identified."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))
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


def test_every_pattern_of_the_table_matches_files():
    for pattern, tests in trial.TABLE.items():
        assert any(ROOT.glob(pattern)), pattern
        for test in tests:
            assert any(ROOT.glob(test)), f"{pattern}: {test}"


def test_failing_test_is_identified_by_its_full_id(tmp_path, monkeypatch):
    """The id selects the test in another run; threads left running do not delay the exit."""
    monkeypatch.setattr(trial, "FOLDER", tmp_path)
    sandbox = trial.Sandbox("sandbox", [])
    shutil.rmtree(sandbox.folder / "aggro")
    name = "{'metric': 'full'} - and more"
    test = tmp_path / "test_it.py"
    test.write_text(
        "import threading\nimport pytest\n\n"
        f"@pytest.mark.parametrize('fails', [True, False], ids=[{name!r}, {name + '!'!r}])\n"
        "def test_sometimes(fails):\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    assert not fails\n"
    )
    failing_test = trial._failing_test(*sandbox.run([str(test)], 60))
    assert failing_test.endswith(f"test_it.py::test_sometimes[{name}]")
    assert sandbox.run([f"{test}::test_sometimes[{name}!]"], 60)[0] == 0


def faults(find, path, source):
    """Return the lines with faults, and the faults of each."""
    path.write_text(source)
    found = {}
    for mutant in find(str(path)):
        found.setdefault(mutant.before, []).append(mutant.after)
    return found


def test_code_without_effect_on_results_gets_no_faults(tmp_path):
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


def test_prefetch_statements_get_no_faults(tmp_path):
    source = """
void read(const Table& t) {
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
