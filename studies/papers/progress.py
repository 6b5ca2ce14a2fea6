"""Progress display: a bar if rich is installed and there is a terminal, else lines."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Progress:
    """Counts finished cells and shows them."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.bar: Any = _bar() if sys.stderr.isatty() else None

    def __enter__(self) -> Progress:
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self, text: str) -> None:
        """Report a finished cell."""
        self.done += 1
        if self.bar is not None:
            self.bar.update(self.task, advance=1, description=text[:70])
        else:
            print(f"{self.done}/{self.total} {text}", flush=True)


def _bar() -> Any:
    """Return rich's progress display, or None where rich is not installed."""
    try:
        from rich import progress
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    return progress.Progress(
        progress.MofNCompleteColumn(),
        progress.BarColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.description}"),
        console=Console(stderr=True),
    )
