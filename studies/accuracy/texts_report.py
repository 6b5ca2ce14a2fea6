"""The tables and the figure of docs/studies/text.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from studies.accuracy.texts import FRESH, METHODS, NAMES, ROOT, cells

PAGE = ROOT / "docs" / "studies" / "text.md"
PICTURE = ROOT / "docs" / "images" / "text.png"
STYLES = {
    "TextClassifier": ("#0072B2", "o"),
    "Vowpal Wabbit": ("#E69F00", "^"),
    "Vowpal Wabbit, pairs": ("#E69F00", "v"),
    "scikit-learn": ("#009E73", "s"),
}
HEADS = {
    "Vowpal Wabbit": "Vowpal Wabbit, best loss",
    "Vowpal Wabbit, pairs": "Vowpal Wabbit with `--ngram 2`",
    "scikit-learn": "scikit-learn",
}
Results = dict[str, dict[str, list[float]]]


def write(folder: Path) -> None:
    """Write the tables and the figure of the tasks that were run to the documentation."""
    for mark, names in (("table", NAMES), ("fresh", FRESH)):
        results = _results(folder, names)
        if results:
            _write_table(folder, mark, results)
    if results := _results(folder, NAMES):
        _draw(results)


def _results(folder: Path, names: Iterable[str]) -> Results:
    """Return the errors of the methods that were run on these tasks."""
    results = {
        name: {m: [cell["error"] for cell in cells(folder, name, m)] for m in METHODS}
        for name in names
    }
    ran = [m for m in METHODS if any(found[m] for found in results.values())]
    return {
        name: {method: found[method] for method in ran}
        for name, found in results.items()
        if found["TextClassifier"]
    }


def _write_table(folder: Path, mark: str, results: Results) -> None:
    sizes = {name: cells(folder, name, "TextClassifier")[0] for name in results}
    text = "\n".join([*_lines(results, sizes), "", _verdict(results)])
    page = PAGE.read_text(encoding="utf-8")
    marks = rf"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)"
    PAGE.write_text(
        re.sub(marks, lambda m: m[1] + text + "\n" + m[2], page, flags=re.DOTALL), encoding="utf-8"
    )


def _lines(results: Results, sizes: dict[str, dict[str, int]]) -> list[str]:
    peers = [HEADS[method] for method in next(iter(results.values())) if method in HEADS]
    head = ["task", "texts", "classes", "`TextClassifier()`", *peers, "orders of each"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for name, found in results.items():
        best = min(np.mean(errors) for errors in found.values() if errors)
        shown = [
            "–"
            if not errors
            else f"**{100 * np.mean(errors):.2f}**"
            if np.mean(errors) == best
            else f"{100 * np.mean(errors):.2f}"
            for errors in found.values()
        ]
        size = sizes[name]
        orders = ", ".join(str(len(errors)) for errors in found.values())
        row = [name, f"{size['rows']:,}", str(size["classes"]), *shown, orders]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def _verdict(results: Results) -> str:
    parts = []
    for peer in list(next(iter(results.values())))[1:]:
        both = [
            (np.mean(found["TextClassifier"]), np.mean(found[peer]))
            for found in results.values()
            if found[peer]
        ]
        fewer = sum(ours < theirs for ours, theirs in both)
        parts.append(f"than {HEADS[peer]} on {fewer} of {len(both)} tasks")
    return f"`TextClassifier()` makes fewer mistakes {', '.join(parts)}."


def _draw(results: Results) -> None:
    from aggro.plot import close_figure, open_figure

    figure, (axes,) = open_figure(PICTURE, figsize=(7.5, 4.4))
    places = np.arange(len(results))
    for method in next(iter(results.values())):
        colour, marker = STYLES[method]
        there = [i for i, found in enumerate(results.values()) if found[method]]
        means = [
            np.mean(found[method]) / np.mean(found["TextClassifier"])
            for found in results.values()
            if found[method]
        ]
        axes.plot(means, places[there], marker, color=colour, label=method, ms=7)
    axes.axvline(1.0, color="#000000", lw=0.8)
    axes.set_yticks(places, list(results))
    axes.invert_yaxis()
    axes.set_xlabel("mistakes relative to TextClassifier() (right of 1: more)")
    axes.legend(frameon=False, fontsize=8)
    close_figure(figure, PICTURE)
