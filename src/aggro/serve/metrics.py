"""Counters and latencies for Prometheus, read from the server's own numbers when they are asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from aggro.serve.pulse import BUCKETS, COUNTED
from aggro.serve.service import Service

DISK = {
    "pending": "Predictions that wait for their truth.",
    "waiting": "Entries that wait for the journal.",
    "bytes": "Bytes in the data folder.",
}
SHOWN = {
    "error": "Error so far: the share of mistakes, or the mean absolute error.",
    "lately": "Error lately.",
    "constant": "Error so far of the constant answer.",
    "drift": "Standard errors that the error lately is above the error before.",
    "delay": "Median seconds from a prediction to its truth, lately.",
}


class Numbers(Collector):
    """All metrics of a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        """Yield each metric."""
        pulse, tallies = self.service.learning.pulse, self.service.learning.tallies.shown()
        disk = self.service.disk()
        for name, text in COUNTED.items():
            yield CounterMetricFamily(f"aggro_{name}", text, value=pulse.counts[name])
        yield CounterMetricFamily("aggro_commits", "Commits.", value=disk["commits"])
        for name, text in DISK.items():
            yield GaugeMetricFamily(f"aggro_{name}", text, value=disk[name])
        for name, text in SHOWN.items():
            if tallies[name] is not None:
                yield GaugeMetricFamily(f"aggro_{name}", text, value=tallies[name])
        yield GaugeMetricFamily("aggro_version", "Last example.", value=self.service.version)
        yield self._answers()
        yield self._latencies()

    def _answers(self) -> Any:
        family = CounterMetricFamily("aggro_answers", "HTTP answers.", labels=["call", "status"])
        for (call, status), count in self.service.learning.pulse.statuses.items():
            family.add_metric([call, str(status)], count)
        return family

    def _latencies(self) -> Any:
        pulse = self.service.learning.pulse
        family = HistogramMetricFamily("aggro_seconds", "Seconds to an answer.", labels=["call"])
        for call, slow in pulse.slow.items():
            total, buckets = 0, []
            for bound, count in zip([*map(str, BUCKETS), "+Inf"], slow, strict=True):
                total += count
                buckets.append((bound, total))
            family.add_metric([call], buckets, pulse.seconds[call])
        return family


def registry_of(service: Service) -> CollectorRegistry:
    """Return the registry of a service."""
    registry = CollectorRegistry()
    registry.register(Numbers(service))
    return registry


def text_of(registry: CollectorRegistry) -> bytes:
    """Return all metrics as Prometheus reads them."""
    return generate_latest(registry)
