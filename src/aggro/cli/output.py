"""What commands print and write: lines, notes, errors, a progress bar, reports and curves.

Code below the command line names Python's options, as in ``metric='full'``; errors show them as
``--metric full``. Quoted parts come from the data and stay unchanged.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from aggro.atomic import check_writable, replacing_text
from aggro.cli.options import options
from aggro.io import Reader
from aggro.io.cache import path_for
from aggro.io.options import ReadingError, advise
from aggro.io.reader import initials_note
from aggro.io.sources import STANDARD_INPUT, expand

STANDARD_OUTPUT = "-"


class Console:
    """Prints results and notes, above a progress bar on a terminal with rich."""

    def __init__(self, total: int | None = None, quiet: bool = False, *, bar: bool = True) -> None:
        self.quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        if bar and not quiet and sys.stderr.isatty():
            self._start(total)

    def _start(self, total: int | None) -> None:
        try:
            from rich.console import Console as RichConsole
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            return
        rate = TextColumn("{task.completed:,} examples, {task.fields[rate]:,.0f}/s")
        errors = RichConsole(stderr=True)
        columns = (BarColumn(), rate, TimeRemainingColumn())
        self._bar = Progress(*columns, console=errors, transient=True)
        self._task = self._bar.add_task("", total=total, rate=0.0)
        self._bar.start()

    def advance(self, count: int) -> None:
        """Advance the bar by a number of examples."""
        if self._bar is not None:
            speed = self._bar.tasks[0].speed or 0.0
            self._bar.update(self._task, advance=count, rate=speed)

    def expect(self, total: int) -> None:
        """Set the expected number of examples."""
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def line(self, text: str = "") -> None:
        """Print a line of the result."""
        if not self.quiet:
            self._print(text, sys.stdout)

    def note(self, text: str) -> None:
        """Print a message to standard error."""
        if not self.quiet:
            self._print(text, sys.stderr)

    def _print(self, text: str, stream: IO[str]) -> None:
        if self._bar is not None and stream.isatty():
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=stream, flush=True)

    def show_notes(self, reader: Reader) -> None:
        """Print the reader's remarks on columns."""
        for note in reader.notes:
            self.note(f"note: {advise(note, ADVICE)}")

    def report_skipped_lines(self, reader: Reader) -> None:
        """Print how many lines were skipped and why the first one was."""
        if reader.n_bad:
            first = explain_skipped_line(reader.bad_lines[0])
            self.note(f"skipped {reader.n_bad:,} bad lines, the first: {first}")
        if reader.n_initials:
            self.note(initials_note(reader.n_initials))

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def listed(files: Sequence[str]) -> str:
    """Return a short name for some files.

    >>> listed(["a.svm", "b.svm", "c.svm"])
    'a.svm and 2 more'
    """
    names = ["standard input" if file == STANDARD_INPUT else file for file in files[:1]]
    return names[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def label_text(label: Any) -> str:
    """Return a label as files contain it: whole numbers without a fraction.

    >>> label_text(2.0), label_text(0.5), label_text("spam")
    ('2', '0.5', 'spam')
    """
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


# -- files -------------------------------------------------------------------------------------


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str] = ()) -> None:
    """Raise unless every output, by its option, can be written and is not an input or another."""
    taken = {_place(path): "an input" for path in inputs if path != STANDARD_INPUT}
    for option, path in outputs.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        if option == "--plot":
            from aggro.plot import check_picture

            check_picture(path)
        # A valid cache is only read, even in a folder that is not writable.
        if not (option == "--cache" and Path(path).is_file()) and check_writable(path):
            continue
        place = _place(path)
        if place in taken:
            raise ValueError(
                f"{path} is {taken[place]}, and {option} would replace it; give another name."
            )
        taken[place] = f"written by {option}"


def check_files(
    outputs: Mapping[str, str | None], data: Sequence[str], cache: Any, *others: str
) -> None:
    """Raise unless the data exist and the outputs, the cache included, can be written."""
    files = expand(data)
    stored = None if STANDARD_INPUT in files else path_for(cache, files)
    check_outputs({**outputs, "--cache": stored}, [*files, *others])


def _place(path: str) -> Path:
    return Path(path).resolve()


@contextlib.contextmanager
def opened(path: str | None) -> Iterator[IO[str]]:
    """Open a file for text, or standard output."""
    if path is None or path == STANDARD_OUTPUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    with replacing_text(path) as stream:
        yield stream


def write_report(path: str, report: Any) -> None:
    """Write a report as JSON."""
    with opened(path) as stream:
        stream.write(json.dumps(report, indent=2) + "\n")


# -- errors --------------------------------------------------------------------------------------

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


def error_text(error: Exception, parser: ArgumentParser | None = None) -> str:
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
