"""``aggro demo``: see online learning on built-in data."""

from __future__ import annotations

import argparse

from aggro.cli.options import new_parser


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    return new_parser("demo", "See online learning on built-in data.", "aggro demo")


def run(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    from aggro.demo import main

    main()
    return 0
