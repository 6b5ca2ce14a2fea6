"""How a training on a cluster goes on: a line that is written over, and a record."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from aggro.dask.work import Outcome


@dataclass
class Progress:
    """The record of all rounds, told while they go on if that is wanted."""

    verbose: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def tell(
        self, number: int, place: int, of: int, outcome: Outcome, seconds: float, model: Any
    ) -> None:
        """Note what came of a round; the error is that of predictions made before learning."""
        regression = not hasattr(model, "classes_")
        name = "chosen_error" if regression else "chosen_mistakes"
        made = max((float(each.rest[name][0]) for each in outcome.changes[:1]), default=0.0)
        if len(outcome.changes) > 1:  # a race: the learner that led counts
            leading = min(model._learner.leading, len(outcome.changes) - 1)
            made = float(outcome.changes[leading].rest[name][0])
        rows = outcome.rows + sum(each["rows"] for each in self.history)
        wrong = made + sum(each["error"] * each["rows"] for each in self.history)
        self.history.append(
            {
                "pass": number,
                "round": place,
                "rows": outcome.rows,
                "seconds": seconds,
                "rows_per_second": outcome.rows / max(seconds, 1e-9),
                "bytes": sum(change.nbytes for change in outcome.changes),
                "error": made / max(outcome.rows, 1),
                "error_so_far": wrong / max(rows, 1),
            }
        )
        if self.verbose:
            self._write(number, place, of, rows, regression)

    def _write(self, number: int, place: int, of: int, rows: int, regression: bool) -> None:
        last = self.history[-1]
        error = f"{last['error_so_far']:.4g}" if regression else f"{last['error_so_far']:.2%}"
        speed = rows / max(time.perf_counter() - self.began, 1e-9)
        line = (
            f"pass {number + 1}, round {place + 1}/{of}: {rows:,} rows, {speed:,.0f} rows/s, "
            f"error so far {error}"
        )
        over = sys.stderr.isatty() or "ipykernel" in sys.modules
        end = "" if over and place + 1 < of else "\n"
        print(f"\r{line}" if over else line, end=end, file=sys.stderr, flush=True)
