"""Options that several commands share, how their values are read, and shell completion."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from aggro.checks import Choice, Count, Memory, Number, bytes_of
from aggro.cli import COMMANDS, parser_of
from aggro.io.options import FORMATS
from aggro.settings import AXES, Axis
from aggro.variants import catalogue

LARGEST_RANDOM_STATE = 2**32 - 1
DATA_HELP = "files, folders or patterns; - for standard input"
TASKS = ("auto", "classification", "regression")
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


T = TypeVar("T")


def read_by(convert: Callable[[str], T], expected: str) -> Callable[[str], T]:
    """Return a function that reads a value, or reports that it is not what is expected.

    >>> read_by(int, "not a whole number")("12")
    12
    """

    def read(text: str) -> T:
        try:
            return convert(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is {expected}") from None

    return read


def or_words(convert: Callable[[str], Any], *words: str) -> Callable[[str], Any]:
    """Return a function that converts a text unless it is one of some words."""
    return lambda text: text if text in words else convert(text)


def bounded(least: float, most: float) -> Callable[[str], float]:
    """Return a function that reads a number within bounds."""

    def convert(text: str) -> float:
        if not least <= (value := float(text)) <= most:  # also NaN
            raise ValueError
        return value

    return read_by(convert, f"not a number from {least:,} to {most:,}")


def at_least(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number within bounds."""

    def read(text: str) -> int:
        value = whole(text)
        if value < least or (most is not None and value > most):
            upper = "" if most is None else f" and at most {most}"
            raise ArgumentTypeError(f"{text} must be at least {least}{upper}")
        return value

    return read


def _size(text: str) -> str:
    bytes_of("memory", text)
    return text


def _pair(text: str) -> tuple[int, int]:
    low, high = map(int, text.split(","))
    if not 1 <= low <= high:
        raise ValueError
    return low, high


number = read_by(float, "not a number")
whole = read_by(int, "not a whole number")
size = read_by(_size, "not a size, such as 512MiB or 2GB")
pair = read_by(_pair, "not two whole numbers such as 1,2, the second not below the first")
number_or_auto = read_by(or_words(float, "auto"), "neither a number nor 'auto'")
average = read_by(
    or_words(int, "reservoir", "auto"), "neither a number of examples nor 'reservoir' nor 'auto'"
)


def names(text: str) -> list[str]:
    """Read at least one name; commas separate names, and repeated ones count once."""
    found = list(dict.fromkeys(filter(None, (each.strip() for each in text.split(",")))))
    if not found:
        raise ArgumentTypeError(f"{text!r} contains no name")
    return found


def numbers(text: str) -> list[float]:
    """Read numbers separated by commas."""
    return [number(each) for each in names(text)]


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


