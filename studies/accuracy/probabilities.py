"""Measure the calibration of the probabilities on real data.

``python -m studies.accuracy.probabilities [--sets a9a,usps] [--report]``

Models learn seven tenths of each set and are evaluated on the rest. Finished cells are kept.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from aggro import PassiveAggressiveClassifier
from studies.accuracy.cells import ROOT
from studies.accuracy.data import Problem, problem
from studies.accuracy.pages import fill
from studies.accuracy.reliability import BINS, draw

PAGE = ROOT / "docs" / "studies" / "probabilities.md"
PICTURE = ROOT / "docs" / "images" / "reliability.png"
SETS = (
    *("a9a", "electricity", "ijcnn1", "ionosphere", "mr-polarity", "mushrooms", "pima"),
    *("spambase", "svmguide1", "w3a", "covtype", "letter", "mnist", "r8", "usps", "webkb-4class"),
)
PANELS = ("a9a", "mr-polarity", "spambase", "covtype", "letter", "usps")
ORDERS = 3
ONE_PASS = {"max_iter": 1, "tol": None}
SPELLINGS: dict[str, dict[str, Any]] = {
    "auto": {"C": "auto", "metric": "diagonal", "average": "auto", **ONE_PASS},
    "PA-I": {"C": 1.0, **ONE_PASS},
    "passes": {"C": 1.0},
}
TITLES = {
    "auto": '`C="auto", metric="diagonal", average="auto"`, one pass',
    "PA-I": "PA-I with `C=1`, one pass",
    "passes": "PA-I with `C=1`, passes until it converges (`max_iter=1000`)",
}
WAYS = {"ours": "`probability=True`", "raw": "raw", "cv": "`CalibratedClassifierCV`"}


def judge(p: Problem, spelling: str, order: int) -> dict[str, Any]:
    """Learn one set in one order; return the quality of each method of calibration."""
    from sklearn.calibration import CalibratedClassifierCV

    X, y, new, truth = split(p, order)
    params = {**SPELLINGS[spelling], "random_state": order}
    ours = PassiveAggressiveClassifier(probability=True, **params).fit(X, y)
    plain = PassiveAggressiveClassifier(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes too rare for five folds
        cv = CalibratedClassifierCV(plain, method="sigmoid", cv=5).fit(X, y)
    found = {
        "ours": ours.predict_proba(new),
        "raw": softmax(ours.decision_function(new)),
        "cv": cv.predict_proba(new),
    }
    return {way: worth(P, np.searchsorted(ours.classes_, truth)) for way, P in found.items()}


def split(p: Problem, order: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows and labels."""
    listed = len(p.orders) > 1 and order < len(p.orders)
    rows = p.orders[order] if listed else _shuffled(p.rows, order)
    cut = int(0.7 * len(rows))
    return p.X[rows[:cut]], p.y[rows[:cut]], p.X[rows[cut:]], p.y[rows[cut:]]


def _shuffled(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(rows)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the logistic function of one score, or the softmax of several."""
    margins = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
    powers = np.exp(margins - margins.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def worth(P: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Return log loss, Brier score and the accuracy by the highest probability."""
    at = np.arange(len(truth))
    right = P.argmax(axis=1) == truth
    place = np.minimum((P.max(axis=1) * BINS).astype(int), BINS - 1)
    indicators = np.eye(P.shape[1])[truth]
    return {
        "log": float(-np.log(np.maximum(P[at, truth], 1e-15)).mean()),
        "brier": float(((P - indicators) ** 2).sum(axis=1).mean()),
        "count": np.bincount(place, minlength=BINS).tolist(),
        "said": np.bincount(place, P.max(axis=1), minlength=BINS).tolist(),
        "right": np.bincount(place, right, minlength=BINS).tolist(),
    }


def run(folder: Path, names: list[str]) -> None:
    """Run missing cells."""
    for name, spelling, order in product(names, SPELLINGS, range(ORDERS)):
        path = folder / f"{name}.{spelling}.{order}.json"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(judge(problem(name), spelling, order)))
            print(name, spelling, order, flush=True)


def read(folder: Path, name: str, spelling: str) -> list[dict[str, Any]]:
    """Return the cells of a set."""
    paths = sorted(folder.glob(f"{name}.{spelling}.*.json"))
    return [json.loads(path.read_text()) for path in paths]


def table(folder: Path, names: list[str], spelling: str) -> str:
    """Return the table of one variant, and a summary."""
    cells = {name: read(folder, name, spelling) for name in names}
    mean = {
        (name, score, way): float(np.mean([cell[way][score] for cell in found]))
        for name, found in cells.items()
        for score, way in product(("log", "brier"), WAYS)
    }
    lines = []
    for score, title in (("log", "log loss"), ("brier", "Brier score")):
        below = sum(mean[n, score, "ours"] < mean[n, score, "raw"] for n in names)
        ratios = [mean[n, score, "ours"] / mean[n, score, "cv"] for n in names]
        lines.append(
            f"- {title}: lower than raw on {below} of {len(names)} sets; relative to "
            f"`CalibratedClassifierCV` {np.mean(ratios) - 1:+.1%} in the mean, "
            f"{np.median(ratios) - 1:+.1%} in the median."
        )
    head = ["set", *(f"{w}, {s}" for s in ("log loss", "Brier") for w in WAYS.values())]
    rows = [
        [name, *(f"{mean[name, score, way]:.4f}" for score in ("log", "brier") for way in WAYS)]
        for name in names
    ]
    lines += ["", *(f"| {' | '.join(row)} |" for row in (head, ["---"] + ["--:"] * 6, *rows))]
    return "\n".join([f"### {TITLES[spelling]}", "", *lines])


def report(folder: Path, names: list[str], into_docs: bool) -> None:
    """Print the tables, or write them and the diagram to the documentation."""
    text = "\n\n".join(table(folder, names, spelling) for spelling in SPELLINGS)
    if not into_docs:
        print(text)
        return
    draw({name: read(folder, name, "PA-I") for name in PANELS}, PICTURE)
    fill(PAGE, {"probabilities": text})


def main() -> None:
    """Run missing cells, then write the tables and the diagram."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.accuracy.probabilities", description=__doc__
    )
    parser.add_argument("--sets", help="names, separated by commas; print only")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "probabilities")
    parser.add_argument(
        "--report", action="store_true", help="only write the report from finished cells"
    )
    args = parser.parse_args()
    names = args.sets.split(",") if args.sets else list(SETS)
    if not args.report:
        run(args.folder, names)
    report(args.folder, names, into_docs=not args.sets)


if __name__ == "__main__":
    main()
