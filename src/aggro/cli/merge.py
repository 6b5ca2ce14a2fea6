"""``aggro merge``: make one model of several that were learned apart."""

from __future__ import annotations

import argparse

from aggro.cli.console import Console
from aggro.cli.options import new_parser
from aggro.cli.outputs import check_files
from aggro.cli.values import number
from aggro.merging.models import merge_files
from aggro.persistence.record import write_record

EXAMPLES = """
aggro train monday.svm --mergeable -o monday.aggro
aggro train tuesday.svm --mergeable -o tuesday.aggro
aggro merge monday.aggro tuesday.aggro -o both.aggro
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("merge", "Make one model of several that were learned apart.", EXAMPLES)
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model files of one kind")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="model to write")
    parser.add_argument(
        "--start", metavar="FILE", help="what all models were resumed from (default: nothing)"
    )
    parser.add_argument(
        "--weights",
        metavar="W,...",
        type=numbers,
        help="how much the votes of each model count (default: 1)",
    )
    return parser


def numbers(text: str) -> list[float]:
    """Read numbers separated by commas."""
    return [number(each) for each in text.split(",")]


def run(args: argparse.Namespace) -> int:
    """Merge model files and write the result."""
    inputs = [*args.models, *([args.start] if args.start else [])]
    check_files({"--output": args.output}, inputs, None)
    record = merge_files(args.models, args.start, args.weights)
    write_record(record, args.output)
    learner = record.attributes.get("_learner")
    count = "" if learner is None else f" of {learner.examples:,} examples"
    Console(bar=False).note(f"{args.output}: {len(args.models)} models{count}")
    return 0