def add_rows(parser: Any, *rows: tuple[Any, ...]) -> None:
    """Add options: flags as (option, help), others as (option, metavar, type, help)."""
    for option, *facts, text in rows:
        if facts:
            parser.add_argument(option, metavar=facts[0], type=facts[1], help=text)
        else:
            parser.add_argument(option, action="store_true", help=text)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe the data."""
    group = parser.add_argument_group("reading")
    add = group.add_argument
    add("--format", choices=FORMATS, help=FORMAT_HELP)
    add("--labels", choices=("auto", "number", "text"), help="type of the labels (default: auto)")
    add("--text", metavar="COLUMN", action="append", help="column of texts; may be repeated")
    category = "column to read as a category even if it holds numbers; may be repeated"
    add("--categorical", metavar="COLUMN", action="append", help=category)
    unnamed = "the csv has no header: name its columns f0, f1"
    add("--no-header", dest="header", action="store_false", help=unnamed)
    base = "svmlight indices start at 0 (default: if the first batch has an index 0)"
    add("--zero-based", action="store_const", const=True, help=base)
    add_rows(
        group,
        ("--label", "COLUMN", str, "column of the label, in tables and JSON"),
        ("--weight", "COLUMN", str, "column of the example's weight"),
        ("--columns", "COLUMN,...", names, "columns to learn from (default: all others)"),
        ("--hash-bits", "N", whole, "hash names into 2**N columns (default 18)"),
        ("--missing-zero", "treat missing values as zero"),
    )
    add_tolerance(group)


def add_tolerance(group: Any) -> None:
    """Add the options about invalid lines and caches."""
    add_rows(group, ("--skip-bad", "skip and count invalid lines"))
    stored = "store the parsed data for next time"
    group.add_argument("--cache", nargs="?", const=True, metavar="FILE", help=stored)


def add_words(parser: argparse.ArgumentParser) -> None:
    """Add the options about texts."""
    group = parser.add_argument_group("texts (with --text)")
    add_rows(
        group,
        ("--ngrams", "N,M", pair, "n-grams of words (default: 1,1 or 1,2)"),
        ("--chars", "N,M", pair, "n-grams of characters within words"),
        ("--stop-words", "LIST", str, "words to omit: 'english', or a file of words"),
    )
    idf = "weight words by inverse document frequency (default: auto, selected while learning)"
    group.add_argument("--idf", nargs="?", const="yes", choices=("yes", "no", "auto"), help=idf)
    kind = "select the representation of texts while learning (default), or use plain word counts"
    group.add_argument("--text-defaults", choices=("auto", "counts"), help=kind)


def add_variant(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the options for the settings of a variant; with ``several``, C takes a list."""
    group, text = parser.add_argument_group("learning"), AXES["C"].help
    if several:
        add_rows(group, ("--C", "C,...", numbers, f"{text}; several values are compared"))
    else:
        add_rows(group, ("--C", "C", number_or_auto, text))
    for name, axis in options().items():
        if name not in OWN_FORM:
            kind = axis.kind
            read = number_or_auto if getattr(kind, "auto", False) else READERS[type(kind)]
            add_rows(group, (option_of(name), "X", read, axis.help))
    mean = AXES["average"].help
    group.add_argument("--average", nargs="?", const=True, type=average, metavar="FROM", help=mean)
    seed = at_least(0, LARGEST_RANDOM_STATE)
    add_rows(
        group,
        ("--no-intercept", "learn no intercept"),
        ("--mergeable", "count updates per weight, for aggro merge"),
        ("--random-state", "N", seed, "seed of random numbers (default 0)"),
        ("--float32", "single precision: half the memory"),
    )


# -- completion ----------------------------------------------------------------------------------

COMPLETION_EXAMPLES = """
aggro completion bash > ~/.local/share/bash-completion/completions/aggro
aggro completion zsh > "${fpath[1]}/_aggro"
aggro completion fish > ~/.config/fish/completions/aggro.fish
"""


def completion_parser() -> argparse.ArgumentParser:
    """Return the parser of ``aggro completion``."""
    parser = new_parser("completion", "Print a shell completion script.", COMPLETION_EXAMPLES)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run_completion(args: argparse.Namespace) -> int:
    """Print the script."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell]())
    return 0


def _completed() -> dict[str, dict[str, list[str]]]:
    """Return the options of every command, each with the values that it completes."""
    names = [row.name for row in catalogue()]
    found: dict[str, dict[str, list[str]]] = {}
    for command in COMMANDS:
        found[command] = {}
        for action in parser_of(command)._actions:
            values = names if action.dest.startswith("algorithm") else list(action.choices or ())
            found[command] |= dict.fromkeys(action.option_strings, values)
    return found


def bash() -> str:
    """Return the script for bash."""
    cases = "\n".join(
        f'    {name}) words="{" ".join(known)}" ;;' for name, known in _completed().items()
    )
    values = {option: words for known in _completed().values() for option, words in known.items()}
    choices = "\n".join(
        f'    {option}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")); return ;;'
        for option, words in values.items()
        if words
    )
    return f"""_aggro() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(COMMANDS)} --help --version" -- "$word")); return
  fi
  case ${{COMP_WORDS[COMP_CWORD-1]}} in
{choices}
  esac
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  [[ $word == -* ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _aggro aggro"""


def zsh() -> str:
    """Return the script for zsh, which reads bash's."""
    return f"#compdef aggro\nautoload -U +X bashcompinit && bashcompinit\n{bash()}"


def fish() -> str:
    """Return the script for fish."""
    lines = ["complete -c aggro -n __fish_use_subcommand -l version -l help -f"]
    for name, (_, summary) in COMMANDS.items():
        lines.append(f"complete -c aggro -n __fish_use_subcommand -f -a {name} -d '{summary}'")
        for option, words in _completed()[name].items():
            kind = "-l" if option.startswith("--") else "-s"
            line = f"complete -c aggro -n '__fish_seen_subcommand_from {name}' {kind} "
            values = f" -x -a '{' '.join(words)}'" if words else ""
            lines.append(line + option.lstrip("-") + values)
    return "\n".join(lines)
