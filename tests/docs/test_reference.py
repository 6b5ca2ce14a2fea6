"""The API reference is complete: every public name has a page and a runnable example."""

import doctest
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import expand  # noqa: E402 -- in the folder of the site
import reference  # noqa: E402

NAMES = [(module, name) for module in reference.MODULES for name in reference.public(module)]


def test_every_public_module_has_its_names_in_the_reference():
    import aggro

    modules = {name for name in aggro.__all__ if inspect.ismodule(getattr(aggro, name))}
    assert {f"aggro.{name}" for name in modules} == set(reference.MODULES) - {"aggro"}
    assert len(NAMES) > 50


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda part: part)
def test_every_name_has_an_example_that_runs_when_pasted(module, name):
    thing = getattr(import_module(module), name)
    tests = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
    assert sum(len(test.examples) for test in tests) > 0, f"{module}.{name} has no example"
    printed = []
    for test in tests:
        doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    assert not printed, "".join(printed)


def test_every_name_has_its_page_and_is_listed():
    pages = reference.pages()
    assert set(pages) == {f"{module}.{name}" for module, name in NAMES} | {"index"}
    for module, name in NAMES:
        assert f"`{name} <{module}.{name}>`" in pages["index"]
        assert "seealso" in pages[f"{module}.{name}"]


TASKS = ("Classifier", "Regressor")
NAME = re.compile(r"``(\w+)``")
DESCRIBED = [
    name
    for module, name in NAMES
    if module == "aggro" and "Parameters" in (inspect.getdoc(getattr(import_module(module), name)))
]


def test_all_estimators_and_streams_describe_their_parameters():
    assert sum(name.endswith(("Classifier", "Regressor", "Perceptron")) for name in DESCRIBED) == 15


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_parameter_is_described_with_its_default(name):
    thing = getattr(import_module("aggro"), name)
    described = expand.parameters(thing)
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        assert parameter.name in described, f"{name}: {parameter.name} is not described"
        head, _, documented = described[parameter.name][0].partition("default=")
        assert not documented or documented == expand.default_of(thing, parameter.name), head


@pytest.mark.parametrize("name", DESCRIBED)
def test_inherited_descriptions_have_equal_defaults(name):
    """Unless the description gives a default."""
    import aggro

    thing = getattr(aggro, name)
    for names, lines in expand.entries((inspect.getdoc(thing) or "").split("\n"))[2]:
        where = expand.ENTRY.search(" ".join(lines))
        if where is None or "default" in " ".join(lines):
            continue
        for one in names:
            there = expand.default_of(getattr(aggro, where[1]), one)
            assert expand.default_of(thing, one) == there, f"{name}: {one}"


def test_inherited_descriptions_are_inserted():
    import aggro

    described = expand.parameters(aggro.AROWClassifier)
    assert "continues the current model" in "\n".join(described["warm_start"])
    own = inspect.signature(aggro.AROWClassifier).parameters["multiclass"].default
    assert described["multiclass"][0].endswith(f'default="{own}"')


FAMILIES = [f"{kind}PassiveAggressive{task}" for kind in ("", "Kernel") for task in TASKS]


@pytest.mark.parametrize("name", [*FAMILIES, *(f"Auto{task}" for task in TASKS)])
def test_parameters_are_described_in_the_order_of_their_groups(name):
    doc = inspect.getdoc(getattr(import_module("aggro"), name))
    groups = doc.partition("The parameters come in groups:")[2].partition("Parameters\n---")[0]
    listed = [one for group in groups.split("- ")[1:] for one in NAME.findall(group.split(": ")[1])]
    assert listed == list(expand.parameters(getattr(import_module("aggro"), name)))
