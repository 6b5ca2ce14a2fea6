"""Expand "As in ``X``." in docstrings to the parameter descriptions of X."""

import inspect
import re
from collections.abc import Sequence
from typing import Any

import aggro

ROLE = re.compile(r":(?:ref|term|func|class|mod|math):`~?([^`<]+?)(?: <[^`]*>)?`")
ENTRY = re.compile(r"As in ``(\w+)``")
DEFAULT = re.compile(r"default=.*$")


def entries(doc: Sequence[str]) -> tuple[int, int, list[tuple[list[str], list[str]]]]:
    """Return the first and last line of the parameters, and the names and lines of each.

    >>> entries(["Parameters", "----------", "C, D : float", "    Text.", "", "Examples", "---"])
    (2, 5, [(['C', 'D'], ['C, D : float', '    Text.', ''])])
    """
    if "Parameters" not in doc:
        return 0, 0, []
    start = list(doc).index("Parameters") + 2
    heads = [k for k in range(start, len(doc) - 1) if set(doc[k + 1]) == {"-"}]
    end = heads[0] if heads else len(doc)
    found: list[tuple[list[str], list[str]]] = []
    for line in doc[start:end]:
        if line and not line.startswith(" "):
            names = line.partition(" : ")[0].replace("\\", "").split(",")
            found.append(([name.strip() for name in names], [line]))
        elif found:
            found[-1][1].append(line)
    return start, end, found


def default_of(thing: Any, name: str) -> str:
    """Return the default of a parameter in the style of docstrings."""
    value = inspect.signature(thing).parameters[name].default
    return f'"{value}"' if isinstance(value, str) else str(value).replace("0.001", "1e-3")


def parameters(thing: Any) -> dict[str, list[str]]:
    """Return the complete entry of each parameter."""
    doc = expanded((inspect.getdoc(thing) or "").split("\n"), thing)
    return {one: lines for names, lines in entries(doc)[2] for one in names}


def expanded(doc: Sequence[str], thing: Any) -> list[str]:
    """Return a docstring with inherited entries inserted, with the defaults of ``thing``."""
    start, end, found = entries(doc)
    lines: list[str] = []
    for names, text in found:
        where = ENTRY.search(" ".join(text))
        known = parameters(getattr(aggro, where[1])) if where else {}
        if where and all(name in known for name in names):
            for name in names:
                shown = f"default={default_of(thing, name)}"
                head = DEFAULT.sub(lambda _, shown=shown: shown, known[name][0])
                lines += [head, *(line for line in known[name][1:] if line.strip())]
        else:
            lines += text
    return [*doc[:start], *lines, "", *doc[end:]] if found else list(doc)


def process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Expand a docstring for Sphinx; references to other projects become text."""
    lines[:] = [ROLE.sub(r"``\1``", line) for line in lines]
    if what in ("class", "function"):
        lines[:] = expanded(lines, thing)
