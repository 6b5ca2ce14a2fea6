"""Figures about the server: evaluation of predictions, statistics, metrics, events of the page."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.registry import Collector

from aggro.serve.messages import RequestError, encode, log

if TYPE_CHECKING:
    from aggro.serve.service import Service

# -- evaluation -----------------------------------------------------------------------------------

RECENT = 500  # examples
BEFORE = 2000  # … before them, for comparison
BINS = 10
COUNTED = 10_000  # classes or sets of labels
TARGETS = 101  # whose median is the constant prediction of a regression
ABSURD = 1e100  # distance of a target from the constant prediction
LARGEST = sys.float_info.max


class Totals(msgspec.Struct):
    """Totals over all examples."""

    examples: int = 0
    evaluated: int = 0
    error: float = 0.0  # mistakes, or the sum of absolute errors
    constant: float = 0.0  # the same for the constant prediction
    targets: list[float] = msgspec.field(default_factory=list)  # recent ones of a regression
    counts: dict[str, int] = msgspec.field(default_factory=dict)  # of the first labels, as JSON
    # Predictions by confidence: number, number of correct ones, sum of confidences.
    predicted: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)
    correct: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)
    confidence: list[float] = msgspec.field(default_factory=lambda: [0.0] * BINS)


class Evaluation:
    """Evaluation of the served predictions: total, recent, and against a constant prediction.

    An example that was predicted first is evaluated with the prediction that was served; others
    with the prediction just before learning. The totals depend only on the order of the examples
    and are saved in each snapshot, so they survive a crash exactly. Recent figures start from
    scratch. The constant prediction of a regression is the median of recent targets; a target
    further than ABSURD from it is not evaluated. Sums are limited to the largest double.
    """

    def __init__(self, regression: bool, totals: Totals | None = None) -> None:
        self.regression = regression
        self.totals = totals or Totals()
        self._ordered = sorted(self.totals.targets)
        self._most_frequent = max(
            self.totals.counts, key=self.totals.counts.__getitem__, default=None
        )
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT + BEFORE)
        self.delays: deque[float] = deque(maxlen=RECENT)

    def add(self, output: Any, confidence: float | None, label: Any, key: str) -> None:
        """Add a prediction and its label, which is also given as JSON."""
        totals = self.totals
        if self.regression:
            error = abs(float(output or 0.0) - label)
            constant = abs(self._median_target() - label)
            self._add_target(float(label))
        else:
            error = float(output != label)
            constant = float(self._most_frequent != key)
            self._count(key)
            if confidence is not None:
                self._calibrate(confidence, output == label)
        totals.examples += 1
        if constant > ABSURD:
            return
        error = error if error < LARGEST else LARGEST  # also NaN
        totals.evaluated += 1
        totals.error = min(totals.error + error, LARGEST)
        totals.constant += constant
        self._recent.append((error, constant))

    def _median_target(self) -> float:
        return self._ordered[len(self._ordered) // 2] if self._ordered else 0.0

    def _add_target(self, target: float) -> None:
        targets = self.totals.targets
        if len(targets) == TARGETS:
            del self._ordered[bisect_left(self._ordered, targets.pop(0))]
        targets.append(target)
        insort(self._ordered, target)

    def _count(self, key: str) -> None:
        counts = self.totals.counts
        if key not in counts and len(counts) == COUNTED:
            return
        counts[key] = counts.get(key, 0) + 1
        if self._most_frequent is None or counts[key] > counts[self._most_frequent]:
            self._most_frequent = key

    def _calibrate(self, confidence: float, correct: bool) -> None:
        place = min(int(confidence * BINS), BINS - 1)
        self.totals.predicted[place] += 1
        self.totals.correct[place] += correct
        self.totals.confidence[place] += confidence

    def summary(self) -> dict[str, Any]:
        """Return the figures for the page and the metrics."""
        totals, recent = self.totals, list(self._recent)
        recent, before = recent[-RECENT:], recent[:-RECENT]
        errors, constants = ([each[k] for each in recent] for k in (0, 1))
        return {
            "examples": totals.examples,
            "error": _mean_of(totals.error, totals.evaluated),
            "constant": _mean_of(totals.constant, totals.evaluated),
            "recent": _mean_of(sum(errors), len(errors)),
            "constant_recent": _mean_of(sum(constants), len(constants)),
            "before": _mean_of(sum(each[0] for each in before), len(before)),
            "drift": drift([each[0] for each in before], errors),
            "delay": _median(self.delays),
            "calibration": [
                {"confidence": c / n, "accuracy": r / n, "count": n}
                for c, r, n in zip(totals.confidence, totals.correct, totals.predicted, strict=True)
                if n
            ],
        }


def drift(before: list[float], recent: list[float]) -> float | None:
    """Return by how many standard errors the recent error is above the earlier one."""
    if len(before) < 100 or len(recent) < 100:
        return None
    (m0, v0), (m1, v1) = _moments(before), _moments(recent)
    spread = math.sqrt(v0 / len(before) + v1 / len(recent))
    return (m1 - m0) / spread if spread > 0 and math.isfinite(spread) else None


def _moments(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, sum((v - mean) * (v - mean) for v in values) / max(len(values) - 1, 1)


def _mean_of(total: float, count: int) -> float | None:
    return min(total, LARGEST) / count if count else None


def _median(values: deque[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


# -- statistics -----------------------------------------------------------------------------------

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
    "commits": "Commits.",
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


GAUGES = {  # with their descriptions
    "version": "Last example.",
    "pending": "Predictions that wait for their label.",
    "waiting": "Entries that wait for the journal.",
    "bytes": "Bytes in the data folder.",
    "error": "Error so far: the share of mistakes, or the mean absolute error.",
    "recent": "Recent error.",
    "constant": "Error so far of the constant prediction.",
    "drift": "Standard errors by which the recent error is above the earlier one.",
    "delay": "Median seconds from a recent prediction to its label.",
}


class Metrics(Collector):
    """All metrics of a service, for ``prometheus_client.generate_latest``."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[Any]:
        """Yield each metric."""
        learning = self.service.learning
        counts = {**learning.stats.counts, "commits": self.service.writer.commits}
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"aggro_{name}", text, value=counts[name])
        values = {
            **learning.evaluation.summary(),
            **self.service.disk(),
            "version": learning.version,
        }
        for name, text in GAUGES.items():
            if values[name] is not None:
                yield GaugeMetricFamily(f"aggro_{name}", text, value=values[name])
        answers = CounterMetricFamily("aggro_answers", "HTTP answers.", labels=["call", "status"])
        for (call, status), count in learning.stats.statuses.items():
            answers.add_metric([call, str(status)], count)
        yield answers
        yield latencies(learning.stats)


