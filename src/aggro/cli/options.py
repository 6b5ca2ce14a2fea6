"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from aggro.cli.values import LARGEST_SEED, at_least, average, number, price, prices, whole

FORMATS = ("svmlight", "vw", "csv", "tsv", "parquet", "arrow", "jsonl")
# Settings of a variant that can be given on the command line: option, type, help.
AXES: dict[str, tuple[Any, str]] = {
    "loss": (str, "hinge, squared_hinge, hard, least_squares, epsilon_insensitive ..."),
    "epsilon": (number, "half the width of the tube (regression)"),
    "multiclass": (str, "support, top, predicted or ovr"),
    "metric": (str, "euclidean, diagonal, full or auto"),
    "scale": (str, "none, online, standard or auto"),
    "forgetting": (number, "share of the past that an example replaces, for streams that change"),
    "class_mean": (number, "pull to the class means"),
    "trigger": (str, "pull when a loss was suffered ('loss') or 'always'"),
    "queue": (whole, "start from the mean of the last Q classifiers"),
    "batch_size": (whole, "ask for the margins of this many examples together"),
    "r": (number, "softness of AROW"),
    "eta": (number, "probability of the confidence-weighted rules"),
}


class Parser(argparse.ArgumentParser):
    """A parser that tells wrong usage in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end."""
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help shows the options)\n")


def new_parser(name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with its examples below the help."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    return Parser(
        prog=f"aggro {name}",
        description=description,
        epilog=f"examples:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to read data."""
    group = parser.add_argument_group("reading")
    group.add_argument("--format", choices=FORMATS, help="default: told from the file's name")
    group.add_argument("--label", metavar="COLUMN", help="column of the label, in tables and JSON")
    group.add_argument(
        "--labels",
        choices=("auto", "number", "text"),
        help="what labels are (default: told from the first)",
    )
    group.add_argument("--weight", metavar="COLUMN", help="column of the example's weight")
    group.add_argument(
        "--text", metavar="COLUMN", action="append", help="column to read as words; may repeat"
    )
    group.add_argument(
        "--features", metavar="COLUMN,...", help="columns to learn from; default: all others"
    )
    group.add_argument("--no-header", action="store_true", help="columns of the csv are f0, f1 ...")
    group.add_argument("--missing-zero", action="store_true", help="a missing value counts as zero")
    group.add_argument(
        "--zero-based",
        action="store_true",
        help="svmlight indices start at 0 (default: told from the first)",
    )
    group.add_argument(
        "--hash-bits", metavar="N", type=whole, help="hash names into 2**N columns (default 18)"
    )
    add_tolerance(group)


def add_tolerance(group: Any) -> None:
    """Add the options about bad lines and caches."""
    group.add_argument("--skip-bad", action="store_true", help="count bad lines, do not stop")
    group.add_argument(
        "--cache", nargs="?", const=True, metavar="FILE", help="keep the parsed data for next time"
    )


def add_variant(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options that change a variant's settings; C is a list where ``several`` says so."""
    group = parser.add_argument_group("learning")
    text = "price of a broken margin, or 'auto'"
    if several:
        group.add_argument("--C", metavar="C,...", type=prices, help=f"{text}; or several of them")
    else:
        group.add_argument("--C", metavar="C", type=price, help=text)
    for name, (kind, text) in AXES.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="X", help=text)
    group.add_argument("--average", nargs="?", const=True, type=average, metavar="FROM",
                       help="predict with averaged weights, 'reservoir' or 'auto'")  # fmt: skip
    group.add_argument("--no-intercept", action="store_true", help="learn no intercept")
    group.add_argument(
        "--seed", type=at_least(0, LARGEST_SEED), metavar="N", help="of random numbers (default 0)"
    )
    group.add_argument("--float32", action="store_true", help="half the memory, less precision")
