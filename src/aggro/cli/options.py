"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

FORMATS = ("svmlight", "vw", "csv", "tsv", "parquet", "arrow", "jsonl")
# Settings of a variant that can be given on the command line: option, type, help.
AXES: dict[str, tuple[Any, str]] = {
    "loss": (str, "hinge, squared_hinge, hard, least_squares, epsilon_insensitive ..."),
    "epsilon": (float, "half the width of the tube (regression)"),
    "multiclass": (str, "support, top, predicted or ovr"),
    "metric": (str, "euclidean, diagonal, full or auto"),
    "scale": (str, "none, online, standard or auto"),
    "forgetting": (float, "share of the past that an example replaces, for streams that change"),
    "class_mean": (float, "pull to the class means"),
    "trigger": (str, "pull when a loss was suffered ('loss') or 'always'"),
    "queue": (int, "start from the mean of the last Q classifiers"),
    "batch_size": (int, "ask for the margins of this many examples together"),
    "r": (float, "softness of AROW"),
    "eta": (float, "probability of the confidence-weighted rules"),
}


def new_parser(name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with its examples below the help."""
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    return argparse.ArgumentParser(
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
        "--labels",
        choices=("auto", "number", "text"),
        default="auto",
        help="labels are numbers, or class names (default: told from the first)",
    )
    group.add_argument(
        "--zero-based",
        action="store_true",
        help="svmlight indices start at 0 (default: told from the first)",
    )
    group.add_argument(
        "--hash-bits", metavar="N", type=int, help="hash names into 2**N columns (default 18)"
    )
    add_tolerance(group)


def add_tolerance(group: Any) -> None:
    """Add the options about bad lines and caches."""
    group.add_argument("--skip-bad", action="store_true", help="count bad lines, do not stop")
    group.add_argument(
        "--cache", nargs="?", const=True, metavar="FILE", help="keep the parsed data for next time"
    )


def add_variant(parser: argparse.ArgumentParser, *, prices: bool = False) -> None:
    """Add the options that change a variant's settings; C is a list where ``prices`` says so."""
    group = parser.add_argument_group("learning")
    text = "price of a broken margin, or 'auto'"
    if prices:
        group.add_argument("--C", metavar="C,...", type=_prices, help=f"{text}; or several of them")
    else:
        group.add_argument("--C", metavar="C", type=_price, help=text)
    for name, (kind, text) in AXES.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind, metavar="X", help=text)
    group.add_argument("--average", nargs="?", const=True, type=_average, metavar="FROM",
                       help="predict with averaged weights, 'reservoir' or 'auto'")  # fmt: skip
    group.add_argument("--no-intercept", action="store_true", help="learn no intercept")
    group.add_argument("--seed", type=int, default=0, help="of random numbers (default 0)")
    group.add_argument("--float32", action="store_true", help="half the memory, less precision")


def _price(text: str) -> float | str:
    return "auto" if text == "auto" else float(text)


def _prices(text: str) -> list[float | str]:
    return [_price(each) for each in text.split(",") if each]


def _average(text: str) -> int | str:
    return text if text in ("reservoir", "auto") else int(text)
