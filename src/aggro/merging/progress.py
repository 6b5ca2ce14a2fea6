"""Progress of distributed training: a line on stderr, and a history."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """The history of all rounds, printed as they end if ``verbose``."""

    verbose: int = 0
    regression: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def add(
        self, number: int, place: int, of: int, rows: int, made: float, seconds: float, sent: int
    ) -> None:
        """Add a round: its rows, and the mistakes (or distances) made before they were learned.

        Mistakes are counted in the first pass alone, so later passes keep its error.
        """
        first = [each for each in self.history if each["pass"] == 0]
        judged = sum(each["rows"] for each in first)
        wrong = sum(each["error"] * each["rows"] for each in first)
        if number == 0:
            judged, wrong = judged + rows, wrong + made
        self.history.append(
            {
                "pass": number,
                "round": place,
                "rows": rows,
                "seconds": seconds,
                "rows_per_second": rows / max(seconds, 1e-9),
                "bytes": sent,
                "error": made / max(rows, 1) if number == 0 else math.nan,
                "error_so_far": wrong / max(judged, 1),
            }
        )
        if self.verbose:
            self._write(number, place, of)

    def rows_of(self, number: int) -> int:
        """Return how many rows a pass has learned."""
        return sum(each["rows"] for each in self.history if each["pass"] == number)

    def _write(self, number: int, place: int, of: int) -> None:
        rows, error = sum(each["rows"] for each in self.history), self.history[-1]["error_so_far"]
        shown = format(error, ".4g" if self.regression else ".2%")
        speed = rows / max(time.perf_counter() - self.began, 1e-9)
        line = (
            f"pass {number + 1}, round {place + 1}/{of}: {rows:,} rows, {speed:,.0f} rows/s, "
            f"error so far {shown}"
        )
        over = sys.stderr.isatty() or "ipykernel" in sys.modules
        end = "" if over and place + 1 < of else "\n"
        print(f"\r{line}" if over else line, end=end, file=sys.stderr, flush=True)
