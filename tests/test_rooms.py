"""The folders show the architecture: a room uses itself and rooms before it, never a later one."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ["base", "step", "rows", "linear", "kernel", "stream", "text", "words", "bind"]
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
    "learn",
    "plot",
    "files",
    "estimators",
    "stream",
    "text",
    "models",
    "sweeping",
    "datasets",
    "demo",
    "merging",
    "dask",
    "serve",
    "cli",
]
LIGHT = [
    "learn",
    "labels",
    "sklearn_api",
    "estimators",
    "sweeping",
    "settings",
    "variants",
    "stream",
]
LIGHT += ["files", "cli"]


def core_uses():
    for path in sorted((ROOT / "core").glob("*/*.?pp")):
        for room in re.findall(r'#include "(\w+)/', path.read_text()):
            yield path, path.parent.name, room


def package_uses():
    home = ROOT / "src" / "aggro"
    for path in sorted(home.rglob("*.py")):
        room = path.relative_to(home).parts[0].removesuffix(".py")
        if room != "__init__":
            for used in re.findall(r"^\s*(?:from|import) aggro\.(\w+)", path.read_text(), re.M):
                yield path, room, used


@pytest.mark.parametrize("rooms, uses", [(CORE, core_uses), (PACKAGE, package_uses)])
def test_a_room_uses_only_the_rooms_before_it(rooms, uses):
    found = list(uses())
    wrong = [
        f"{path.relative_to(ROOT)} uses {used}"
        for path, room, used in found
        if rooms.index(used) > rooms.index(room)
    ]
    assert found and not wrong


def test_light_rooms_import_neither_scikit_learn_nor_scipy():
    heavy = re.compile(r"^(?:from|import) (sklearn|scipy|matplotlib|pandas)\b", re.M)
    files = [
        path
        for room in LIGHT
        for path in [*(ROOT / "src/aggro" / room).rglob("*.py"), ROOT / f"src/aggro/{room}.py"]
        if path.exists()
    ]
    assert len(files) > 50
    assert not [str(path) for path in files if heavy.search(path.read_text())]


LONGEST = 500


def long_files():
    """Lines of each file that people write; stubs are made by a tool."""
    for folder, pattern in [("core", "*.?pp"), ("src", "*.py"), ("src", "*.js")]:
        for path in sorted((ROOT / folder).rglob(pattern)):
            yield path.relative_to(ROOT), len(path.read_text().splitlines())


def test_a_file_is_short_enough_to_be_read():
    found = dict(long_files())
    assert len(found) > 100
    assert {path: lines for path, lines in found.items() if lines > LONGEST} == {}
