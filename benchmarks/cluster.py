"""Two workers compared with one process on generated data, and costs for a simulation.

``python -m benchmarks.cluster --gigabytes 2 --of texts`` generates texts in the tasks that hash and
learn them, so no data set is stored or sent; ``--of rows`` generates rows, which is cheaper. It
measures the cost of a row, a round and a byte, from which ``python -m benchmarks.simulate``
computes the time of more workers. CPU seconds are measured beside elapsed ones, because other work
on the machine changes the latter more. They do not include what the processes take when they are
idle, about 2 % of a core each, which grows with the elapsed time.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FEATURES, FILLED = 2**18, 40
WORD_BYTES = 10
FAN_IN = 8  # changes added at once
IDLE_SECONDS = 5.0


def make_texts(seed, rows):
    """Return texts of words by Zipf's law, hashed, and their classes."""
    from aggro.text import HashingVectorizer

    words = _words(np.random.default_rng(seed), rows)
    letters, length = _names()[words].tobytes().decode(), FILLED * WORD_BYTES
    texts = [letters[i : i + length] for i in range(0, len(letters), length)]
    y = (np.sin(words * 12.9898).sum(axis=1) > 0).astype(np.int64)
    return HashingVectorizer(n_features=FEATURES).transform(texts), y


@cache
def _names():
    return np.array([f"word{word:05x} " for word in range(FEATURES)], f"S{WORD_BYTES}")


def _words(random, rows):
    return (FEATURES ** random.random((rows, FILLED))).astype(np.int32) - 1


def make_rows(seed, rows):
    """Return rows of words by Zipf's law and their classes, always the same for a seed."""
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(seed)
    words = _words(random, rows)
    words.sort(axis=1)
    values = random.random(rows * FILLED)
    ends = np.arange(rows + 1, dtype=np.int64) * FILLED
    X = csr_matrix((values, words.ravel(), ends), shape=(rows, FEATURES))
    truth = np.sin(np.arange(FEATURES) * 12.9898)
    y = (X @ truth > 0).astype(np.int64)
    return X, y


KINDS = {  # generator of rows, and bytes per row
    "rows": (make_rows, FILLED * (8 + 4) + 8),
    "texts": (make_texts, FILLED * WORD_BYTES),
}
# Processes keep freed memory: otherwise each array would request pages from the system, which takes
# as long as learning. Tasks run in a thread without an arena of its own.
KEEP_MEMORY = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": f"{2**32}",
    "MALLOC_TOP_PAD_": f"{2**28}",
}


def serial(make, parts, rows):
    """Learn all parts sequentially in this process; return seconds, CPU seconds and the model."""
    from aggro import PassiveAggressiveClassifier

    model, began = PassiveAggressiveClassifier(C=0.1), (time.perf_counter(), time.process_time())
    for seed in range(parts):
        model.partial_fit(*make(seed, rows), classes=[0, 1])
    return time.perf_counter() - began[0], time.process_time() - began[1], model


def spread(make, parts, rows, workers):
    """Learn them on workers; return seconds, CPU seconds of all processes, model and history."""
    import dask
    from distributed import Client, LocalCluster

    from aggro.dask import PassiveAggressiveClassifier

    environ = dask.config.get("distributed.nanny.pre-spawn-environ") | KEEP_MEMORY
    dask.config.set({"distributed.nanny.pre-spawn-environ": environ})
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        client.run(_warm)
        tiny = [dask.delayed(make)(seed, 100) for seed in range(4 * workers)]
        PassiveAggressiveClassifier(rounds=1).partial_fit(tiny, classes=[0, 1])  # lazy imports
        blocks = [dask.delayed(make)(seed, rows) for seed in range(parts)]
        cpu, began = _cpu_seconds(client), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        idle = (_cpu_seconds(client) - cpu) / (time.perf_counter() - began)
        cpu, began = _cpu_seconds(client), time.perf_counter()
        model = PassiveAggressiveClassifier(C=0.1).partial_fit(blocks, classes=[0, 1])
        seconds = time.perf_counter() - began
        spent = _cpu_seconds(client) - cpu - idle * seconds
        return seconds, spent, model.to_local(), model.history_


def _cpu_seconds(client):
    """Return the CPU seconds of this process, which has client and scheduler, and of workers."""
    workers = client.run(time.process_time).values()
    return np.array([time.process_time(), *sorted(workers)])


def _warm():
    """Do the one-time work of a process: import, and generate the words of texts."""
    import aggro.dask  # noqa: F401 -- for the import alone

    _names()


def calibrate(make, rows):
    """Return the CPU seconds of a unit on a worker, and of adding and applying changes."""
    from aggro import PassiveAggressiveClassifier
    from aggro.merging.blocks import Block
    from aggro.merging.changes import add, apply
    from aggro.merging.schedule import Task
    from aggro.merging.tasks import learn

    model = PassiveAggressiveClassifier(C=0.1, mergeable=True)
    model.partial_fit(*make(0, 1), classes=[0, 1])
    found = {}
    for _ in range(3):  # the first run is slower: memory is new
        (X, y), found["make_seconds"] = _timed(make, 0, rows)
        update, found["unit_seconds"] = _timed(learn, model, [Block(X, y)], Task(0, shards=FAN_IN))
        (change,) = update.changes
        everything, added = _timed(add, *[change] * FAN_IN)
        _, found["apply_seconds"] = _timed(apply, model._learner, everything)
    return found | {"byte_seconds": added / FAN_IN / change.nbytes, "change_bytes": change.nbytes}


def _timed(function, *args):
    began = time.process_time()
    return function(*args), time.process_time() - began


def main():
    """Measure, and print or write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=KINDS, default="texts")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--parts", type=int, default=64)
    parser.add_argument("--json", default=str(ROOT / "build" / "cluster.json"))
    args = parser.parse_args()
    if not KEEP_MEMORY.items() <= os.environ.items():  # the same for one process
        command = [sys.executable, "-m", "benchmarks.cluster", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | KEEP_MEMORY)
    make, size = KINDS[args.of]
    rows = int(args.gigabytes * 1e9 / size / args.parts)
    found = calibrate(make, rows) | {
        "unit_rows": rows,
        "rows": rows * args.parts,
    }
    found["serial_seconds"], found["serial_cpu"], alone = serial(make, args.parts, rows)
    found["row_seconds"] = found["serial_cpu"] / found["rows"]
    spent = spread(make, args.parts, rows, 2)
    found["two_seconds"], (client, *workers), mixed, history = spent
    found["client_cpu"], found["worker_cpu"] = client, workers
    found["cpu_ratio"] = (client + max(workers)) / found["serial_cpu"]
    found["ratio"] = found["two_seconds"] / found["serial_seconds"]
    X, y = make(10**6, 20_000)
    found["serial_error"], found["two_error"] = 1 - alone.score(X, y), 1 - mixed.score(X, y)
    found["sent_bytes"] = [each["bytes"] for each in history]
    found["coordination_share"] = 1 - found["serial_cpu"] / (client + sum(workers))
    Path(args.json).parent.mkdir(parents=True, exist_ok=True)
    Path(args.json).write_text(json.dumps(found, indent=2))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":  # workers import the module and generate the words once
    from benchmarks import cluster

    cluster.main()
