"""What the server does each second: rates, latencies, and the history that the page draws."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from typing import Any

SECONDS = 600  # of history
# Upper bounds of latencies in seconds, as Prometheus wants them.
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
COUNTED = {  # what is counted, and what the metrics say of it
    "predictions": "Predictions made.",
    "learned": "Examples learned.",
    "again": "Lessons that were learned before, and not again.",
    "conflicts": "Lessons under an id that was learned with another truth.",
    "unknown": "Truths of unknown or expired predictions.",
    "refused": "Examples that the model refused.",
    "not_kept": "Predictions that were not kept for their truth.",
}


class Pulse:
    """Counters of events, latencies of calls, and one sample of both each second."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTED, 0)
        self.statuses: dict[tuple[str, int], int] = {}  # answers by call and status
        self.slow: dict[str, list[int]] = {}  # latencies by call, in buckets
        self.seconds: dict[str, float] = {}  # … their sum
        self.history: deque[dict[str, Any]] = deque(maxlen=SECONDS)
        self._latencies: deque[float] = deque(maxlen=4096)  # of predictions since the last sample
        self._before = dict(self.counts)
        self._at = time.monotonic()

    def answered(self, call: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = (call, status)
        self.statuses[key] = self.statuses.get(key, 0) + 1
        slow = self.slow.get(call)
        if slow is None:
            slow = self.slow[call] = [0] * (len(BUCKETS) + 1)
            self.seconds[call] = 0.0
        slow[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[call] += seconds
        if call == "/predict":
            self._latencies.append(seconds)

    def beat(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Take a sample: rates since the last one, latencies, and these facts."""
        now = time.monotonic()
        passed = max(now - self._at, 1e-3)
        ordered = sorted(self._latencies)
        sample = {
            "at": round(time.time(), 3),
            "predictions": (self.counts["predictions"] - self._before["predictions"]) / passed,
            "learns": (self.counts["learned"] - self._before["learned"]) / passed,
            "p50": percentile(ordered, 0.5),
            "p99": percentile(ordered, 0.99),
            **facts,
        }
        self._latencies.clear()
        self._before, self._at = dict(self.counts), now
        self.history.append(sample)
        return sample


def percentile(ordered: list[float], share: float) -> float | None:
    """Return a percentile of ordered numbers, in milliseconds."""
    if not ordered:
        return None
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]
