"""``aggro compare``: learn several variants side by side and rank them."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aggro.cli.model import Model, checked_params, task_of
from aggro.cli.options import (
    DATA_HELP,
    TASKS,
    add_reading,
    add_rows,
    add_variant,
    given,
    names,
    new_parser,
)
from aggro.cli.output import Console, check_files, write_report
from aggro.cli.predict import measure
from aggro.cli.reading import Reading, with_example_number
from aggro.io.sources import STANDARD_INPUT, expand, open_bytes
from aggro.settings import Task
from aggro.sweeping.sweep import SHORT_NAMES, SweepRow, sweep
from aggro.variants import find

EXAMPLES = """
aggro compare data.svm --algorithms PA-I,SPA-I,PAM-I-diag,AROW --C 0.1
aggro compare data.svm --algorithms PA-I,PA-II --C 0.01,0.1,1 --test data.t --plot curves.png
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    description = "Learn several variants side by side in one pass and rank them."
    parser = new_parser("compare", description, EXAMPLES)
    add = parser.add_argument
    add("data", nargs="+", help=DATA_HELP)
    add("--algorithms", required=True, type=names, metavar="NAME,...", help="variants to compare")
    add("--task", default="auto", choices=TASKS)
    add("--test", action="append", metavar="FILE", help="data to evaluate the models on")
    add_rows(
        parser,
        ("--plot", "PICTURE", str, "draw the learning curves"),
        ("--json", "FILE", str, "write a report"),
        ("--quiet", "print only errors"),
    )
    add_reading(parser)
    add_variant(parser, several=True)
    return parser


def run(args: argparse.Namespace) -> int:
    """Learn all variants, rank them and report."""
    outputs = {"--json": args.json, "--plot": args.plot}
    check_files(outputs, args.data, args.cache, *(expand(args.test) if args.test else ()))
    reading, console = Reading.from_arguments(args), Console(quiet=args.quiet, bar=False)
    reading.check_label(args.data)
    axes, task = axes_of(args), task_named(args)
    how = {"skip_bad": args.skip_bad, "cache": args.cache}
    how["dtype"] = np.float32 if args.float32 else np.float64
    started = time.perf_counter()
    with files_of(args.data) as files:
        reader = reading.open(files, uninformative="ignore", **how)
        with with_example_number(reader, 0, None):
            result = sweep(reader, task=task, **axes)
    models = [Model(result.model(row), how["dtype"], title_of(row, args)) for row in result.rows]
    tests: list[Any] = [None] * len(models)
    if args.test:
        reading = reading.learned_from(reader, models[0].classes)
        measured = measure(console, models, reading, args.test, args.skip_bad)
        key = "rmse" if models[0].regression else "accuracy"
        tests = [each.report()[key] for each in measured]
    results = [
        {
            "algorithm": model.title,
            "so_far": row.error,
            "constant": result.constant_error,
            "updates": row.updates[0],
            "test": tested,
        }
        for model, row, tested in zip(models, result.rows, tests, strict=True)
    ]
    show(console, results, models[0].measured)
    seconds = time.perf_counter() - started
    console.line(f"{result.examples:,} examples, {len(results)} models in {seconds:.2f} s")
    console.report_skipped_lines(reader)
    console.show_notes(reader)
    if args.json:
        write_report(args.json, results)
    if args.plot:
        curves = {model.title: row.curve for model, row in zip(models, result.rows, strict=True)}
        from aggro.plot import draw_curves

        draw_curves(curves, result.constant_error, models[0].measured, args.plot)
    return 0


def axes_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the axes of the sweep: the variants, and the settings that were given."""
    for name in args.algorithms:
        checked_params(find(name), {})
    params = {name: value for name, value in given(args).items() if name != "mergeable"}
    return {"algorithm": args.algorithms, **params}


def task_named(args: argparse.Namespace) -> Task | None:
    """Return the task that the variants and --task imply; None if the labels decide."""
    variants = [find(name) for name in args.algorithms]
    if len({task_of(variant) for variant in variants}) > 1:
        raise ValueError("Variants for classification and for regression cannot be compared.")
    task = task_of(variants[0])
    if args.task not in ("auto", task):
        raise ValueError(f"{variants[0].name} is for {task}; leave --task {args.task} out.")
    if task == "regression":
        return "regression"
    return "multiclass" if args.task == "classification" else None


def title_of(row: SweepRow, args: argparse.Namespace) -> str:
    """Return the name of a variant, with its C if several were given."""
    several = "C" in row.params and len(args.C or ()) > 1
    name = str(row.params["algorithm"])
    return f"{name} C={row.params['C']:g}" if several else name


@contextmanager
def files_of(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield the files, with a temporary copy of standard input, since they are read twice."""
    if STANDARD_INPUT not in paths:
        yield list(paths)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, "standard-input")
        with open_bytes(STANDARD_INPUT) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield [str(copy) if path == STANDARD_INPUT else path for path in paths]


def show(console: Console, results: list[dict[str, Any]], measured: str) -> None:
    """Print the table, the best variant first."""
    percent = measured == "mistakes"
    error, test = f"{SHORT_NAMES[measured]} so far", "test error" if percent else "test RMSE"
    tested = results[0]["test"] is not None
    if tested and percent:
        results = [{**row, "test": 1 - row["test"]} for row in results]
    width = max(14, *(len(row["algorithm"]) + 2 for row in results))
    head = f"{'algorithm':<{width}}{error:>14}{'updates':>12}"
    console.line(head + (f"{test:>12}" if tested else ""))
    for row in sorted(results, key=lambda row: row["test"] if tested else row["so_far"]):
        shown = f"{row['so_far']:>14.2%}" if percent else f"{row['so_far']:>14.5g}"
        line = f"{row['algorithm']:<{width}}{shown}{row['updates']:>12,}"
        if tested:
            line += f"{row['test']:>12.2%}" if percent else f"{row['test']:>12.5g}"
        console.line(line)
    best = results[0]["constant"]
    console.line(f"{'(constant)':<{width}}" + (f"{best:>14.2%}" if percent else f"{best:>14.5g}"))
