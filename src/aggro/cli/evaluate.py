"""``aggro evaluate``: measure a model on labelled data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.cli.advice import of_test
from aggro.cli.begin import no_labels
from aggro.cli.console import Console
from aggro.cli.metrics import Classification, Regression, metrics_for
from aggro.cli.model import load_model
from aggro.cli.options import FORMATS, add_tolerance, new_parser
from aggro.cli.outputs import check_files, write_report
from aggro.cli.reading import Reading

EXAMPLES = """
aggro evaluate model.aggro data.t
aggro evaluate model.aggro test.csv --json report.json
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("evaluate", "Measure a model on labelled data.", EXAMPLES)
    parser.add_argument("model", help="a model file")
    parser.add_argument("data", nargs="+", help="files, folders or patterns; - for standard input")
    parser.add_argument("--json", metavar="FILE", help="write a report")
    parser.add_argument("--format", choices=FORMATS, help="default: told from the file's name")
    add_tolerance(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    check_files({"--json": args.json}, args.data, args.cache, args.model)
    model, reading = load_model(args.model)
    console = Console(bar=False)
    reading = reading.but(args.format)
    figures = measure(console, model, reading, args.data, args.skip_bad, args.cache)
    print("\n".join(figures.lines()))
    for warning in of_test(figures):
        console.note(f"note: {warning}")
    if args.json:
        write_report(args.json, figures.report())
    return 0


def measure(
    console: Console,
    model: Any,
    reading: Reading,
    paths: Sequence[str],
    skip_bad: bool = False,
    cache: str | bool | None = None,
) -> Classification | Regression:
    """Return how good a model's predictions for some files are; tell of lines that are skipped."""
    figures = metrics_for(model)
    how = {"width": model.features, "dtype": model.dtype, "raw": model.raw}
    reader = reading.open(paths, skip_bad=skip_bad, cache=cache, **how)
    for X, y, _ in reader:
        if y is None:
            raise no_labels(reader)
        figures.add(model, model.scores(X), np.asarray(y))
    console.tell_bad_lines(reader)
    return figures
