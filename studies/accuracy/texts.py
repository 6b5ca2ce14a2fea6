"""Study of text tasks, untuned: progressive mistakes of one pass.

``python -m studies.accuracy.texts`` runs what is missing (five orders of each task), then writes
the tables and the picture of docs/studies/text.md. It needs the raw texts (see ``aggro.datasets``)
in AGGRO_DATA, and Vowpal Wabbit; ``--sets`` and ``--orders`` run less. ``--fresh`` runs three
orders of the first 5000 texts of tasks that no choice was made on.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import aggro

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    *("imdb", "mr-polarity", "sentiment140-100k", "sms-spam", "reuters-earn", "reuters-money-fx"),
    *("airline-tweets", "webkb-4class", "r8", "20news", "r52"),
)
# Tasks that no choice was made on: where their texts are, and their classes unless they are all.
FRESH = {
    "review-polarity": ("review-polarity",),
    "airline-praise": ("airline-tweets", "negative", "positive"),
    "reuters-acq": ("reuters-acq",),
    "reuters-crude": ("reuters-crude",),
    "reuters-interest": ("reuters-interest",),
    "reuters-grain": ("reuters-grain",),
    "20news-comp": (
        *("20news", "comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
        *("comp.sys.mac.hardware", "comp.windows.x"),
    ),
    "20news-talk": (
        *("20news", "talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
        "talk.religion.misc",
    ),
    "20news-mac-pc": ("20news", "comp.sys.mac.hardware", "comp.sys.ibm.pc.hardware"),
    "20news-autos-motorcycles": ("20news", "rec.autos", "rec.motorcycles"),
    "20news-med-space": ("20news", "sci.med", "sci.space"),
    "webkb-faculty-student": ("webkb-4class", "faculty", "student"),
    "r8-earn-acq": ("r8", "earn", "acq"),
}
FRESH_TEXTS = 5000
LOSSES = ("squared", "logistic", "hinge")
CHUNK = 64  # texts per call of scikit-learn: single texts would take hours
WORD = re.compile(r"(?u)\b\w\w+\b")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
MEANT = {"n": "\n", "t": "\t", "r": "\r"}
Texts = tuple[list[str], np.ndarray]


# -- data -----------------------------------------------------------------------------------------


def load(name: str) -> Texts:
    """Return the texts of a task and the numbers of their classes."""
    source, *only = FRESH.get(name, (name,))
    if source.startswith("reuters-"):
        return _reuters(source.removeprefix("reuters-"))
    folder = Path(os.environ["AGGRO_DATA"], source)
    files = sorted(folder.glob("*.tsv.xz"), key=lambda path: "test" in path.name)
    pairs = [line.split("\t", 1) for path in files for line in _lines(path)]
    pairs = [pair for pair in pairs if not only or pair[0] in only]
    classes = np.unique([label for label, _ in pairs], return_inverse=True)[1]
    escaped = source not in ("sms-spam", "r8", "r52")
    return [_meant(text) if escaped else text for _, text in pairs], classes


def _reuters(topic: str) -> Texts:
    """Return one topic against the rest, on stories with topics."""
    head, *lines = _lines(Path(os.environ["AGGRO_DATA"], "reuters21578", "reuters21578.tsv.xz"))
    rows = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
    split = [r for r in rows if r["lewissplit"] in ("TRAIN", "TEST") and r["topics_attr"] == "YES"]
    texts = [_meant(f"{r['title']} {r['body']}") for r in split]
    return texts, np.array([int(topic in r["topics"].split()) for r in split])


def _lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        return [line for line in stream.read().split("\n") if line]


def _meant(text: str) -> str:
    return ESCAPE.sub(lambda m: MEANT.get(m[1], m[1]), text) if "\\" in text else text


# -- methods: the share of mistakes ---------------------------------------------------------------


def ours(X: list[str], y: np.ndarray, **params: Any) -> dict[str, Any]:
    """Return the mistakes of TextClassifier, with defaults unless given."""
    model = aggro.TextClassifier(**params)
    model.partial_fit(X, y, classes=np.unique(y))
    return {"error": model.n_mistakes_ / len(y), "chosen": str(model.best_params_)}


def vowpal_wabbit(X: list[str], y: np.ndarray, options: str = "") -> dict[str, Any]:
    """Return the mistakes of Vowpal Wabbit's defaults on the same words, with each of its losses.

    Each word is a feature whose value is 1; repeated words are repeated features.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "texts.vw")
        labels = 2 * y - 1 if y.max() == 1 else y + 1
        words = (" ".join(WORD.findall(text.lower())) for text in X)
        lines = (f"{label} | {each}\n" for label, each in zip(labels, words, strict=True))
        data.write_text("".join(lines), encoding="utf-8")
        errors = [_vw_run(y, loss, data, options) for loss in LOSSES]
    return {"error": min(errors), "errors": dict(zip(LOSSES, errors, strict=True))}


