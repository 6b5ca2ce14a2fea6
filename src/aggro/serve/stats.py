"""Statistics of the server: counters, latencies, a history for the page, Prometheus metrics."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from aggro.serve.service import Service

SECONDS = 600  # of the history
# Upper bounds of the latency histograms, in seconds.
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
COUNTERS = {  # with their descriptions
    "predictions": "Predictions made.",
    "learned": "Examples learned.",
    "duplicates": "Updates that were learned before.",
    "conflicts": "Updates whose id was learned with another label.",
    "unknown": "Labels of unknown or expired predictions.",
    "rejected": "Examples that the model rejected.",
    "not_stored": "Predictions that were not stored for their label.",
}


class Stats:
    """Counters of events, latencies of calls, and one sample of both per second."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.statuses: dict[tuple[str, int], int] = {}  # number of answers by call and status
        self.histograms: dict[str, list[int]] = {}  # number of latencies in each bucket, by call
        self.seconds: dict[str, float] = {}  # … their sum
        self.history: deque[dict[str, Any]] = deque(maxlen=SECONDS)
        self._latencies: deque[float] = deque(maxlen=4096)  # of predictions since the last sample
        self._before = dict(self.counts)
        self._at = time.monotonic()

    def answered(self, call: str, status: int, seconds: float) -> None:
        """Count an answer."""
        key = (call, status)
        self.statuses[key] = self.statuses.get(key, 0) + 1
        slow = self.histograms.get(call)
        if slow is None:
            slow = self.histograms[call] = [0] * (len(BUCKETS) + 1)
            self.seconds[call] = 0.0
        slow[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[call] += seconds
        if call == "/predict":
            self._latencies.append(seconds)

    def sample(self, facts: dict[str, Any]) -> dict[str, Any]:
        """Take a sample: rates since the last one, latencies, and the given facts."""
        now = time.monotonic()
        passed = max(now - self._at, 1e-3)
        ordered = sorted(self._latencies)
        sample = {
            "at": round(time.time(), 3),
            "predictions": (self.counts["predictions"] - self._before["predictions"]) / passed,
            "updates": (self.counts["learned"] - self._before["learned"]) / passed,
            "p50": percentile(ordered, 0.5),
            "p99": percentile(ordered, 0.99),
            **facts,
        }
        self._latencies.clear()
        self._before, self._at = dict(self.counts), now
        self.history.append(sample)
        return sample


def percentile(ordered: list[float], share: float) -> float | None:
    """Return a percentile of sorted seconds, in milliseconds."""
    if not ordered:
        return None
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


DISK = {
    "pending": "Predictions that wait for their label.",
    "waiting": "Entries that wait for the journal.",
    "bytes": "Bytes in the data folder.",
}
SHOWN = {
    "error": "Error so far: the share of mistakes, or the mean absolute error.",
    "recent": "Recent error.",
    "constant": "Error so far of the constant prediction.",
    "drift": "Standard errors by which the recent error is above the earlier one.",
    "delay": "Median seconds from a recent prediction to its label.",
}


class Metrics(Collector):
    """All metrics of a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        """Yield each metric."""
        stats, evaluation = self.service.learning.stats, self.service.learning.evaluation.summary()
        disk = self.service.disk()
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"aggro_{name}", text, value=stats.counts[name])
        yield CounterMetricFamily("aggro_commits", "Commits.", value=disk["commits"])
        for name, text in DISK.items():
            yield GaugeMetricFamily(f"aggro_{name}", text, value=disk[name])
        for name, text in SHOWN.items():
            if evaluation[name] is not None:
                yield GaugeMetricFamily(f"aggro_{name}", text, value=evaluation[name])
        yield GaugeMetricFamily("aggro_version", "Last example.", value=self.service.version)
        yield self._answers()
        yield self._latencies()

    def _answers(self) -> Any:
        family = CounterMetricFamily("aggro_answers", "HTTP answers.", labels=["call", "status"])
        for (call, status), count in self.service.learning.stats.statuses.items():
            family.add_metric([call, str(status)], count)
        return family

    def _latencies(self) -> Any:
        stats = self.service.learning.stats
        family = HistogramMetricFamily("aggro_seconds", "Seconds to an answer.", labels=["call"])
        for call, slow in stats.histograms.items():
            total, buckets = 0, []
            for bound, count in zip([*map(str, BUCKETS), "+Inf"], slow, strict=True):
                total += count
                buckets.append((bound, total))
            family.add_metric([call], buckets, stats.seconds[call])
        return family


def registry_of(service: Service) -> CollectorRegistry:
    """Return the registry of a service."""
    registry = CollectorRegistry()
    registry.register(Metrics(service))
    return registry


def text_of(registry: CollectorRegistry) -> bytes:
    """Return all metrics in the format of Prometheus."""
    return generate_latest(registry)
