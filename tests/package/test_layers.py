"""Imports follow the layers: a package imports only itself and packages listed before it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = [
    "base",
    "losses",
    "constraints",
    "qp",
    "rows",
    "features",
    "linear",
    "kernel",
    "stream",
    "parsers",
    "text",
    "bindings",
]
PACKAGE = [
    "_cpu",
    "_core",
    "atomic",
    "extras",
    "checks",
    "settings",
    "variants",
    "labels",
    "sklearn_api",
    "transaction",
    "classes",
    "learner",
    "kernel_learner",
    "reference_row",
    "selection",
    "training_batch",
    "calibration",
    "plot",
    "explanation",
    "io",
    "estimators",
    "feature_map",
    "stream",
    "text",
    "persistence",
    "sweeping",
    "datasets",
    "demo",
    "merging",
    "dask",
    "spark",
    "serve",
    "cli",
]
LIGHT = [
    "learner",
    "selection",
    "calibration",
    "labels",
    "sklearn_api",
    "estimators",
    "sweeping",
    "settings",
    "variants",
    "stream",
]
LIGHT += ["io", "cli"]


def core_uses():
    for path in sorted((ROOT / "core").glob("*/*.?pp")):
        for package in re.findall(r'#include "(\w+)/', path.read_text()):
            yield path, path.parent.name, package


def package_uses():
    home = ROOT / "src" / "aggro"
    for path in sorted(home.rglob("*.py")):
        package = path.relative_to(home).parts[0].removesuffix(".py")
        if package != "__init__":
            for used in re.findall(r"^\s*(?:from|import) aggro\.(\w+)", path.read_text(), re.M):
                yield path, package, used


@pytest.mark.parametrize("packages, uses", [(CORE, core_uses), (PACKAGE, package_uses)])
def test_a_package_uses_only_the_packages_before_it(packages, uses):
    found = list(uses())
    wrong = [
        f"{path.relative_to(ROOT)} uses {used}"
        for path, package, used in found
        if packages.index(used) > packages.index(package)
    ]
    assert found and not wrong


def test_light_packages_import_neither_scikit_learn_nor_scipy():
    heavy = re.compile(r"^(?:from|import) (sklearn|scipy|matplotlib|pandas)\b", re.M)
    files = [
        path
        for package in LIGHT
        for path in [
            *(ROOT / "src/aggro" / package).rglob("*.py"),
            ROOT / f"src/aggro/{package}.py",
        ]
        if path.exists()
    ]
    assert len(files) > 50
    assert not [str(path) for path in files if heavy.search(path.read_text())]
