"""Compare aggro's defaults with scikit-learn's: ``python -m studies.accuracy.defaults``.

Every classification set, raw and, if dense, standardised, with ``fit`` and with ``partial_fit`` in
chunks; three splits. Finished cells are kept.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from aggro import datasets
from studies.accuracy.cells import ROOT
from studies.accuracy.data import listed, problem
from studies.accuracy.pages import fill, row

PAGE = ROOT / "docs" / "studies" / "defaults.md"
SPLITS = 3
CHUNK = 100
TURNS = 3  # repetitions of short runs, of which the best counts
WAYS = ("fit", "partial_fit")
LEVEL = 0.5  # accuracies within this number of points are level


def forms_of(name: str) -> tuple[str, ...]:
    """Return the preparations of a set: two for texts, dense rows also standardised."""
    if "text" in datasets.describe(name).kind:
        return ("hashed", "tf-idf")
    return ("raw",) if problem(name).sparse else ("raw", "standardised")


def split(name: str, form: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows with their classes."""
    if form in ("hashed", "tf-idf"):
        return _texts(name, form, seed)
    p = problem(name)
    order = np.random.default_rng(seed).permutation(len(p.y))[: p.rows]
    cut = int(0.7 * len(order))
    X, new = p.X[order[:cut]], p.X[order[cut:]]
    if form == "standardised":
        spread = X.std(axis=0)
        mean, spread = X.mean(axis=0), np.where(spread > 0, spread, 1.0)
        X, new = (X - mean) / spread, (new - mean) / spread
    return X, p.y[order[:cut]], new, p.y[order[cut:]]


def _texts(name: str, form: str, seed: int) -> tuple[Any, Any, Any, Any]:
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

    texts, labels = datasets.load_texts(name)
    order = np.random.default_rng(seed).permutation(len(labels))[: int(listed()[name][-1])]
    cut = int(0.7 * len(order))
    learned, judged = ([texts[i] for i in part] for part in (order[:cut], order[cut:]))
    vectors = HashingVectorizer(n_features=2**18) if form == "hashed" else TfidfVectorizer()
    X = vectors.fit_transform(learned)
    return X, labels[order[:cut]], vectors.transform(judged), labels[order[cut:]]


def makers() -> dict[str, Callable[[int], Any]]:
    """Return the two estimators with defaults and a seed."""
    from sklearn.linear_model import PassiveAggressiveClassifier as Theirs

    from aggro import PassiveAggressiveClassifier as Ours

    return {
        "aggro": lambda seed: Ours(random_state=seed),
        "scikit-learn": lambda seed: Theirs(random_state=seed),
    }


def train(model: Any, way: str, X: Any, y: Any) -> None:
    """Learn all rows, in one call or in chunks."""
    if way == "fit":
        model.fit(X, y)
        return
    classes = np.unique(y)
    for start in range(0, len(y), CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK], classes=classes)


def judge(name: str, form: str, way: str, seed: int) -> dict[str, dict[str, float]]:
    """Return accuracy and seconds of both, in alternating turns."""
    X, y, new, truth = split(name, form, seed)
    found: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # deprecation and convergence warnings
        for turn in range(TURNS):
            for library, make in makers().items():
                model = make(seed)
                begin = time.perf_counter()
                train(model, way, X, y)
                seconds = time.perf_counter() - begin
                if turn == 0:
                    accuracy = float((model.predict(new) == truth).mean())
                    found[library] = {"accuracy": accuracy, "seconds": seconds}
                best = found[library]
                best["seconds"] = min(best["seconds"], seconds)
            if max(each["seconds"] for each in found.values()) > 2:
                break
    return found


def path_of(folder: Path, *cell: Any) -> Path:
    """Return the file of a cell."""
    return folder / (".".join(map(str, cell)) + ".json")


def run_set(folder: Path, name: str) -> str:
    """Run the missing cells of one set."""
    for form, way, seed in product(forms_of(name), WAYS, range(SPLITS)):
        path = path_of(folder, name, form, way, seed)
        if not path.exists():
            path.write_text(json.dumps(judge(name, form, way, seed)))
    return name


def load(folder: Path, names: list[str]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Return the splits of each set, form and way that were run."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        name, form, way, _ = path.stem.rsplit(".", 3)
        if name in names:
            found.setdefault((name, form, way), []).append(json.loads(path.read_text()))
    return found


def mean(cells: list[dict[str, Any]], library: str, what: str) -> float:
    """Return the mean over the splits."""
    return float(np.mean([cell[library][what] for cell in cells]))


def lead(cells: list[dict[str, Any]]) -> float:
    """Return the difference in points."""
    return 100 * (mean(cells, "aggro", "accuracy") - mean(cells, "scikit-learn", "accuracy"))


def ratio(cells: list[dict[str, Any]]) -> float:
    """Return the speed-up of aggro."""
    return mean(cells, "scikit-learn", "seconds") / mean(cells, "aggro", "seconds")


def verdict(found: dict[tuple[str, str, str], list[dict[str, Any]]]) -> str:
    """Return the counts for each way."""
    lines = [
        row(["method", "rows", "better", "equal (±0.5)", "worse", "worst difference", "slower"]),
        row(["---"] + ["--:"] * 6),
    ]
    for way in WAYS:
        cells = [v for key, v in found.items() if key[2] == way]
        leads = np.array([lead(v) for v in cells])
        better, worse = int((leads > LEVEL).sum()), int((leads < -LEVEL).sum())
        slower = sum(ratio(v) < 1 for v in cells)
        counts = [len(leads), better, len(leads) - better - worse, worse]
        lines.append(row([f"`{way}`", *map(str, counts), f"{min(leads):+.2f}", str(slower)]))
    return "\n".join(lines)


def table(found: dict[tuple[str, str, str], list[dict[str, Any]]]) -> str:
    """Return the accuracy of both, and the speed-up of aggro, for each set and form."""
    heads = [f"{head} (`{way}`)" for way in WAYS for head in ("aggro", "scikit-learn", "× faster")]
    lines = [row(["set", "form", *heads]), row(["---", "---"] + ["--:"] * len(heads))]
    for name, form in dict.fromkeys(key[:2] for key in found):
        cells_ = [name, form]
        for way in WAYS:
            v = found[name, form, way]
            cells_ += [
                f"{100 * mean(v, library, 'accuracy'):.1f}" for library in ("aggro", "scikit-learn")
            ]
            cells_.append(f"{ratio(v):.1f}")
        lines.append(row(cells_))
    return "\n".join(lines)


def main() -> None:
    """Run missing cells; print the tables or write them to the documentation."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.accuracy.defaults", description=__doc__
    )
    parser.add_argument("--sets", help="names, separated by commas; the tables are printed")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "defaults")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--report", action="store_true", help="only write the tables from finished cells"
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    whole = [name for name, entry in listed().items() if len(entry) == 2]  # all classes of a set
    every = [name for name in whole if datasets.describe(name).task != "regression"]
    names = args.sets.split(",") if args.sets else every
    if not args.report:
        with ProcessPoolExecutor(args.jobs) as pool:
            for name in pool.map(run_set, [args.folder] * len(names), names):
                print(name, flush=True)
    found = load(args.folder, names)
    parts = {"defaults-verdict": verdict(found), "defaults-table": table(found)}
    if args.sets:
        print("\n\n".join(parts.values()))
    else:
        fill(PAGE, parts)


if __name__ == "__main__":
    main()
