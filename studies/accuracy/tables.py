"""Study of tables: aggro, forests and boosted trees, on streams and in batch.

``python -m studies.accuracy.tables [streams] [batch] [kernel] [--sets a,b] [--fresh]
[--methods x;y] [--folder build/tables] [--report]``

Runs missing cells, and writes the tables to docs/studies/tables.md. The folder in AGGRO_DATA
contains the sets; generators are river's. No choice was made on the sets of ``--fresh``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.accuracy.cells import ROOT
from studies.accuracy.pages import fill, row

PAGE = ROOT / "docs" / "studies" / "tables.md"
PICTURE = ROOT / "docs" / "images" / "tables.png"
MOST_BEHIND = -30  # points in the picture
STREAM_ROWS, BATCH_ROWS, SEEDS = 4000, 20_000, 3
CLASSES = {
    False: "letter pendigits spambase covtype electricity ijcnn1 svmguide1 usps a9a phishing",
    True: "breast-cancer-wisconsin pima ionosphere sonar crx bupa w3a mushrooms",
}
NUMBERS = {
    False: "cadata kin8nm abalone airfoil bike-hour cpusmall",
    True: "ccpp concrete winequality space_ga cpuact",
}
GENERATORS = {
    False: "Agrawal SEA Hyperplane Waveform Friedman Bananas",
    True: "RandomRBF Sine LED Mixed Planes2D Phishing TrumpApproval",
}
GENERATED_NUMBERS = ("Friedman", "Planes2D", "TrumpApproval")
DIVERGED = 1000.0  # percent
IN_ORDER = ("electricity", "bike-hour")
Array = NDArray[Any]


@dataclass
class Table:
    """Rows and their targets."""

    X: Array
    y: Array
    regression: bool

    def split(self, seed: int) -> tuple[Array, Array]:
        """Return training rows (three quarters) and test rows."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return order[: 3 * len(order) // 4], order[3 * len(order) // 4 :]


@lru_cache(maxsize=2)
def table(name: str, rows: int) -> Table:
    """Return the first rows of a set, in random order unless it is in time order."""
    generated = " ".join(GENERATORS.values()).split()
    if name in generated:
        return _generated(name, rows)
    from sklearn.datasets import load_svmlight_file

    folder = Path(os.environ["AGGRO_DATA"], name)
    files = sorted(path for path in folder.iterdir() if path.suffix == ".bz2")
    train = [path for path in files if "train" in path.name or ".tr." in path.name] or files
    X, y = load_svmlight_file(str(train[0]))
    random = np.random.default_rng(zlib.crc32(name.encode()))
    order = np.arange(len(y)) if name in IN_ORDER else random.permutation(len(y))
    numbers = name in " ".join(NUMBERS.values()).split()
    y = y if numbers else np.unique(y, return_inverse=True)[1]
    return Table(X[order[:rows]].toarray(), y[order[:rows]], numbers)


def _generated(name: str, rows: int) -> Table:
    from river import datasets
    from river.datasets import synth

    options: dict[str, dict[str, Any]] = {
        "Agrawal": {"classification_function": 4, "seed": 1},
        "RandomRBF": {"seed_model": 1, "seed_sample": 1, "n_classes": 4, "n_features": 10},
        "Hyperplane": {"seed": 1, "mag_change": 0.001},
    }
    module = datasets if hasattr(datasets, name) else synth
    plain = {} if module is datasets else {"seed": 1}
    stream = islice(iter(getattr(module, name)(**options.get(name, plain))), rows)
    xs, ys = zip(*stream, strict=True)
    X = np.array([[float(value) for value in x.values()] for x in xs])
    if name in GENERATED_NUMBERS:
        return Table(X, np.array(ys, float), True)
    return Table(X, np.unique(ys, return_inverse=True)[1], False)


# -- learners ------------------------------------------------------------------------------------


def ours(features: str) -> Any:
    """Return a function that makes an estimator with some features."""

    def make(regression: bool) -> Any:
        from aggro import AutoClassifier, AutoRegressor

        kind = AutoRegressor if regression else AutoClassifier
        return kind(features=features, random_state=0)

    return make


