"""Timing of one piece of work and of other libraries, interleaved, best of several."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Run = Callable[[], Any]


@dataclass
class Rival:
    """Another library that does the same work."""

    run: Run
    at_least: float | None = None  # aggro should be this many times faster
    error: Callable[[Any], float] | None = None  # of the result of ``run``


@dataclass
class Work:
    """One row of the table."""

    name: str
    rows: int  # examples per run
    run: Run
    error: Callable[[Any], float] | None = None
    floor: Run | None = None
    floor_name: str = ""
    at_most: float | None = None  # times the floor
    peers: dict[str, Rival] = field(default_factory=dict)
    tolerance: float = 0.01  # allowed difference to the errors of other libraries
    memory: bool = False  # also measure peak memory
    default: bool = True  # default options; other rows are not drawn
    clock: Callable[[], float] = time.process_time  # wall time for threads


@dataclass
class Effort:
    """Duration of measurements."""

    quick: bool

    @property
    def seconds(self) -> float:
        """CPU time for each contender."""
        return 0.1 if self.quick else 1.5

    @property
    def least(self) -> int:
        """Minimum number of runs of each contender."""
        return 1 if self.quick else 3

    def rows(self, count: int) -> int:
        """Return the number of rows to use."""
        return count // 5 if self.quick else count


def best_times(
    runs: dict[str, Run], effort: Effort, clock: Callable[[], float] = time.process_time
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the best CPU time and the first result of each, in alternating turns.

    CPU time excludes other processes. Turns spread their effect on caches and clock rate evenly.
    """
    best = dict.fromkeys(runs, float("inf"))
    spent = dict.fromkeys(runs, 0.0)
    results: dict[str, Any] = {}
    rounds = 0
    while waiting := [k for k in runs if rounds < effort.least or spent[k] < effort.seconds]:
        for name in waiting:
            begin = clock()
            result = runs[name]()
            took = clock() - begin
            best[name] = min(best[name], took)
            spent[name] += took
            results.setdefault(name, result)
            del result
        rounds += 1
    return best, results


def peak_memory(run: Run) -> float | None:
    """Return the peak growth of the process in MiB, on Linux."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # otherwise freed memory would be reused unnoticed
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        before = _status("VmRSS")
        run()
        return max(0.0, _status("VmHWM") - before)
    except (OSError, AttributeError):
        return None


def _status(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise OSError(f"{name} is not in /proc/self/status")


def measure(work: Work, effort: Effort) -> dict[str, Any]:
    """Run the work and return its row of the table."""
    runs = {"aggro": work.run, **{name: peer.run for name, peer in work.peers.items()}}
    if work.floor is not None:
        runs["floor"] = work.floor
    best, results = best_times(runs, effort, work.clock)
    row: dict[str, Any] = {
        "name": work.name,
        "default": work.default,
        "rows": work.rows,
        "seconds": best["aggro"],
        "floor": work.floor_name,
        "of_floor": best["aggro"] / best["floor"] if work.floor else None,
        "at_most": work.at_most,
        "error": work.error(results["aggro"]) if work.error else None,
        "peers": {},
    }
    for name, peer in work.peers.items():
        row["peers"][name] = {
            "times_faster": best[name] / best["aggro"],
            "at_least": peer.at_least,
            "error": peer.error(results[name]) if peer.error else None,
        }
    if work.memory:
        row["mebibytes"] = peak_memory(work.run)
        for name, peer in work.peers.items():
            row["peers"][name]["mebibytes"] = peak_memory(peer.run)
    tolerance = 1.0 if effort.quick else work.tolerance  # quick runs have too few rows
    row["problems"] = list(_problems(row, work.at_most, tolerance))
    return row


def _problems(row: dict[str, Any], at_most: float | None, tolerance: float) -> Iterator[str]:
    """Yield a message for each missed target, and for each peer with a lower error."""
    if at_most and row["of_floor"] > at_most:
        yield f"{row['of_floor']:.2f} x the floor, wanted {at_most:g}"
    for name, peer in row["peers"].items():
        if peer["at_least"] and peer["times_faster"] < peer["at_least"]:
            yield f"{peer['times_faster']:.1f} x {name}, wanted {peer['at_least']:g}"
        if peer["error"] is not None and row["error"] > peer["error"] + tolerance:
            yield f"error {row['error']:.3f}, but {name} has {peer['error']:.3f}"
