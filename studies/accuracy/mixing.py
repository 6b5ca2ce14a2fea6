"""Study of merging: test errors of merged models and of one learner.

``make mixing`` learns every set in 1, 4, 16 and 64 logical shards on one machine, by the rule of
distributed training and by plain averaging, and writes the table and the picture of the guide.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from aggro import datasets
from aggro.learner import Learner, rows_of
from aggro.merging.changes import add, change_of
from aggro.merging.learners import merge_round, shard_of
from aggro.plot import COLOURS, close_figure, open_figure
from aggro.settings import METRICS as METRIC_TABLE
from aggro.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
SHARDS = (4, 16, 64)
PASSES = 1
SETS = ("sentiment140-100k", "imdb", "ijcnn1", "covtype", "a9a", "20news", "generated")
MOST_ROWS = {"covtype": 200_000, "20news": 6_000}
VALUES_OF_C = {
    "euclidean": (0.01, 0.1, 1.0),
    "diagonal": (0.3, 1.0, 10.0),
    "adagrad": (0.3, 1.0, 10.0),
    "newton": (0.1, 1.0, 10.0),
    "means": (0.01, 0.1, 1.0),
}
PULL = 0.001  # to the class means
CHANCE, MARK = 2.0, "†"  # standard errors behind plain averaging to mark, and the mark
METRICS = tuple(VALUES_OF_C)
Rows = tuple[Any, np.ndarray]


def load(name: str) -> tuple[Rows, Rows, int]:
    """Return training rows, test rows and the number of classes, without columns used once."""
    X, y = generated() if name == "generated" else _stored(name)
    classes, y = np.unique(y, return_inverse=True)
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(y))
    order = order[: MOST_ROWS.get(name, len(y))]
    X, y = X[order], y[order].astype(np.int64)
    cut = len(y) // 5
    return (X[cut:], y[cut:]), (X[:cut], y[:cut]), len(classes)


def _stored(name: str) -> tuple[Any, np.ndarray]:
    data = datasets.load(name)
    X = data.X
    if name == "covtype":  # few columns of very different sizes
        X = np.asarray(X.todense()) if hasattr(X, "todense") else X
        X = np.ascontiguousarray((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9))
    elif hasattr(X, "indptr"):
        X = X[:, np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) > 1)].tocsr()
        X.sort_indices()
    return X, data.y


def generated(rows: int = 1_000_000, features: int = 20_000, filled: int = 12) -> Any:
    """Return rows of words by Zipf's law, classes by a hidden model with a tenth of noise."""
    random = np.random.default_rng(0)
    words = (features ** random.random((rows, filled))).astype(np.int64) - 1
    words.sort(axis=1)
    truth = random.normal(size=features)
    X = csr_matrix(
        (np.ones(rows * filled), words.ravel().astype(np.int32), np.arange(rows + 1) * filled),
        shape=(rows, features),
    )
    X.sum_duplicates()
    score = X @ truth
    y = (score > 0) ^ (random.random(rows) < 0.1)
    return X, y.astype(np.int64)


def settings_of(metric: str, C: float, classes: int) -> Settings:
    """Return the settings of a column of the study; AdaGrad and Newton as selections have them."""
    task = "binary" if classes == 2 else "multiclass"
    kind: dict[str, Any] = {"mergeable": True, "average": "auto", "multiclass": "top"}
    if metric == "means":
        return Settings(task, C=C, class_mean=PULL, **kind)
    if metric in ("adagrad", "newton"):
        kind["loss"] = "squared_hinge"
    return Settings(task, C=C, metric=metric, **kind)


def wrong_of(learners: Sequence[Learner], test: Rows) -> np.ndarray:
    """Return which test rows the mean of the scores of some learners misclassifies."""
    scores = np.mean([each.scores(rows_of(test[0])) for each in learners], axis=0)
    guess = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(guess != test[1])


def percent(wrong: Sequence[np.ndarray]) -> list[float]:
    """Return the test error after each pass."""
    return [float(100 * each.mean()) for each in wrong]


def behind(some: np.ndarray, others: np.ndarray) -> float:
    """Return how many standard errors one model is behind another on the same test (McNemar)."""
    lost, won = (some & ~others).sum(), (others & ~some).sum()
    return float((lost - won) / np.sqrt(max(lost + won, 1)))


def learn(learner: Learner, rows: Rows, order: np.ndarray) -> None:
    """Learn some rows."""
    learner.learn(rows_of(rows[0]), labels=rows[1], order=order.astype(np.int64), undo=False)


def serial(settings: Settings, rows: Rows, test: Rows, classes: int) -> list[np.ndarray]:
    """Return the misclassified test rows of one learner after each pass."""
    learner, wrong = Learner(settings, rows[0].shape[1], classes), []
    for number in range(PASSES):
        order = np.arange(len(rows[1]))
        learn(learner, rows, _shuffled(order, number, 0))
        learner.freeze_means()
        wrong.append(wrong_of([learner], test))
    return wrong


def _shuffled(order: np.ndarray, number: int, shard: int) -> np.ndarray:
    return order if number == 0 else np.random.default_rng([number, shard]).permutation(order)


def mixed(
    settings: Settings, rows: Rows, test: Rows, classes: int, shards: int
) -> list[np.ndarray]:
    """Return the misclassified test rows of a merged model after each pass."""
    learner, wrong = Learner(settings, rows[0].shape[1], classes), []
    parts = np.array_split(np.arange(len(rows[1])), shards)
    rounds = METRIC_TABLE[settings.metric].rounds
    for number in range(PASSES):
        orders = [_shuffled(part, number, shard) for shard, part in enumerate(parts)]
        for units in zip(*(np.array_split(order, rounds) for order in orders), strict=True):
            learner = _after_round(learner, rows, units)
        learner.freeze_means()
        wrong.append(wrong_of([learner], test))
    return wrong


