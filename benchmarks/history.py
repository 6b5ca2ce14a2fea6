"""History of the benchmarks: one file of ratios per version, to show slowdowns in reviews."""

from __future__ import annotations

import json
from pathlib import Path

import aggro
from benchmarks.report import machine

FOLDER = Path(__file__).resolve().parent / "history"
CHANGE = 0.1  # smaller differences are noise


def ratios(rows):
    """Return ratios that are comparable between machines: to the floor and to other libraries."""
    found = {}
    for row in rows:
        each = {name: round(peer["times_faster"], 2) for name, peer in row["peers"].items()}
        if row["of_floor"]:
            each["floor"] = round(1 / row["of_floor"], 3)
        if each:
            found[row["name"]] = each
    return found


def previous(folder=FOLDER):
    """Return the newest entry, of this version or an earlier one, or None."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return max(entries, key=lambda entry: entry["date"], default=None)


def compare(rows, before):
    """Return a line for each ratio that changed, slowdowns first."""
    changes = []
    for name, now in ratios(rows).items():
        for other, times in now.items():
            was = before["times_faster"].get(name, {}).get(other)
            if was and abs(times / was - 1) > CHANGE:
                changes.append((times / was, name, other, was, times))
    return [
        f"{'slower' if change < 1 else 'faster'}: {name}, {was:g} -> {times:g} times {other}"
        for change, name, other, was, times in sorted(changes)
    ]


def update(rows, folder=FOLDER):
    """Print changes since the previous entry, and write the entry of this version.

    Rows that were not measured keep their ratios.
    """
    before = previous(folder)
    if before:
        changes = compare(rows, before)
        print(f"against version {before['version']} ({before['date']}):")
        print("\n".join(changes) or f"no ratio changed by more than {CHANGE:.0%}")
    path = folder / f"{aggro.__version__}.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["times_faster"] if path.exists() else {}
    where = machine()
    entry = {
        "version": aggro.__version__,
        "date": where["date"],
        "processor": where["processor"],
        "core": where["core"],
        "times_faster": {**kept, **ratios(rows)},
    }
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
