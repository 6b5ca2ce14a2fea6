"""Store of finished cells: a JSON file each, valid until its code changes."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import aggro
from aggro.atomic import replacing
from studies.papers.experiment import Cell, Results

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "papers"
TYPES_ONLY = "studies.papers.experiment"  # no number depends on it


def code_of(experiment: ModuleType) -> str:
    """Return a hash of the code that ``run`` depends on, and of aggro's version.

    It is the module that defines ``run``, and what that imports from the same packages. Texts,
    claims and figures that live in other modules can change without running anything again.
    """
    seen: dict[str, bytes] = {}
    _follow(experiment.run.__module__, seen)
    text = b"".join(seen[name] for name in sorted(seen))
    return hashlib.sha256(aggro.__version__.encode() + text).hexdigest()[:16]


def _follow(module: str, seen: dict[str, bytes]) -> None:
    spec = importlib.util.find_spec(module)
    if module in seen or module == TYPES_ONLY or spec is None or spec.origin is None:
        return
    seen[module] = Path(spec.origin).read_bytes()
    for imported in _imports(ast.parse(seen[module]), module.partition(".")[0]):
        _follow(imported, seen)


def _imports(tree: ast.Module, package: str) -> set[str]:
    """Return the modules of a package that a source imports (with absolute names)."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in names if _is_module(name)}
            found |= modules | ({str(node.module)} if modules != names else set())
    return {name for name in found if name.partition(".")[0] == package}


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is not a package
        return False


class Store:
    """The finished cells of one experiment."""

    def __init__(self, experiment: ModuleType, build: Path = BUILD) -> None:
        self.name = experiment.__name__.rpartition(".")[2]
        self.folder = build / self.name
        self.code = code_of(experiment)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        text = json.dumps(cell, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """Return the stored outcome of a cell, even if its code has changed since."""
        try:
            kept: dict[str, Any] = json.loads(self.path(cell).read_bytes())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return kept

    def is_done(self, cell: Cell) -> bool:
        """Return whether the cell was run by the current code."""
        kept = self.read(cell)
        return kept is not None and kept["code"] == self.code

    def seconds(self, cell: Cell) -> float | None:
        """Return the CPU time of the last run, whatever its code."""
        kept = self.read(cell)
        return None if kept is None else float(kept["cpu_seconds"])

    def keep(self, cell: Cell, text: str, seconds: float) -> None:
        """Write an outcome, given as JSON, atomically."""
        self.folder.mkdir(parents=True, exist_ok=True)
        head = {"cell": cell, "code": self.code, "cpu_seconds": round(seconds, 3)}
        with replacing(self.path(cell)) as file:
            file.write(f'{json.dumps(head)[:-1]}, "outcome": {text}}}\n'.encode())

    def results(self, cells: list[Cell]) -> Results:
        """Return the results of the finished cells among these."""
        kept = [(cell, self.read(cell)) for cell in cells]
        return Results((c, k["outcome"]) for c, k in kept if k and k["code"] == self.code)
