"""In docstrings "As in ``X``." saves words; on the site the words of X are put there."""

import inspect
import re
from typing import Any

import aggro

ENTRY = re.compile(r"As in ``(\w+)``")


def entries(doc: list[str]) -> tuple[int, int, list[tuple[list[str], list[str]]]]:
    """Return where the parameters begin and end, and each: its names, its lines.

    >>> entries(["Parameters", "----------", "C, D : float", "    Price.", "", "Examples", "---"])
    (2, 5, [(['C', 'D'], ['C, D : float', '    Price.', ''])])
    """
    try:
        start = doc.index("Parameters") + 2
    except ValueError:
        return 0, 0, []
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


def parameters(name: str) -> dict[str, list[str]]:
    """Return the entry of each parameter of a public name, references expanded."""
    doc = expanded(inspect.getdoc(getattr(aggro, name)).split("\n"))
    return {one: lines for names, lines in entries(doc)[2] for one in names if len(names) == 1}


def expanded(doc: list[str]) -> list[str]:
    """Return a docstring whose parameters stand for themselves."""
    start, end, found = entries(doc)
    if not found:
        return doc
    lines: list[str] = []
    for names, text in found:
        where = ENTRY.search(" ".join(text))
        known = parameters(where[1]) if where else {}
        if where and all(name in known for name in names):
            for name in names:
                lines += [line for line in known[name] if line.strip()]
        else:
            lines += text
    return [*doc[:start], *lines, "", *doc[end:]]


def process(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Sphinx calls this with each docstring before it is read."""
    if what in ("class", "function"):
        lines[:] = expanded(lines)
