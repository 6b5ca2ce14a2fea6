"""Server-sent events: one sample per second, shared by all pages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from aggro.serve.messages import RequestError
from aggro.serve.service import Service

SECOND = 1.0
STRONGEST = 12
SHARE = 0.005  # of the time, at most, is spent on the strongest features
encode = msgspec.json.Encoder().encode


class Events:
    """The events of the server."""

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
            sample = self._sample()
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
