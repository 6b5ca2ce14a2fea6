"""``aggro compare``: race several variants over one reading of the data."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.cli.begin import naming_examples, new_model, no_examples, no_labels
from aggro.cli.console import Console
from aggro.cli.interrupt import Interrupt
from aggro.cli.metrics import metrics_for
from aggro.cli.model import Model
from aggro.cli.options import add_reading, add_variant, new_parser
from aggro.cli.outputs import check_files, write_report
from aggro.cli.reading import Reading, guess_rows
from aggro.cli.side_by_side import JointWatch, SideBySide, bundles
from aggro.cli.values import names
from aggro.cli.watch import Watch
from aggro.io import Batch
from aggro.io.batch import first_labels
from aggro.io.sources import expand
from aggro.learner import Array
from aggro.variants import ESTIMATORS, find

EXAMPLES = """
aggro compare data.svm --algorithms PA-I,SPA-I,PAM-I-diag,AROW --C 0.1
aggro compare data.svm --algorithms PA-I,PA-II --C 0.01,0.1,1 --test data.t --plot race.png
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("compare", "Race several variants over one reading.", EXAMPLES)
    parser.add_argument("data", nargs="+", help="files, folders or patterns; - for standard input")
    parser.add_argument(
        "--algorithms", required=True, type=names, metavar="NAME,...", help="who takes part"
    )
    parser.add_argument("--task", default="auto", choices=("auto", "classification", "regression"))
    parser.add_argument("--test", action="append", metavar="FILE", help="data to measure on")
    parser.add_argument("--plot", metavar="PICTURE", help="draw the learning curves")
    parser.add_argument("--json", metavar="FILE", help="write a report")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_reading(parser)
    add_variant(parser, several=True)
    return parser


class Runner:
    """Variants that learn from the same walk over the rows, and the time they took together."""

    def __init__(self, models: Sequence[Model]) -> None:
        self.models, self.seconds = models, 0.0
        self.together = SideBySide(models) if len(models) > 1 else None
        if self.together is None:
            self.watch = Watch(models[0])
            self.watches = [self.watch]
        else:
            self.watch = joint = JointWatch(self.together)
            self.watches = joint.watches

    def learn(self, batch: Batch) -> None:
        """Learn a batch, by the clock."""
        began = time.perf_counter()
        self.watch.learn(batch.X, batch.y, batch.weights)
        self.seconds += time.perf_counter() - began

    def finish(self) -> None:
        """Let each model predict alone."""
        if self.together is not None:
            self.together.finish()

    def results(self) -> list[dict[str, Any]]:
        """Return how each went. Of variants that learn together, seconds are a share."""
        self.watch.report()
        together = len(self.watches)
        return [
            {
                "algorithm": model.title,
                "so_far": watch.lines[-1].so_far,
                "constant": watch.lines[-1].baseline,
                "updates": watch.lines[-1].updates,
                "seconds": self.seconds / together,
                "side_by_side": together,
            }
            for model, watch in zip(self.models, self.watches, strict=True)
        ]


