"""``aggro algorithms``: list the published variants."""

from __future__ import annotations

import argparse
import json

from aggro.cli.options import new_parser
from aggro.variants import LINEAR, catalogue

EXAMPLES = """
aggro algorithms
aggro algorithms --json
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = new_parser("algorithms", "List the published variants.", EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print one line for each variant."""
    rows = catalogue()
    if args.json:
        fields = ("name", "estimator", "params", "paper", "rule")
        print(json.dumps([{name: getattr(row, name) for name in fields} for row in rows], indent=2))
        return 0
    wide, long = (max(len(getattr(row, name)) for row in rows) for name in ("name", "paper"))
    for row in rows:
        where = "" if row.estimator in LINEAR else "  (Python only)"
        print(f"{row.name:<{wide}}  {row.paper:<{long}}  {row.rule}{where}")
    return 0
