"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, NoReturn

from aggro.checks import Choice, Count, Memory, Number, bytes_of
from aggro.settings import AXES, Axis

FORMATS = ("svmlight", "vw", "csv", "tsv", "parquet", "arrow", "jsonl")
LARGEST_RANDOM_STATE = 2**32 - 1
DATA_HELP = "files, folders or patterns; - for standard input"
FORMAT_HELP = "format of the data (default: by the file name)"


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit."""
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


# -- values ------------------------------------------------------------------------------------


def number(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a number") from None


def whole(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def between(least: int, most: int) -> Callable[[str], float]:
    """Return a function that reads a number within bounds."""

    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:  # also NaN
            raise ArgumentTypeError(f"{text!r} is not a number from {least:,} to {most:,}")
        return value

    return read


def at_least(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number within bounds."""

    def read(text: str) -> int:
        value = whole(text)
        if value < least or (most is not None and value > most):
            upper = "" if most is None else f" and at most {most}"
            raise ArgumentTypeError(f"{text} must be at least {least}{upper}")
        return value

    return read


def size(text: str) -> str:
    """Read a number of bytes with or without a unit."""
    try:
        bytes_of("memory", text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a size, such as 512MiB or 2GB") from None
    return text


def pair(text: str) -> tuple[int, int]:
    """Read two whole numbers, the second not below the first."""
    try:
        low, high = (int(each) for each in text.split(","))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not two whole numbers, such as 1,2") from None
    if not 1 <= low <= high:
        raise ArgumentTypeError(f"{text!r}: the first must be at least 1, and at most the second")
    return low, high


def number_or_auto(text: str) -> float | str:
    """Read a number or the word auto."""
    try:
        return "auto" if text == "auto" else float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is neither a number nor 'auto'") from None


def numbers(text: str) -> list[float]:
    """Read numbers separated by commas."""
    return [number(each) for each in names(text)]


def names(text: str) -> list[str]:
    """Read at least one name; commas separate names, and repeated ones count once."""
    found = list(dict.fromkeys(filter(None, (each.strip() for each in text.split(",")))))
    if not found:
        raise ArgumentTypeError(f"{text!r} contains no name")
    return found


def average(text: str) -> int | str:
    """Read the example from which on to average, or the word reservoir or auto."""
    if text in ("reservoir", "auto"):
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text!r} is neither a number of examples nor 'reservoir' nor 'auto'"
        ) from None


# How the command line reads each type of setting.
READERS: dict[type, Any] = {Number: number, Count: whole, Choice: str, Memory: size}
OWN_FORM = ("C", "average")  # settings whose options are added by hand


# -- groups of options -------------------------------------------------------------------------


def options() -> dict[str, Axis]:
    """Return the settings of a variant that are options, by name."""
    return {name: axis for name, axis in AXES.items() if axis.help}


def option_of(name: str) -> str:
    """Return the option for a parameter of an estimator.

    >>> option_of("batch_size"), option_of("fit_intercept")
    ('--batch-size', '--no-intercept')
    """
    return "--" + name.replace("fit_intercept", "no_intercept").replace("_", "-")


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    params = {name: getattr(args, name) for name in options()}
    params = {name: value for name, value in params.items() if value is not None}
    if args.no_intercept:
        params["fit_intercept"] = False
    if getattr(args, "mergeable", False):
        params["mergeable"] = True
    return params


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe the data."""
    group = parser.add_argument_group("reading")
    add = group.add_argument
    add("--format", choices=FORMATS, help=FORMAT_HELP)
    add("--label", metavar="COLUMN", help="column of the label, in tables and JSON")
    add("--labels", choices=("auto", "number", "text"), help="type of the labels (default: auto)")
    add("--weight", metavar="COLUMN", help="column of the example's weight")
    add("--text", metavar="COLUMN", action="append", help="column of texts; may be repeated")
    add(
        "--categorical",
        metavar="COLUMN",
        action="append",
        help="column to read as a category even if it holds numbers; may be repeated",
    )
    add(
        "--columns",
        metavar="COLUMN,...",
        type=names,
        help="columns to learn from (default: all others)",
    )
    add("--no-header", action="store_true", help="the csv has no header: name its columns f0, f1")
    add("--missing-zero", action="store_true", help="treat missing values as zero")
    add(
        "--zero-based",
        action="store_true",
        help="svmlight indices start at 0 (default: if the first batch has an index 0)",
    )
    add("--hash-bits", metavar="N", type=whole, help="hash names into 2**N columns (default 18)")
    add_tolerance(group)


def add_tolerance(group: Any) -> None:
    """Add the options about invalid lines and caches."""
    group.add_argument("--skip-bad", action="store_true", help="skip and count invalid lines")
    group.add_argument(
        "--cache", nargs="?", const=True, metavar="FILE", help="store the parsed data for next time"
    )


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the options about texts."""
    add = parser.add_argument_group("texts (with --text)").add_argument
    add("--ngrams", metavar="N,M", type=pair, help="n-grams of words (default: 1,1 or 1,2)")
    add("--chars", metavar="N,M", type=pair, help="n-grams of characters within words")
    add(
        "--idf",
        nargs="?",
        const="yes",
        choices=("yes", "no", "auto"),
        help="weight words by inverse document frequency (default: auto, selected while learning)",
    )
    add("--stop-words", metavar="LIST", help="words to omit: 'english', or a file of words")
    add(
        "--text-defaults",
        choices=("auto", "counts"),
        help="select the representation of texts while learning (auto, the default), or use plain "
        "word counts",
    )


def add_variant(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options for the settings of a variant; with ``several``, C takes a list."""
    group = parser.add_argument_group("learning")
    add, text = group.add_argument, AXES["C"].help
    if several:
        add("--C", metavar="C,...", type=numbers, help=f"{text}; several values are compared")
    else:
        add("--C", metavar="C", type=number_or_auto, help=text)
    for name, axis in options().items():
        if name not in OWN_FORM:
            kind = axis.kind
            read = number_or_auto if getattr(kind, "auto", False) else READERS[type(kind)]
            add(option_of(name), type=read, metavar="X", help=axis.help)
    add(
        "--average",
        nargs="?",
        const=True,
        type=average,
        metavar="FROM",
        help=AXES["average"].help,
    )
    add("--no-intercept", action="store_true", help="learn no intercept")
    add("--mergeable", action="store_true", help="count updates per weight, for aggro merge")
    add(
        "--random-state",
        type=at_least(0, LARGEST_RANDOM_STATE),
        metavar="N",
        help="seed of random numbers (default 0)",
    )
    add("--float32", action="store_true", help="single precision: half the memory")
