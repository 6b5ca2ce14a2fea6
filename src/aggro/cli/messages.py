"""Translate error messages from Python's spelling to that of the command line.

Code below the command line names Python's options, as in ``metric='full'``; this module turns that
into ``--metric full``. Quoted parts come from the data and stay unchanged.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser

from aggro.cli.options import options
from aggro.io.options import ReadingError

READING = (
    *("format", "label", "weight", "text", "categorical", "columns", "labels", "hash_bits"),
    "cache",
)
OPTIONS = (*options(), *READING, "passes", "random_state")
FLAGS = {
    "missing='zero'": "--missing-zero",
    "skip_bad=True": "--skip-bad",
    "zero_based=True": "--zero-based",
    "header=False": "--no-header",
    "fit_intercept=False": "--no-intercept",
    "average=True": "--average",
    "mergeable=True": "--mergeable",
    "mergeable=False": "no --mergeable",
}
# How the command line spells the advice of readers; other advice is omitted.
ADVICE = {
    **{name: f"--{name.replace('_', '-')}" for name in READING},
    **{f"labels={kind}": f"--labels {kind}" for kind in ("number", "text")},
    **{python.replace("'", ""): plain for python, plain in FLAGS.items()},
    "dtype=float64": "no --float32",
}
PHRASES = {
    "aggro.catalogue() lists": "aggro algorithms lists",
    "labels of one kind in all calls": "labels of one kind in all files",
    "y holds": "the file holds",
}
QUOTED = r"""(?<!\w)(?<!=)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)"""
PYTHON = re.compile(
    rf"(?P<quoted>{QUOTED})"
    rf"|(?P<flag>{'|'.join(map(re.escape, FLAGS))})"
    rf"|\b(?P<name>{'|'.join(OPTIONS)})=(?P<value>'[^']*'|-?\w(?:[\w.+-]*\w)?|)"
)
EXPECTED = (ValueError, TypeError, ImportError, OSError, EOFError)


def explain(error: Exception, parser: ArgumentParser | None = None) -> str:
    """Return an error as one line; its advice names only options that the command has."""
    return " ".join(_text(error, parser).split())


def explain_skipped_line(error: ReadingError) -> str:
    """Return why a line was skipped, without the advice to skip it."""
    return error.spelled({k: v for k, v in ADVICE.items() if k != "skip_bad=True"})


def _text(error: Exception, parser: ArgumentParser | None) -> str:
    if isinstance(error, ReadingError):
        return error.spelled({k: v for k, v in ADVICE.items() if _has(parser, v)})
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    text = str(error)
    if isinstance(error, MemoryError) and (not text or "std::" in text):
        return (
            "there is not enough memory for the weights of the model; use fewer features or "
            "classes, a smaller --hash-bits, --float32, or a simpler --metric."
        )
    if text and isinstance(error, (*EXPECTED, MemoryError)):
        return translated(text)
    return f"{type(error).__name__} {text}: this should not happen; AGGRO_DEBUG=1 shows where."


def _has(parser: ArgumentParser | None, spelled: str) -> bool:
    option = next(word for word in spelled.split() if word.startswith("--"))
    return parser is None or option in parser._option_string_actions


def translated(text: str) -> str:
    """Return a message with the options of the command line.

    >>> translated("use multiclass='ovr', not C=0.5; 'C=1' is what the file says")
    "use --multiclass ovr, not --C 0.5; 'C=1' is what the file says"
    """
    for python, plain in PHRASES.items():
        text = text.replace(python, plain)
    return PYTHON.sub(_option, text)


def _option(found: re.Match[str]) -> str:
    if found["quoted"]:
        return found["quoted"]
    if found["flag"]:
        return FLAGS[found["flag"]]
    return f"--{found['name'].replace('_', '-')} {found['value'].strip(chr(39))}".rstrip()
