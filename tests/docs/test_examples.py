"""The examples in docstrings give the documented output."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import aggro

FOLDER = Path(aggro.__file__).parent
MODULES = [
    ".".join(("aggro", *path.relative_to(FOLDER).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(FOLDER.glob("**/*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def test_modules_have_examples():
    assert len(MODULES) > 50


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_give_the_documented_output(name, capsys):
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0, capsys.readouterr().out
