"""Helpers of the command line's tests: small data in every format, and ways to run it."""

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np

from aggro.cli import main

WORDS = {"ham": "meeting lunch report monday", "spam": "money free winner click"}
FILLER = ["the", "a", "of", "and", "to", "in", "is", "it", "you", "that"]


def aggro(*words, stdin=None, **env):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "aggro.cli", *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
    )


def run(line, code=0):
    """Run the command in this process; it must end with this code."""
    assert main(shlex.split(line)) == code


def normalise(text):
    """Return the text without times and speeds."""
    return re.sub(r"in [\d.]+ s(?: \([\d,]+ examples/s\))?", "in SECONDS", text)


def write_svmlight(path, n=600, seed=0, classes=3, labels=None):
    """Sparse rows whose class depends on one feature out of three."""
    rng = np.random.default_rng(seed)
    with path.open("w") as stream:
        for _ in range(n):
            label = int(rng.integers(classes))
            noise = np.unique(rng.integers(10, 60, 6))
            entries = [f"{label + 1}:{rng.random() + 0.2:.4f}"]
            entries += [f"{j}:{rng.standard_normal():.4f}" for j in noise]
            stream.write(f"{labels[label] if labels else label} {' '.join(entries)}\n")
    return path


def write_numbers(path, n=600, seed=0):
    """An svmlight file of a noisy linear function."""
    rng = np.random.default_rng(seed)
    with path.open("w") as stream:
        for x in rng.standard_normal((n, 4)):
            y = x @ [1.0, -2.0, 0.5, 0.0] + 3 + 0.05 * rng.standard_normal()
            stream.write(f"{y:.5f} " + " ".join(f"{i + 1}:{v:.5f}" for i, v in enumerate(x)) + "\n")
    return path


def messages(n=400, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        kind = ["ham", "spam"][int(rng.integers(2))]
        words = [*rng.choice(WORDS[kind].split(), 2), *rng.choice(FILLER, 4)]
        yield kind, " ".join(words), round(float(rng.random()), 3)


def write_csv(path, n=400, seed=0, label=True):
    lines = [("kind," if label else "") + "body,size"]
    for kind, body, size in messages(n, seed):
        lines.append((f"{kind}," if label else "") + f'"{body}",{size}')
    path.write_text("\n".join(lines) + "\n")
    return path


def write_jsonl(path, n=400, seed=0, label=True):
    rows = ({"kind": k, "body": b, "size": s} for k, b, s in messages(n, seed))
    if not label:
        rows = ({name: row[name] for name in ("body", "size")} for row in rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_vw(path, n=400, seed=0):
    lines = (f"{1 if k == 'spam' else -1} |w {b} |n size:{s}" for k, b, s in messages(n, seed))
    path.write_text("\n".join(lines) + "\n")
    return path


def write_parquet_folder(path, parts=3, seed=0):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.mkdir()
    rng = np.random.default_rng(seed)
    for part in range(parts):
        X = rng.standard_normal((200, 3))
        y = np.array(["low", "high"])[(X[:, 0] - X[:, 1] > 0).astype(int)]
        table = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": y}
        pq.write_table(pa.table(table), path / f"part-{part}.parquet")
    return path


def states(path):
    """Every array that a model in a file has learned, as bytes."""
    from aggro.cli.model import load_model

    learner = load_model(path)[0].learner
    parts = [each.state() for each in getattr(learner, "learners", [learner])]
    return [{name: array.tobytes() for name, array in part.items()} for part in parts]