def of_river(classes: str, numbers: str, **options: Any) -> Any:
    """Return a function that makes one of two learners of river."""

    def make(regression: bool) -> Any:
        from importlib import import_module

        module, name = (numbers if regression else classes).split(".")
        return getattr(import_module(f"river.{module}"), name)(seed=0, **options)

    return make


def of_sklearn(kind: str) -> Any:
    """Return a function that makes boosted trees, or a scaled linear model."""

    def make(regression: bool) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if kind == "trees":
            trees = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
            return trees(random_state=0)
        linear = RidgeCV() if regression else LogisticRegression(max_iter=1000)
        return make_pipeline(StandardScaler(), linear)

    return make


OURS = {"aggro": ours("auto"), "aggro, linear": ours("linear")}
ARF, AMF, HAT = "Adaptive Random Forest", "Aggregated Mondrian Forest", "Hoeffding Adaptive Tree"
RIVER = {
    ARF: of_river("forest.ARFClassifier", "forest.ARFRegressor", n_models=10),
    AMF: of_river("forest.AMFClassifier", "forest.AMFRegressor"),
    HAT: of_river("tree.HoeffdingAdaptiveTreeClassifier", "tree.HoeffdingAdaptiveTreeRegressor"),
}
TREES, LINEAR = "HistGradientBoosting", "linear, scaled"
SKLEARN = {TREES: of_sklearn("trees"), LINEAR: of_sklearn("linear")}


def kernel(regression: bool) -> Any:
    """Return a kernel learner with its defaults, on the raw columns."""
    from aggro import KernelPassiveAggressiveClassifier, KernelPassiveAggressiveRegressor

    kind = KernelPassiveAggressiveRegressor if regression else KernelPassiveAggressiveClassifier
    return kind(random_state=0)


KERNEL = {"aggro, kernel": kernel}
KERNEL_SETS = ["pendigits", "svmguide1", "spambase", "kin8nm", "airfoil"]


def stream(name: str, method: str) -> dict[str, float]:
    """Return the progressive error of one pass, and microseconds of CPU per row."""
    t = table(name, STREAM_ROWS)
    scale = np.abs(t.y - np.median(t.y)).sum() if t.regression else len(t.y)
    begin = time.process_time()
    if method in OURS:
        model = OURS[method](t.regression)
        model.partial_fit(t.X, t.y)
        wrong = model._learner.distance if t.regression else model.n_mistakes_
    else:
        wrong = _river_errors(RIVER[method](t.regression), t)
    seconds = time.process_time() - begin
    return {"error": float(100 * wrong / scale), "cost": 1e6 * seconds / len(t.y)}


def _river_errors(model: Any, t: Table) -> float:
    wrong = 0.0
    for values, target in zip(t.X.tolist(), t.y.tolist(), strict=True):
        x = dict(enumerate(values))
        guess = model.predict_one(x)
        guess = 0 if guess is None else guess
        wrong += abs(guess - target) if t.regression else guess != target
        model.learn_one(x, target)
    return wrong


def batch(name: str, method: str) -> dict[str, float]:
    """Return the mean accuracy or R² on test rows in percent, and the seconds of CPU of ``fit``."""
    t, scores, seconds = table(name, BATCH_ROWS), [], 0.0
    for seed in range(SEEDS):
        train, test = t.split(seed)
        model = (OURS | SKLEARN | KERNEL)[method](t.regression)
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(t.X[train], t.y[train])
        seconds += time.process_time() - begin
        scores.append(100 * model.score(t.X[test], t.y[test]))
    return {"score": float(np.mean(scores)), "cost": seconds / SEEDS}


# -- running and reporting -----------------------------------------------------------------------

PARTS = {
    "streams": (stream, [*OURS, *RIVER]),
    "batch": (batch, [*OURS, *SKLEARN]),
    "kernel": (batch, [*KERNEL, "aggro", TREES]),
}


def sets_of(part: str, fresh: bool) -> list[str]:
    """Return the sets of a part of the study."""
    if part == "kernel":
        return KERNEL_SETS
    more = GENERATORS[fresh].split() if part == "streams" else []
    return [*CLASSES[fresh].split(), *NUMBERS[fresh].split(), *more]