def _after_round(start: Learner, rows: Rows, units: Sequence[np.ndarray]) -> Learner:
    """Return the learner after a round of shards, with C scaled by their number."""
    changes = []
    for unit in units:
        shard: Any = shard_of(start, len(units), square_of(rows[0]))
        learn(shard, rows, unit)
        changes.append(change_of(start, shard))
    merged = merge_round(start, (add(*changes),))
    assert isinstance(merged, Learner)
    return merged


def averaged(
    settings: Settings, rows: Rows, test: Rows, classes: int, shards: int
) -> list[np.ndarray]:
    """Return the misclassified test rows of the mean of models after one pass."""
    models = []
    for part in np.array_split(np.arange(len(rows[1])), shards):
        models.append(Learner(settings, rows[0].shape[1], classes))
        learn(models[-1], rows, part)
    return [wrong_of(models, test)]


def square_of(X: Any) -> float:
    """Return the mean of ‖x‖², the constant feature included."""
    values = X.data if hasattr(X, "indptr") else X
    return float(np.square(values).sum()) / X.shape[0] + 1.0


def run(folder: Path, name: str, metric: str) -> None:
    """Run one cell of the study and write its results."""
    path = folder / f"{name}.{metric}.json"
    if path.exists():
        return
    rows, test, classes = load(name)
    parts = (rows, test, classes)
    trials = {C: serial(settings_of(metric, C, classes), *parts) for C in VALUES_OF_C[metric]}
    C = min(trials, key=lambda C: trials[C][0].sum())
    found: dict[str, Any] = {"C": C, "rows": len(rows[1]), "serial": percent(trials[C])}
    settings = settings_of(metric, C, classes)
    for shards in SHARDS:
        ours, plain = (rule(settings, *parts, shards) for rule in (mixed, averaged))
        found[f"default {shards}"], found[f"plain {shards}"] = percent(ours), percent(plain)
        found[f"behind {shards}"] = [behind(ours[0], plain[0])]
        found_errors = {kind: found[f"{kind} {shards}"] for kind in ("default", "plain", "behind")}
        print(name, metric, C, shards, found_errors, flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))


def results(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all cells that were learned."""
    cells = {
        (name, metric): folder / f"{name}.{metric}.json" for name in SETS for metric in METRICS
    }
    return {key: json.loads(path.read_text()) for key, path in cells.items() if path.exists()}


def table(cells: dict[tuple[str, str], dict[str, Any]], number: int) -> str:
    """Return the errors after a pass as a table; plain averaging in brackets."""
    heads = " | ".join(f"{shards} shards" for shards in SHARDS)
    lines = [f"| set, metric | C | one learner | {heads} |", "|---|--:|--:|" + "--:|" * len(SHARDS)]
    for (name, metric), found in cells.items():
        errors = [
            f"{found[f'default {s}'][number]:.1f}{MARK * (found[f'behind {s}'][number] > CHANCE)} "
            f"({found[f'plain {s}'][number]:.1f})"
            if f"default {s}" in found
            else "–"
            for s in SHARDS
        ]
        first = f"| {name}, {metric} | {found['C']:g} | {found['serial'][number]:.1f} |"
        lines.append(f"{first} {' | '.join(errors)} |")
    return "\n".join(lines)


def draw(cells: dict[tuple[str, str], dict[str, Any]], path: Path) -> None:
    """Draw the difference in error of each set against the number of shards."""
    figure, axes = open_figure(path, len(METRICS), figsize=(15.0, 3.6))
    for axis, metric in zip(axes, METRICS, strict=True):
        axis.set_title({"means": "class means"}.get(metric, metric))
        axis.axhline(0.0, color="0.6", linewidth=1)
        for name in SETS:
            found = cells.get((name, metric))
            if found is None:
                continue
            for kind, style in (("default", "-"), ("plain", ":")):
                known = [s for s in SHARDS if f"{kind} {s}" in found]
                loss = [found[f"{kind} {s}"][0] - found["serial"][0] for s in known]
                label = name if kind == "default" else None
                style_of_line = {"color": COLOURS[SETS.index(name)], "marker": "o", "markersize": 3}
                axis.plot(known, loss, style, label=label, **style_of_line)
        axis.set_xscale("log", base=4)
        axis.set_xticks(SHARDS, [str(s) for s in SHARDS])
        axis.set_xlabel("shards")
        axis.set_ylim(-4, 8)
    axes[0].set_ylabel("points of error lost (dotted: plain mean)")
    axes[1].legend(fontsize=7, ncols=2, loc="lower left")
    close_figure(figure, path)


def write(cells: dict[tuple[str, str], dict[str, Any]], page: Path) -> None:
    """Write the table to the guide, between its marks."""
    text = page.read_text(encoding="utf-8")
    begin, end = "<!-- one pass -->\n", "<!-- end of one pass -->"
    head, rest = text.split(begin, 1)
    text = f"{head}{begin}\n{table(cells, 0)}\n\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Run missing cells, then write the table and the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=str(ROOT / "build" / "mixing"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--report-only", action="store_true")
    args = parser.parse_args(arguments)
    folder = Path(args.folder)
    for name in [] if args.report_only else args.sets.split(","):
        for metric in args.metrics.split(","):
            run(folder, name, metric)
    cells = results(folder)
    write(cells, ROOT / "docs" / "scale-out.md")
    draw(cells, ROOT / "docs" / "images" / "mixing.png")


if __name__ == "__main__":
    main()
