"""The command ``aggro``.

Only the module of the given command is imported, and it imports scikit-learn, SciPy, pyarrow and
matplotlib only when it needs them, so that every command starts at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

COMMANDS = {  # module, summary
    "train": ("train", "learn a model from files of any size"),
    "predict": ("predict", "apply a model to data"),
    "evaluate": ("predict", "measure a model on labelled data"),
    "explain": ("describe", "show which words or columns decided a prediction"),
    "info": ("describe", "describe a model and what it has learned"),
    "algorithms": ("describe", "list the published variants"),
    "compare": ("compare", "compare several variants in one pass over the data"),
    "merge": ("files", "merge models that were trained separately"),
    "convert": ("files", "convert data to svmlight text or to a cache"),
    "serve": ("serve", "predict and learn over HTTP, without losing updates"),
    "demo": ("describe", "show online learning on built-in data"),
    "completion": ("options", "print a shell completion script"),
}
EXAMPLES = """\
examples:
  aggro train reviews.csv --label stars --text review -o model.aggro
  aggro predict model.aggro new.csv > labels.txt
  aggro COMMAND --help
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        The exit code: 0 on success, 1 after an error, 2 for wrong usage, 130 if interrupted.
    """
    argv = sys.argv[1:] if argv is None else argv
    parser: argparse.ArgumentParser | None = None
    try:
        if argv and argv[0] in COMMANDS:
            parser = parser_of(argv[0])
            args = parser.parse_args(argv[1:])
            return int(_function(argv[0], "run")(args))
        _top_parser().parse_args(argv)
        return 2
    except SystemExit as exit:  # argparse: 0 for --help, 2 for wrong usage
        return int(exit.code or 0)
    except KeyboardInterrupt:
        return _report("interrupted", 130)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0  # the reader of the output, such as head, has closed it
        if os.environ.get("AGGRO_DEBUG"):
            raise
        from aggro.cli.output import error_text

        return _report(f"error: {error_text(error, parser)}", 1)


def parser_of(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    parser: argparse.ArgumentParser = _function(command, "parser")()
    return parser


def _function(command: str, name: str) -> Callable[..., Any]:
    """Return a function of a command's module; a module of several commands names them."""
    module = import_module(f"aggro.cli.{COMMANDS[command][0]}")
    own = f"run_{command}" if name == "run" else f"{command}_parser"
    function: Callable[..., Any] = getattr(module, own if hasattr(module, own) else name)
    return function


def _top_parser() -> argparse.ArgumentParser:
    from aggro import __version__

    listed = "\n".join(f"  {name:<12}{summary}" for name, (_, summary) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="aggro",
        description=f"Passive-Aggressive online learning.\n\ncommands:\n{listed}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"aggro {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    return parser


def _report(text: str, code: int) -> int:
    print(f"aggro: {text}", file=sys.stderr)
    return code
