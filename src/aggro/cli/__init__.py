"""The command ``aggro``: one file for each of its commands.

Only the module of the command that was asked for is imported, and none of them imports
scikit-learn, SciPy, pyarrow or matplotlib before it needs them: the command starts at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from types import ModuleType

COMMANDS = {
    "train": "learn a model from files of any size",
    "predict": "apply a model to data",
    "evaluate": "measure a model on labelled data",
    "explain": "show which words or columns decided",
    "info": "show what a model is and what it has learned",
    "algorithms": "list the published variants",
    "compare": "race several variants over one reading of the data",
    "merge": "make one model of several that were learned apart",
    "convert": "turn data into svmlight text or into a cache",
    "serve": "predict and learn over HTTP, losing nothing",
    "demo": "see online learning on built-in data",
    "completion": "print a completion script for your shell",
}
EXAMPLES = """\
examples:
  aggro train reviews.csv --label stars --text review -o model.aggro
  aggro predict model.aggro new.csv > labels.txt
  aggro COMMAND --help
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code: 0 fine, 1 an error, 2 usage, 130 interrupted."""
    argv = sys.argv[1:] if argv is None else argv
    parser: argparse.ArgumentParser | None = None
    try:
        if argv and argv[0] in COMMANDS:
            module = command(argv[0])
            parser = module.parser()
            return int(module.run(parser.parse_args(argv[1:])))
        _top_parser().parse_args(argv)
        return 2
    except SystemExit as exit:  # argparse: 0 for --help, 2 for bad usage
        return int(exit.code or 0)
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0  # who read our output has had enough
        if os.environ.get("AGGRO_DEBUG"):
            raise
        from aggro.cli.messages import in_words

        return _say(f"error: {in_words(error, parser)}", 1)


def command(name: str) -> ModuleType:
    """Import the module of a command."""
    return import_module(f"aggro.cli.{name}")


def _top_parser() -> argparse.ArgumentParser:
    from aggro import __version__

    listed = "\n".join(f"  {name:<12}{what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="aggro",
        description=f"Passive-Aggressive online learning.\n\ncommands:\n{listed}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"aggro {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    return parser


def _say(text: str, code: int) -> int:
    print(f"aggro: {text}", file=sys.stderr)
    return code
