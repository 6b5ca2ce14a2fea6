"""Additional tables: preparations, the exact rule, the queue, stand-ins, C and γ."""

from __future__ import annotations

from collections.abc import Iterable

from studies.papers.class_means import texts
from studies.papers.class_means.data import REAL, STAND_INS
from studies.papers.class_means.learning import EXACT_PULLS
from studies.papers.class_means.numbers import COLUMNS, PUBLISHED, SUFFIXES, runs
from studies.papers.experiment import Results
from studies.papers.tables import markdown

EXACT = [f"exact PAm{suffix}" for suffix in SUFFIXES]
QUEUE = [f"PAmW{suffix}" for suffix in SUFFIXES]


def beside(results: Results) -> str:
    """Return the further tables, as Markdown."""
    sets = [name for name in (*REAL, *STAND_INS) if len(results.where(part="orders", set=name))]
    real, made = ([s for s in sets if s in group] for group in (REAL, STAND_INS))
    lines = ["### Preparations", "", texts.PREPARATIONS, "", *_preparations(results, real)]
    lines += ["", "### The exact rule and the queue", ""]
    lines += [texts.EXACT, ""]
    lines += markdown(["", *EXACT, *QUEUE], _rows(results, real, EXACT + QUEUE))
    lines += ["", "### Stand-ins for alpha, delta and gamma", "", texts.STAND_INS, ""]
    lines += markdown(["", *COLUMNS, *EXACT], _rows(results, made, [*COLUMNS, *EXACT]))
    lines += ["", "### C and γ", "", texts.CHOICE.format(*_least(results, sets)), ""]
    lines += markdown(["", *COLUMNS, *EXACT], _choices(results, sets, [*COLUMNS, *EXACT]))
    return "\n".join(lines)


def _preparations(results: Results, sets: list[str]) -> list[str]:
    printed = {(e.table, e.row): e.value for e in PUBLISHED if e.column == "PA"}
    rows = [
        ["*printed*"]
        + [f"*{printed['Table III', s]:.0f}, {printed['Table IV', s]:.4f}*" for s in sets]
    ]
    found = {s: results.where(part="preparation", set=s).pairs[0][1] for s in sets}
    for kind in found[sets[0]] if sets else ():
        row = [kind]
        for name in sets:
            updates, error = (found[name][kind][key] for key in ("updates", "error"))
            row.append(f"{updates['mean']:.0f}, {error['mean']:.4f} ± {error['half']:.4f}")
        rows.append(row)
    return markdown(["preparation", *sets], rows)


def _rows(results: Results, sets: Iterable[str], variants: list[str]) -> list[list[str]]:
    table = []
    for name in sets:
        row = [name]
        for variant in variants:
            errors = runs(results, name, variant, "error")
            updates = runs(results, name, variant, "updates").mean()
            row.append(f"{errors.mean():.4f} ± {errors.std(ddof=1):.4f}<br>{updates:.0f}")
        table.append(row)
    return table


def _least(results: Results, sets: Iterable[str]) -> tuple[int, int]:
    """Return how often the exact rule chooses the smallest pull, and the number of choices."""
    found = [
        results.where(part="orders", set=name).pairs[0][1]["choice"][variant]["class_mean"]
        for name in sets
        for variant in EXACT
    ]
    return sum(pull == EXACT_PULLS[0] for pull in found), len(found)


def _choices(results: Results, sets: Iterable[str], variants: list[str]) -> list[list[str]]:
    table = []
    for name in sets:
        chosen = results.where(part="orders", set=name).pairs[0][1]["choice"]
        row = [name]
        for variant in variants:
            C = "" if variant.endswith(("PA", "PAm")) else f"{chosen[variant]['C']:g}"
            pull = f"*{chosen[variant]['class_mean']:g}*" if "PAm" in variant else ""
            row.append("<br>".join(text for text in (C, pull) if text) or "–")
        table.append(row)
    return table
