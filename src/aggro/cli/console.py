"""What people see: lines on standard output, notes and a progress bar on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from aggro.cli.messages import ADVICE, skipped_in_words
from aggro.io import Reader
from aggro.io.errors import advise
from aggro.io.reader import initials_note
from aggro.io.sources import STANDARD_INPUT


def listed(files: Sequence[str]) -> str:
    """Name some files in a message."""
    names = ["standard input" if file == STANDARD_INPUT else file for file in files[:1]]
    return names[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")


class Console:
    """Prints lines, above a progress bar where there is a terminal and rich is installed."""

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
        """Move the bar by so many examples."""
        if self._bar is not None:
            speed = self._bar.tasks[0].speed or 0.0
            self._bar.update(self._task, advance=count, rate=speed)

    def expect(self, total: int) -> None:
        """Correct the guess of how many examples there are."""
        if self._bar is not None:
            self._bar.update(self._task, total=total)

    def line(self, text: str = "") -> None:
        """Print a line of the result."""
        if self.quiet:
            return
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def note(self, text: str) -> None:
        """Print a message beside the result."""
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def show_notes(self, reader: Reader) -> None:
        """Print the remarks on columns."""
        for note in reader.notes:
            self.note(f"note: {advise(note, ADVICE)}")

    def tell_bad_lines(self, reader: Reader) -> None:
        """Say how many lines were skipped, and why the first one was."""
        if reader.n_bad:
            first = skipped_in_words(reader.bad_lines[0])
            self.note(f"skipped {reader.n_bad:,} bad lines, the first: {first}")
        if reader.n_initials:
            self.note(initials_note(reader.n_initials))

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
