"""Speed-up on up to 1000 workers, simulated from the costs measured by ``benchmarks.cluster``.

``python -m benchmarks.simulate build/cluster.json`` runs the schedule of distributed training on
simulated workers. Task times are log-normal, some workers are slow during a round, and failed tasks
are repeated. No real cluster is used.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggro.merging.blocks import Summary
from aggro.merging.schedule import plan
from aggro.merging.tasks import FAN_IN

WORKERS = (1, 2, 16, 64, 256, 1000)
ROWS = (10**8, 10**9, 10**10)
ENTRIES, FEATURES = 40.0, 2**18


@dataclass(frozen=True)
class Costs:
    """Seconds, as measured on one core, and assumptions about a cluster."""

    row: float  # generate and learn a row on one machine
    task_row: float  # the same in a task
    task: float  # overhead of a task
    model_bytes: float
    byte: float  # add a byte of a change
    network: float = 1e-9  # send a byte
    latency: float = 0.02  # per level of a tree, and per round
    spread: float = 0.2  # standard deviation of the logarithm of task times
    slow: float = 0.02  # share of workers that are three times slower in a round
    failures: float = 1e-5  # probability that a worker fails, per second


def round_seconds(costs: Costs, tasks: int, rows: float, workers: int, random: object) -> float:
    """Return the duration of a round: send the model, learn, and combine in a tree."""
    random = np.random.default_rng(random)  # type: ignore[arg-type]
    speed = np.where(random.random(workers) < costs.slow, 3.0, 1.0)
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    ends = []
    for _ in range(tasks):
        start, worker = heapq.heappop(free)
        length = costs.task + rows * costs.task_row * math.exp(costs.spread * random.normal())
        end = start + length * speed[worker]
        if random.random() < costs.failures * (end - start):  # detected at the end, and repeated
            end += length + 5.0
        ends.append(end)
        heapq.heappush(free, (end, worker))
    levels = max(1, math.ceil(math.log(max(tasks, 2)) / math.log(FAN_IN)))
    send = costs.model_bytes * costs.network
    combine = levels * (FAN_IN * (send + costs.model_bytes * costs.byte) + costs.latency)
    broadcast = math.log2(max(workers, 2)) * send + costs.latency
    return broadcast + max(ends) + combine


def speed_up(costs: Costs, rows: float, partition_rows: int, workers: int) -> float:
    """Return the speed-up of this number of workers over one machine."""
    partitions = math.ceil(rows / partition_rows)
    size = Summary(rows=partition_rows, entries=ENTRIES)
    chosen = plan(size, partitions, FEATURES, metric="diagonal")
    seconds = 0.0
    for number, tasks in enumerate(chosen.tasks(partitions, {})):
        part = partition_rows / tasks[0].parts
        seconds += round_seconds(costs, len(tasks), part, workers, [number, workers])
    return rows * costs.row / seconds


def costs_of(measured: dict[str, float]) -> Costs:
    """Return the costs that ``benchmarks.cluster`` has measured."""
    rows = measured["unit_rows"]
    return Costs(
        row=measured["row_seconds"],
        task_row=(measured["make_seconds"] + measured["unit_seconds"]) / rows,
        task=0.005,
        model_bytes=measured["change_bytes"],
        byte=measured["byte_seconds"],
    )


def main() -> None:
    """Print a table of speed-ups."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", help="the JSON file of benchmarks.cluster")
    parser.add_argument("--partition-rows", type=int, default=300_000)
    args = parser.parse_args()
    costs = costs_of(json.loads(Path(args.measured).read_text()))
    print("| rows (simulated) | " + " | ".join(f"{n} workers" for n in WORKERS) + " |")
    print("|---|" + "--:|" * len(WORKERS))
    for rows in ROWS:
        found = [speed_up(costs, rows, args.partition_rows, n) for n in WORKERS]
        print(f"| {rows:.0e} | " + " | ".join(f"{each:.2g}" for each in found) + " |")


if __name__ == "__main__":
    main()
