"""``aggro compare``: race several variants over one reading of the data."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from aggro.cli.begin import new_model
from aggro.cli.console import Console
from aggro.cli.interrupt import Interrupt
from aggro.cli.metrics import metrics_for
from aggro.cli.model import LinearModel
from aggro.cli.options import add_reading, add_variant, new_parser
from aggro.cli.reading import Reading, guess_rows
from aggro.cli.watch import Watch
from aggro.files import Batch

EXAMPLES = """
aggro compare data.svm --algorithms PA-I,SPA-I,PAM-I-diag,AROW --C 0.1
aggro compare data.svm --algorithms PA-I,PA-II --test data.t --plot race.png
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("compare", "Race several variants over one reading.", EXAMPLES)
    parser.add_argument("data", nargs="+", help="files, folders or patterns; - for standard input")
    parser.add_argument("--algorithms", required=True, metavar="NAME,...", help="who takes part")
    parser.add_argument("--task", default="auto", choices=("auto", "classification", "regression"))
    parser.add_argument("--test", action="append", metavar="FILE", help="data to measure on")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the learning curves")
    parser.add_argument("--json", metavar="FILE", help="write a report")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_reading(parser)
    add_variant(parser)
    return parser


class Runner:
    """One variant in the race, and the time it took."""

    def __init__(self, model: LinearModel) -> None:
        self.watch = Watch(model)
        self.seconds = 0.0

    def learn(self, batch: Batch) -> None:
        """Learn a batch, by the clock."""
        began = time.perf_counter()
        self.watch.learn(batch.X, batch.y, batch.weights)
        self.seconds += time.perf_counter() - began

    def result(self, test: float | None) -> dict[str, Any]:
        """Return how it went."""
        self.watch.report()
        last = self.watch.lines[-1]
        return {
            "algorithm": self.watch.model.title,
            "so_far": last.so_far,
            "constant": last.baseline,
            "updates": last.updates,
            "seconds": self.seconds,
            "test": test,
        }


def run(args: argparse.Namespace) -> int:
    """Let every variant learn each batch, then rank them."""
    reading = Reading.from_arguments(args).with_columns(args.data)
    dtype = np.float32 if args.float32 else np.float64
    reader = reading.open(args.data, skip_bad=args.skip_bad, cache=args.cache, dtype=dtype)
    runners: list[Runner] = []
    names = [name for name in args.algorithms.split(",") if name]
    with Console(guess_rows(args.data, reading.format), args.quiet) as console:
        with Interrupt() as interrupt:
            for batch in reader:
                if batch.y is None:
                    raise ValueError("The data have no labels; name their column with --label.")
                if not runners:
                    runners = [Runner(_model(args, name, batch)) for name in names]
                for runner in runners:
                    runner.learn(batch)
                console.advance(batch.n_rows)
                if interrupt.asked:
                    break
        if not runners:
            raise ValueError("There were no examples to learn from.")
        if len({runner.watch.model.regression for runner in runners}) > 1:
            raise ValueError("Variants of classification and of regression cannot be compared.")
        console.stop()
        tests = _test(args, reading, runners) if args.test else [None] * len(runners)
        results = [runner.result(test) for runner, test in zip(runners, tests, strict=True)]
        _show(console, results, runners[0].watch)
        console.tell_bad_lines(reader)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    if args.plot:
        from aggro.cli.plots import draw_curves

        curves = {runner.watch.model.title: runner.watch.lines for runner in runners}
        draw_curves(curves, runners[0].watch.model.regression, args.plot)
    return 130 if interrupt.asked else 0


def _model(args: argparse.Namespace, name: str, batch: Batch) -> LinearModel:
    return new_model(args, name, batch.X, batch.y, strict=False)


def _test(args: argparse.Namespace, reading: Reading, runners: list[Runner]) -> list[float]:
    """Measure all models in one reading of the test data: accuracy, or RMSE."""
    models = [runner.watch.model for runner in runners]
    figures = [metrics_for(model) for model in models]
    first = models[0]
    for X, y, _ in reading.open(
        args.test, width=first.features, skip_bad=args.skip_bad, dtype=first.dtype
    ):
        for model, figure in zip(models, figures, strict=True):
            figure.add(model, model.scores(X), np.asarray(y))
    key = "rmse" if first.regression else "accuracy"
    return [figure.report()[key] for figure in figures]


def _show(console: Console, results: list[dict[str, Any]], watch: Watch) -> None:
    percent = not watch.model.regression
    what, test = ("error so far", "test error") if percent else ("loss so far", "test RMSE")
    tested = results[0]["test"] is not None
    if tested and percent:
        results = [{**row, "test": 1 - row["test"]} for row in results]
    head = f"{'algorithm':<14}{what:>14}{'updates':>12}{'seconds':>10}"
    console.line(head + (f"{test:>12}" if tested else ""))
    for row in sorted(results, key=lambda row: row["test"] if tested else row["so_far"]):
        shown = f"{row['so_far']:>14.2%}" if percent else f"{row['so_far']:>14.5g}"
        line = f"{row['algorithm']:<14}{shown}{row['updates']:>12,}{row['seconds']:>10.2f}"
        if tested:
            line += f"{row['test']:>12.2%}" if percent else f"{row['test']:>12.5g}"
        console.line(line)
    best = results[0]["constant"]
    console.line(f"{'(constant)':<14}" + (f"{best:>14.2%}" if percent else f"{best:>14.5g}"))