def cell(folder: Path, part: str, name: str, method: str) -> Path:
    """Return the file of a result."""
    kind = "streams" if part == "streams" else "batch"
    return folder / kind / f"{name}-{method.replace(' ', '-').replace(',', '')}.json"


def run(folder: Path, part: str, names: list[str], methods: list[str]) -> None:
    """Run missing cells."""
    work, known = PARTS[part]
    for name in names:
        for method in (each for each in methods if each in known):
            path = cell(folder, part, name, method)
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found := work(name, method)))
            print(part, name, method, found, flush=True)


def report(folder: Path, part: str, names: list[str]) -> str:
    """Return the results as a table; the best of each line is bold."""
    key, best = ("error", min) if part == "streams" else ("score", max)
    methods = PARTS[part][1]
    head = [
        row(["set", *methods, "ratio of CPU time"]),
        row(["---", *["--:"] * len(methods), "--:"]),
    ]
    lines, values, done = [], [], []
    for name in names:
        paths = [cell(folder, part, name, method) for method in methods]
        if not all(path.exists() for path in paths):
            continue
        found = [json.loads(path.read_text()) for path in paths]
        shown = [f"{each[key]:.1f}" if each[key] < DIVERGED else "diverged" for each in found]
        values.append([each[key] for each in found])
        done.append(name)
        limit = f"{best(values[-1]):.1f}"
        bold = [f"**{each}**" if each == limit else each for each in shown]
        lines.append(row([name, *bold, f"{found[0]['cost'] / found[2]['cost']:.2g}"]))
    kinds = [name in (*" ".join(NUMBERS.values()).split(), *GENERATED_NUMBERS) for name in done]
    for numbers, title in ((False, "mean of classes"), (True, "mean of numbers")):
        some = [each for each, kind in zip(values, kinds, strict=True) if kind == numbers]
        if some and np.max(some) < DIVERGED:
            lines.append(row([title, *(f"{mean:.1f}" for mean in np.mean(some, axis=0)), ""]))
    return "\n".join([*head, *lines])


def draw(folder: Path) -> None:
    """Write the figure: how far each method is from boosted trees on each set, in batch."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [*sets_of("batch", False), *sets_of("batch", True)]
    found = {
        method: [json.loads(cell(folder, "batch", name, method).read_text()) for name in names]
        for method in ("aggro", LINEAR, TREES)
    }
    trees = np.array([each["score"] for each in found.pop(TREES)])
    figure, axes = plt.subplots(figsize=(8, 0.24 * len(names) + 1.2))
    axes.axvline(0, color="#555555", linewidth=1)
    for (method, cells), colour, marker in zip(
        found.items(), ("#0072B2", "#E69F00"), "os", strict=True
    ):
        behind = np.maximum([each["score"] for each in cells] - trees, MOST_BEHIND)
        axes.scatter(behind, range(len(names)), s=26, c=colour, marker=marker, label=method)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", color="#e3e3e3", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(
        f"points of accuracy or R² above {TREES} (left end: {-MOST_BEHIND} or more below)"
    )
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def main() -> None:
    """Run missing cells and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--sets", help="names, separated by commas")
    parser.add_argument("--methods", help="names, separated by semicolons")
    parser.add_argument("--fresh", action="store_true", help="sets that no choice was made on")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "tables")
    parser.add_argument("--report", action="store_true", help="write the tables into the docs")
    parser.add_argument("--only-report", action="store_true", help="run nothing")
    args = parser.parse_args()
    for part in () if args.only_report else args.parts:
        names = args.sets.split(",") if args.sets else sets_of(part, args.fresh)
        methods = args.methods.split(";") if args.methods else PARTS[part][1]
        run(args.folder, part, names, methods)
        print(report(args.folder, part, names))
    if args.report or args.only_report:
        pages = (("streams", False), ("batch", False), ("batch", True), ("kernel", False))
        fill(
            PAGE,
            {
                f"{part}{' fresh' * fresh}": report(args.folder, part, sets_of(part, fresh))
                for part, fresh in pages
            },
        )
        draw(args.folder)


if __name__ == "__main__":
    main()