def run(args: argparse.Namespace) -> int:
    """Let every variant learn each batch, then rank them."""
    outputs = {"--json": args.json, "--plot": args.plot}
    check_files(outputs, args.data, args.cache, *(expand(args.test) if args.test else ()))
    reading = Reading.from_arguments(args)
    reading.check_label(args.data)
    dtype = np.float32 if args.float32 else np.float64
    how: dict[str, Any] = {"skip_bad": args.skip_bad, "cache": args.cache, "dtype": dtype}
    reader = reading.open(args.data, uninformative="ignore", **how)
    runners: list[Runner] = []
    with Console(guess_rows(args.data, reading.format), args.quiet) as console:
        with Interrupt() as interrupt:
            seen = 0
            first, batches = first_labels(reader)
            for batch in batches:
                if batch.y is None:
                    raise no_labels(reader)
                if not runners:
                    told_by = batch.y if first is None else first
                    runners = [Runner(group) for group in bundles(_models(args, batch.X, told_by))]
                with naming_examples(reader, seen, batch.X):
                    for runner in runners:
                        runner.learn(batch)
                seen += batch.n_rows
                console.advance(batch.n_rows)
                if interrupt.asked:
                    break
        if not runners:
            raise no_examples(reader)
        console.stop()
        results = [result for runner in runners for result in runner.results()]
        watches = [watch for runner in runners for watch in runner.watches]
        models = [model for runner in runners for model in runner.models]
        for runner in runners if args.test else ():
            runner.finish()
        tests = (
            _test(console, args, reading.learned_from(reader, models[0].classes), models)
            if args.test
            else [None] * len(models)
        )
        results = [{**result, "test": test} for result, test in zip(results, tests, strict=True)]
        _show(console, results, percent=not models[0].regression)
        console.tell_bad_lines(reader)
        console.show_notes(reader)
    if args.json:
        write_report(args.json, results)
    if args.plot:
        from aggro.cli.plots import draw_curves

        shown = zip(models, watches, strict=True)
        curves = {model.title: watch.lines for model, watch in shown}
        draw_curves(curves, models[0].regression, args.plot)
    return 130 if interrupt.asked else 0


def _models(args: argparse.Namespace, X: Any, y: Array) -> list[Model]:
    """Return a model for every name, and for every C where the variant has one."""
    models = []
    for name in dict.fromkeys(find(name).name for name in args.algorithms):
        prices = (args.C or [None]) if "C" in ESTIMATORS[find(name).estimator].axes else [None]
        for price in prices:
            given = argparse.Namespace(**{**vars(args), "C": price})
            models.append(new_model(given, name, X, y, strict=False))
            if len(prices) > 1:
                models[-1].title += f" C={price}"
    if len({model.regression for model in models}) > 1:
        raise ValueError("Variants of classification and of regression cannot be compared.")
    return models


def _test(
    console: Console, args: argparse.Namespace, reading: Reading, models: Sequence[Model]
) -> list[float]:
    """Measure all models in one reading of the test data: accuracy, or RMSE."""
    figures = [metrics_for(model) for model in models]
    first = models[0]
    how = {"width": first.features, "dtype": first.dtype}
    reader = reading.open(args.test, skip_bad=args.skip_bad, **how)
    for X, y, _ in reader:
        if y is None:
            raise no_labels(reader)
        for model, figure in zip(models, figures, strict=True):
            figure.add(model, model.scores(X), np.asarray(y))
    console.tell_bad_lines(reader)
    key = "rmse" if first.regression else "accuracy"
    return [figure.report()[key] for figure in figures]


def _show(console: Console, results: list[dict[str, Any]], *, percent: bool) -> None:
    what, test = ("error so far", "test error") if percent else ("|error| so far", "test RMSE")
    tested = results[0]["test"] is not None
    if tested and percent:
        results = [{**row, "test": 1 - row["test"]} for row in results]
    width = max(14, *(len(row["algorithm"]) + 2 for row in results))
    head = f"{'algorithm':<{width}}{what:>14}{'updates':>12}{'seconds':>10}"
    console.line(head + (f"{test:>12}" if tested else ""))
    for row in sorted(results, key=lambda row: row["test"] if tested else row["so_far"]):
        shown = f"{row['so_far']:>14.2%}" if percent else f"{row['so_far']:>14.5g}"
        line = f"{row['algorithm']:<{width}}{shown}{row['updates']:>12,}{row['seconds']:>10.2f}"
        if tested:
            line += f"{row['test']:>12.2%}" if percent else f"{row['test']:>12.5g}"
        console.line(line)
    best = results[0]["constant"]
    console.line(f"{'(constant)':<{width}}" + (f"{best:>14.2%}" if percent else f"{best:>14.5g}"))
    if any(row["side_by_side"] > 1 for row in results):
        console.note("Variants that learned side by side share their seconds evenly.")
