"""The tables and the figure of docs/studies/tuning.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from studies.accuracy import cells, ours
from studies.accuracy.ours import ONLY_C, RECOMMENDED
from studies.accuracy.pages import fill, row
from studies.accuracy.results import PEERS, Result, gaps, load, tally

PAGE = cells.ROOT / "docs" / "studies" / "tuning.md"
PICTURE = cells.ROOT / "docs" / "images" / "tuning.png"
LARGE = 5000
COLUMNS = ("best C", "C=1", *PEERS)
FRESH_METHODS = (RECOMMENDED, "C=1", "sklearn PA", "Vowpal Wabbit", "river logistic")
LOSS_SHOWN = {"squared": '"squared_…"', "recommended": f'"{ours.LOSSES["recommended"][0]}"'}
HEADS = {"best C": "best fixed C", "sklearn PA best C": "sklearn PA, best C"}


def write(folder: str | Path, names: list[str], into_docs: bool = True) -> None:
    """Print the tables, or write them and the figure to the documentation."""
    results = load(folder, names)
    parts = {
        "verdicts": verdicts(results),
        "spellings": spellings(results),
        "table": table(results),
    }
    if not into_docs:
        print("\n\n".join(parts.values()))
        return
    from studies.accuracy.picture import draw

    draw(results, PICTURE)
    fill(PAGE, parts)


def write_fresh(folder: str | Path, names: list[str], into_docs: bool = True) -> None:
    """Print the table of sets not used for design decisions, or write it to the documentation."""
    text = fresh_table(load(folder, names))
    if into_docs:
        fill(PAGE, {"fresh": text})
    else:
        print(text)


def fresh_table(results: list[Result]) -> str:
    """Return the errors of aggro and other libraries on each set, and the wins."""
    peers = FRESH_METHODS[1:]
    wins = [
        f"{better} better, {level} level, {worse} worse"
        for better, level, worse in (tally(results, method) for method in peers)
    ]
    head = ["set", "rows", "columns", "aggro", *peers]
    lines = [row(head), row(["---"] + ["--:"] * (len(head) - 1))]
    lines += [row(_cells(r, peers)) for r in results]
    return "\n".join([*lines, row(["**aggro is**", "", "", "", *wins])])


def _percent(error: float) -> str:
    if error > 10:
        return "> 1000"
    return f"{100 * error:.0f}" if error >= 1 else f"{100 * error:.2f}"


def table(results: list[Result]) -> str:
    """Return the error of each method on each set; bold if below aggro's."""
    head = ["set", "rows", "columns", "aggro", *(HEADS.get(c, c) for c in COLUMNS)]
    lines = []
    for task in ("binary", "multiclass", "regression"):
        unit = "error relative to the best constant, %" if task == "regression" else "error, %"
        lines += [
            "",
            f"**{task}** ({unit})",
            "",
            row(head),
            row(["---"] + ["--:"] * (len(head) - 1)),
        ]
        lines += [row(_cells(r, COLUMNS)) for r in results if r.task == task]
    return "\n".join(lines[1:])


def _cells(r: Result, columns: Sequence[str]) -> list[str]:
    name = r.name + (" ⏱" if r.ordered else "")
    cells_ = [name, f"{r.rows}", f"{r.features}", _percent(r.ours())]
    for method in columns:
        if method != "best C" and not r.found[method]:
            cells_.append("")
            continue
        text = _percent(r.of(method))
        text = f"**{text}**" if r.of(method) < r.ours(method) else text
        if method.startswith("river") and r.rows > r.found[method][0]["rows"]:
            text += f" ({_percent(r.ours(method))})"
        cells_.append(text)
    return cells_


def verdicts(results: list[Result]) -> str:
    """Return the distances to the best C and the wins."""
    orders = min(len(r.found["C=1"]) for r in results if not r.ordered)
    large, small = (
        gaps([r for r in results if r.classes and (r.rows >= LARGE) == is_large])
        for is_large in (True, False)
    )
    numbers = gaps([r for r in results if not r.classes])
    lines = [
        f"- {len(results)} sets, {orders} random orders each (the time order where there is one).",
        f"- Cost of not knowing C: the error of `{_spelled(ONLY_C)}` minus that of the best "
        f"fixed C in hindsight, from the same grid: **{large.mean():+.2f} percentage points** in "
        f"the mean on the {len(large)} classifications of {LARGE} rows or more (at most "
        f"{large.max():+.2f}), "
        f"**{small.mean():+.2f}** on the {len(small)} smaller (at most {small.max():+.2f}), "
        f"{numbers.mean():+.2f} on the {len(numbers)} regressions (of 100 for the best constant). "
        "A negative value means that the moving grid was better than the fixed one.",
        f'- Below, *aggro* is `{_spelled(RECOMMENDED)}`, with `features="linear"`.',
        "",
        row(["against", "aggro better", "level (±1 %)", "aggro worse", "median ratio of errors"]),
        row(["---", "--:", "--:", "--:", "--:"]),
    ]
    for method in COLUMNS:
        better, level, worse = tally(results, method)
        ratios = [r.ratio(method) for r in results if method == "best C" or r.found[method]]
        count = better + level + worse
        share = f"{better} of {count} ({better / count:.0%})"
        name = HEADS.get(method, method)
        name = f"aggro, {name}" if method in ("best C", "C=1") else name
        lines.append(row([name, share, str(level), str(worse), f"{np.median(ratios):.2f}"]))
    return "\n".join(lines)


def spellings(results: list[Result]) -> str:
    """Return the comparison of the variants of C="auto"."""
    errors = np.array([[r.errors(s)[:2].mean() for s in ours.SPELLINGS] for r in results])
    best = errors.min(axis=1, keepdims=True)
    lines = [
        row(["parameters", "best or within 1 %", "mean gap to the best", "worst gap"]),
        row(["---", "--:", "--:", "--:"]),
    ]
    gaps = errors / best - 1
    for i, name in enumerate(ours.SPELLINGS):
        text = _spelled(name)
        mark = "**" if name == RECOMMENDED else ""
        near = f"{(gaps[:, i] <= 0.01).sum()} of {len(results)}"
        mean, most = f"{gaps[:, i].mean():+.1%}", f"{gaps[:, i].max():+.0%}"
        lines.append(row([f"{mark}`{text}`{mark}", near, mean, most]))
    return "\n".join(lines)


def _spelled(spelling: str) -> str:
    axes = ours.SPELLINGS[spelling]
    return ", ".join(['C="auto"', *(_axis(k, v) for k, v in axes.items())])


def _axis(name: str, value: object) -> str:
    return f"loss={LOSS_SHOWN[str(value)]}" if name == "loss" else f'{name}="{value}"'
