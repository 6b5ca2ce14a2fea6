"""Tables in the documentation, between marks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def row(cells: Iterable[str]) -> str:
    """Return one row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def fill(page: Path, parts: dict[str, str]) -> None:
    """Write each text between ``<!-- name -->`` and ``<!-- end of name -->`` of a page."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if not marks.search(text):
            raise ValueError(f"{page} has no marks <!-- {name} --> to write between.")
        text = marks.sub(lambda m, part=part: m[1] + part + "\n" + m[2], text)
    page.write_text(text, encoding="utf-8")
