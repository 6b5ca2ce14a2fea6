"""``aggro merge``: merge models that were trained separately."""

from __future__ import annotations

import argparse

from aggro.cli.options import new_parser, numbers
from aggro.cli.output import Console, check_files
from aggro.merging.models import merge_files
from aggro.persistence.record import write_record

EXAMPLES = """
aggro train monday.svm --mergeable -o monday.aggro
aggro train tuesday.svm --mergeable -o tuesday.aggro
aggro merge monday.aggro tuesday.aggro -o both.aggro
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("merge", "Merge models that were trained separately.", EXAMPLES)
    parser.add_argument("models", metavar="MODEL", nargs="+", help="model files of one kind")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="model to write")
    parser.add_argument(
        "--start", metavar="FILE", help="model that all of them were resumed from (default: none)"
    )
    parser.add_argument(
        "--weights",
        metavar="W,...",
        type=numbers,
        help="weight of each model (default: 1)",
    )
    return parser


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