def _vw_run(y: np.ndarray, loss: str, data: Path, options: str) -> float:
    from vowpalwabbit import Workspace

    out, classes = data.with_suffix(f".{loss}"), int(y.max()) + 1
    task = "--binary" if classes == 2 else f"--oaa {classes}"
    start = f"--quiet -b 20 --loss_function {loss} {task} {options}"
    Workspace(f"{start} -d {data} -p {out} --no_stdin").finish()
    found = np.array([float(line.split()[0]) for line in out.read_text().splitlines()])
    predicted = (found > 0).astype(int) if classes == 2 else found - 1
    return float(np.mean(predicted != y))


def scikit_learn(X: list[str], y: np.ndarray) -> dict[str, Any]:
    """Return the mistakes of a HashingVectorizer before scikit-learn's Passive-Aggressive rule."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    rows = HashingVectorizer().transform(X)
    model = SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, random_state=0)
    predicted = np.zeros(len(y))
    for start in range(0, len(y), CHUNK):
        part = slice(start, start + CHUNK)
        if start:
            predicted[part] = model.predict(rows[part])
        model.partial_fit(rows[part], y[part], classes=np.unique(y))
    return {"error": float(np.mean(predicted != y))}


METHODS: dict[str, Callable[[list[str], np.ndarray], dict[str, Any]]] = {
    "TextClassifier": ours,
    "Vowpal Wabbit": vowpal_wabbit,
    "Vowpal Wabbit, pairs": lambda X, y: vowpal_wabbit(X, y, "--ngram 2"),
    "scikit-learn": scikit_learn,
}


# -- cells ----------------------------------------------------------------------------------------


def run(folder: Path, names: list[str], methods: list[str], orders: int) -> None:
    """Run missing cells, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for order in range(orders):
        for name in names:
            missing = [m for m in methods if not _cell(folder, name, m, order).exists()]
            X, y = load(name) if missing else ([], np.empty(0))
            turn = np.random.default_rng(order).permutation(len(y))
            turn = turn[: FRESH_TEXTS if name in FRESH else None]
            for method in missing:
                began = time.perf_counter()
                found = METHODS[method]([X[i] for i in turn], y[turn])
                found |= {"seconds": time.perf_counter() - began, "rows": len(y)}
                found |= {"classes": int(y.max()) + 1}
                _cell(folder, name, method, order).write_text(json.dumps(found))
                print(f"{name} {method} {order}: {100 * found['error']:.2f} %", flush=True)


def _cell(folder: Path, name: str, method: str, order: int) -> Path:
    return folder / f"{name}-{method.replace(' ', '-').replace(',', '')}-{order}.json"


def cells(folder: Path, name: str, method: str) -> list[dict[str, Any]]:
    """Return the cells of a method on a task, one for each order that was run."""
    found = (_cell(folder, name, method, order) for order in range(100))
    return [json.loads(path.read_text()) for path in found if path.exists()]


def main() -> None:
    """Run missing cells, then write the table and the figure."""
    parser = argparse.ArgumentParser(prog="python -m studies.accuracy.texts", description=__doc__)
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--fresh", action="store_true", help="tasks that no choice was made on")
    parser.add_argument("--methods", help="names, separated by ;")
    parser.add_argument("--orders", type=int)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "texts")
    parser.add_argument(
        "--report", action="store_true", help="only write the report from finished cells"
    )
    args = parser.parse_args()
    methods = args.methods.split(";") if args.methods else list(METHODS)
    names = args.sets.split(",") if args.sets else list(FRESH if args.fresh else NAMES)
    if not args.report:
        run(args.folder, names, methods, args.orders or (3 if args.fresh else 5))
    from studies.accuracy.texts_report import write

    write(args.folder)


if __name__ == "__main__":
    main()
