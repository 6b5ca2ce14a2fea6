"""Learning from files larger than memory: peak memory and time of `aggro train`.

    python benchmarks/out_of_core.py --gigabytes 4

writes a text and a Parquet file of this size (random rows, repeated), trains from the text, from
its cache and from Parquet in separate processes, prints time and memory of each, and deletes
everything.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LIMIT_MEGABYTES = 500
FEATURES, NONZEROS, COLUMNS = 100_000, 50, 32
BLOCK_ROWS = 20_000


def text_block(rng: np.random.Generator) -> bytes:
    """Return sparse rows of two classes as svmlight text."""
    truth = rng.standard_normal(FEATURES)
    lines = []
    for _ in range(BLOCK_ROWS):
        columns = np.unique(rng.integers(0, FEATURES, NONZEROS))
        values = rng.standard_normal(len(columns)).round(5)
        label = 1 if values @ truth[columns] > 0 else -1
        entries = " ".join(f"{c + 1}:{v}" for c, v in zip(columns, values, strict=True))
        lines.append(f"{label} {entries}\n")
    return "".join(lines).encode()


def write_text(path: Path, size: int) -> None:
    """Write the same block until the file is large enough."""
    block = text_block(np.random.default_rng(0))
    with path.open("wb") as stream:
        while stream.tell() < size:
            stream.write(block)


def write_parquet(path: Path, size: int) -> None:
    """Write dense rows in row groups, until the file is large enough."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, COLUMNS))
    y = np.where(X @ rng.standard_normal(COLUMNS) > 0, "yes", "no")
    table = pa.table({**{f"x{i}": X[:, i] for i in range(COLUMNS)}, "label": y})
    with pq.ParquetWriter(path, table.schema, use_dictionary=False) as writer:
        while not path.exists() or path.stat().st_size < size:
            writer.write_table(table, row_group_size=50_000)


def train(name: str, *words: object) -> float:
    """Run `aggro train` in a process; print its time, speed and peak memory."""
    command = [sys.executable, "-m", "aggro.cli", "train", *map(str, words), "--C", "0.1"]
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    last = child.stdout.read().splitlines()[-1]
    _, status, usage = os.wait4(child.pid, 0)
    seconds, megabytes = time.perf_counter() - began, usage.ru_maxrss / 1024
    if status:
        raise SystemExit(f"{name}: the command failed")
    print(f"{name:<18}{seconds:>8.1f} s {megabytes:>7.0f} MB peak   {last}", flush=True)
    return megabytes


def main() -> int:
    """Write files, train, measure and delete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder", help="where to put the files; default: a temporary folder")
    args = parser.parse_args()
    size = int(args.gigabytes * 2**30)
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        text, table, model = folder / "big.svm", folder / "big.parquet", folder / "m.aggro"
        write_text(text, size)
        peaks = [train("text", text, "-o", model)]
        peaks.append(train("text, to cache", text, "-o", model, "--cache"))
        peaks.append(train("cache", text, "-o", model, "--cache"))
        for used in (text, Path(f"{text}.aggrocache")):
            used.unlink()
        write_parquet(table, size)
        peaks.append(train("Parquet", table, "--label", "label", "-o", model))
    print(f"peak {max(peaks):.0f} MB of {LIMIT_MEGABYTES} MB allowed")
    return int(max(peaks) > LIMIT_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