def latencies(stats: Stats) -> HistogramMetricFamily:
    """Return the latencies of all calls."""
    family = HistogramMetricFamily("aggro_seconds", "Seconds to an answer.", labels=["call"])
    for call, slow in stats.histograms.items():
        total, buckets = 0, []
        for bound, count in zip([*map(str, BUCKETS), "+Inf"], slow, strict=True):
            total += count
            buckets.append((bound, total))
        family.add_metric([call], buckets, stats.seconds[call])
    return family


# -- server-sent events ---------------------------------------------------------------------------

SECOND = 1.0
STRONGEST = 12
SHARE = 0.005  # of the time, at most, is spent on the strongest features


class Events:
    """Server-sent events: one sample per second, shared by all pages."""

    def __init__(self, service: Service, most: int) -> None:
        self.service, self.most = service, most
        self.watchers = 0
        self._next: asyncio.Future[bytes] | None = None
        self._strongest: list[Any] = []
        self._due = 0.0

    async def run(self) -> None:
        """Take a sample each second."""
        while True:
            await asyncio.sleep(SECOND)
            try:
                sample = self._sample()
            except Exception as error:  # the next sample may succeed
                log.error("no sample was taken", exc_info=error)
                continue
            if self._next is not None:
                self._next.set_result(message("sample", sample))
                self._next = None

    def stop(self) -> None:
        """End all streams."""
        if self._next is not None:
            self._next.cancel()

    def _sample(self) -> dict[str, Any]:
        learning = self.service.learning
        facts = {
            **learning.evaluation.summary(),
            **self.service.disk(),
            "version": learning.version,
        }
        calibration = facts.pop("calibration")
        sample = learning.stats.sample(facts)
        if not self.watchers:
            return sample
        extra = {
            "model": self.service.facts(),
            "calibration": calibration,
            "strongest": self._strong(),
            "counts": learning.stats.counts,
        }
        return {**sample, **extra}

    def _strong(self) -> list[Any]:
        """Return the strongest features, which are updated less often for a large model."""
        begin = time.monotonic()
        if begin >= self._due:
            self._strongest = self.service.learning.adapter.strongest(STRONGEST)
            end = time.monotonic()
            self._due = end + (end - begin) / SHARE
        return self._strongest

    def follow(self) -> AsyncIterator[bytes]:
        """Return the events for one page: the history, then each sample."""
        if self.watchers >= self.most:
            raise RequestError(429, "Too many pages are open.", retry_after=5)
        return self._follow()

    async def _follow(self) -> AsyncIterator[bytes]:
        self.watchers += 1
        try:
            yield message("history", list(self.service.learning.stats.history))
            while not self.service.stopping:
                if self._next is None:
                    self._next = asyncio.get_running_loop().create_future()
                try:
                    yield await asyncio.shield(self._next)
                except asyncio.CancelledError:
                    return
        finally:
            self.watchers -= 1


def message(name: str, data: Any) -> bytes:
    """Return an encoded event; JSON contains no line ends."""
    return b"event: " + name.encode() + b"\ndata: " + encode(data) + b"\n\n"
