"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from aggro.checks import Choice, Count, Memory, Number
from aggro.cli.values import (
    LARGEST_SEED,
    at_least,
    average,
    number,
    pair,
    price,
    prices,
    size,
    whole,
)
from aggro.settings import AXES, Axis

FORMATS = ("svmlight", "vw", "csv", "tsv", "parquet", "arrow", "jsonl")
# How a kind of value is read on the command line.
READERS: dict[type, Any] = {Number: number, Count: whole, Choice: str, Memory: size}
APART = ("C", "average")  # options with a form of their own


def options() -> dict[str, Axis]:
    """Return the settings of a variant that are options, by name."""
    return {name: axis for name, axis in AXES.items() if axis.help}


def _reader(axis: Axis) -> Any:
    return price if getattr(axis.kind, "auto", False) else READERS[type(axis.kind)]


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
        "--categorical",
        metavar="COLUMN",
        action="append",
        help="column whose values are names, whatever they look like; may repeat",
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


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how texts are learned."""
    group = parser.add_argument_group("texts (with --text)")
    group.add_argument(
        "--ngrams",
        metavar="N,M",
        type=pair,
        help="words and their n-grams (default: 1,1 and 1,2 race)",
    )
    group.add_argument("--chars", metavar="N,M", type=pair, help="n-grams of characters, in words")
    group.add_argument(
        "--idf",
        nargs="?",
        const="yes",
        choices=("yes", "no", "auto"),
        help="weigh words by how rare they were so far (default: auto, a race)",
    )
    group.add_argument(
        "--stop-words", metavar="LIST", help="leave words out: 'english', or a file of words"
    )
    group.add_argument(
        "--text-defaults",
        choices=("race", "counts"),
        help="learn texts by a race of representations (default), or plain counts of words",
    )


def add_tolerance(group: Any) -> None:
    """Add the options about bad lines and caches."""
    group.add_argument("--skip-bad", action="store_true", help="count bad lines, do not stop")
    group.add_argument(
        "--cache", nargs="?", const=True, metavar="FILE", help="keep the parsed data for next time"
    )


def add_variant(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options that change a variant's settings; C is a list where ``several`` says so."""
    group = parser.add_argument_group("learning")
    text = AXES["C"].help
    if several:
        group.add_argument("--C", metavar="C,...", type=prices, help=f"{text}; or several of them")
    else:
        group.add_argument("--C", metavar="C", type=price, help=text)
    for name, axis in options().items():
        if name not in APART:
            option = f"--{name.replace('_', '-')}"
            group.add_argument(option, type=_reader(axis), metavar="X", help=axis.help)
    group.add_argument("--average", nargs="?", const=True, type=average, metavar="FROM",
                       help=AXES["average"].help)  # fmt: skip
    group.add_argument("--no-intercept", action="store_true", help="learn no intercept")
    group.add_argument(
        "--mergeable", action="store_true", help="count what aggro merge weighs models by"
    )
    group.add_argument(
        "--seed", type=at_least(0, LARGEST_SEED), metavar="N", help="of random numbers (default 0)"
    )
    group.add_argument("--float32", action="store_true", help="half the memory, less precision")
