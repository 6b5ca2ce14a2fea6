"""The table of results: printed, as JSON, as a figure, and in the documentation."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path

PEERS = {  # colours of Okabe and Ito, distinguishable with colour blindness
    "scikit-learn": "#0072B2",
    "Vowpal Wabbit": "#E69F00",
    "river": "#009E73",
    "scikit-learn SVC": "#56B4E9",
}
PACKAGES = ("aggro", "numpy", "scipy", "scikit-learn", "river", "vowpalwabbit")


def print_head():
    """Print the names of the columns."""
    print(f"{'work':40} {'per row':>9} {'x floor':>15}  peers: times faster (wanted)")


def print_row(row):
    """Print one row, followed by its missed targets."""
    per_row = row["seconds"] / row["rows"] * 1e9
    time = f"{per_row:.0f} ns" if per_row < 1e4 else f"{per_row / 1e3:.1f} us"
    floor = f"{row['of_floor']:.2f} (<{row['at_most']:g})" if row["of_floor"] else "-"
    peers = ", ".join(_peer(name, peer) for name, peer in row["peers"].items())
    memory = f"  [{row['mebibytes']:.0f} MiB]" if row.get("mebibytes") is not None else ""
    print(f"{row['name']:40} {time:>9} {floor:>15}  {peers}{memory}")
    for problem in row["problems"]:
        print(f"{'':40} ! {problem}")


def _peer(name, peer):
    wanted = f" (>{peer['at_least']:g})" if peer["at_least"] else ""
    memory = f" [{peer['mebibytes']:.0f} MiB]" if peer.get("mebibytes") is not None else ""
    return f"{name} {peer['times_faster']:.1f}{wanted}{memory}"


def machine():
    """Return the machine and the versions of the measurements."""
    from aggro import _core

    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "core": _core._level,
        "versions": versions,
    }


def _processor():
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def save(rows, path):
    """Write everything as JSON."""
    Path(path).write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


def write_docs(rows, path, complete=True):
    """Write the table of a page between its marks; met targets are bold.

    If the rows are not complete, they replace those of the same name, and the others stay.
    """
    head = "| work | per row | × floor | of | wanted | times faster than | wanted |"
    page, marks = Path(path), ("<!-- benchmarks -->\n", "<!-- end of benchmarks -->")
    before, rest = page.read_text(encoding="utf-8").split(marks[0])
    table, after = rest.split(marks[1])
    kept = [] if complete else table.splitlines()[2:]
    lines = {line.split("|")[1].strip(): line for line in kept} | {
        row["name"]: _line(row) for row in rows
    }
    table = "\n".join([head, "|---|---:|---:|---|---:|---|---|", *lines.values()]) + "\n"
    page.write_text(before + marks[0] + table + marks[1] + after, encoding="utf-8")


def _line(row):
    per_row = row["seconds"] / row["rows"] * 1e9
    time = f"{per_row:.0f} ns" if per_row < 1e4 else f"{per_row / 1e3:.0f} µs"
    floor = ["–", "–", "–"]
    if row["of_floor"]:
        times = _bold(f"{row['of_floor']:.2f}", row["of_floor"] <= row["at_most"])
        floor = [times, row["floor"], f"{row['at_most']:g}"]
    peer = ["–", "–"]
    for name, found in row["peers"].items():
        times = found["times_faster"]
        text = f"{times:.0f}" if times >= 10 else f"{times:.1f}"
        peer = [f"{name} {_bold(text, times >= found['at_least'])}", f"{found['at_least']:g}"]
    return "| " + " | ".join([row["name"], time, *floor, *peer]) + " |"


def _bold(text, reached):
    return f"**{text}**" if reached else text


def plot(rows, path):
    """Draw the speed-up of aggro's defaults over each library."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    bars = [
        (row["name"], name, peer["times_faster"])
        for row in rows
        if row["default"]
        for name, peer in row["peers"].items()
    ][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.3 * len(bars) + 1.2), layout="constrained")
    for i, (_, name, times) in enumerate(bars):
        axes.barh(i, times - 1, left=1, color=PEERS.get(name, "#999999"), height=0.7)
        axes.annotate(
            f"{times:.0f}×" if times >= 10 else f"{times:.1f}×",
            (max(times, 1), i),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(bars)), [work for work, _, _ in bars], fontsize=8)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    speeds = [times for *_, times in bars]
    axes.set_xlim(min(0.8, 0.9 * min(speeds)), 2 * max(speeds))
    axes.set_ylim(-0.7, len(bars) - 0.3)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 500) if tick < 2 * max(speeds)]
    axes.set_xticks(ticks, [f"{tick}×" for tick in ticks])
    axes.set_xlabel("times faster than the peer, one thread, same data (log scale)")
    shown = {name for _, name, _ in bars}
    handles = [plt.Rectangle((0, 0), 1, 1, color=c) for p, c in PEERS.items() if p in shown]
    axes.legend(handles, [p for p in PEERS if p in shown], loc="lower right", fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
