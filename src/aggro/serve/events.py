"""Server-sent events: one sample each second, made once for all pages that follow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from aggro.serve.errors import Refused
from aggro.serve.service import Service

SECOND = 1.0
STRONGEST = 12
SHARE = 0.005  # of the time that may go into the strongest features
encode = msgspec.json.Encoder().encode


class Events:
    """The beat of the server."""

    def __init__(self, service: Service, most: int) -> None:
        self.service, self.most = service, most
        self.watchers = 0
        self._next: asyncio.Future[bytes] | None = None
        self._strongest: list[Any] = []
        self._due = 0.0

    async def run(self) -> None:
        """Take a sample each second, for ever."""
        while True:
            await asyncio.sleep(SECOND)
            sample = self._sample()
            if self._next is not None:
                self._next.set_result(message("sample", sample))
                self._next = None

    def stop(self) -> None:
        """Let all pages go."""
        if self._next is not None:
            self._next.cancel()

    def _sample(self) -> dict[str, Any]:
        learning = self.service.learning
        facts = {**learning.tallies.shown(), **self.service.disk(), "version": learning.version}
        calibration = facts.pop("calibration")
        sample = learning.pulse.beat(facts)
        if not self.watchers:
            return sample
        extra = {
            "model": self.service.facts(),
            "calibration": calibration,
            "strongest": self._strong(),
            "counts": learning.pulse.counts,
        }
        return {**sample, **extra}

    def _strong(self) -> list[Any]:
        """Return the strongest features; a large model is asked rarely."""
        begin = time.monotonic()
        if begin >= self._due:
            self._strongest = self.service.learning.face.strongest(STRONGEST)
            end = time.monotonic()
            self._due = end + (end - begin) / SHARE
        return self._strongest

    def follow(self) -> AsyncIterator[bytes]:
        """Return the events of one page: the history first, then each sample."""
        if self.watchers >= self.most:
            raise Refused(429, "Too many pages follow the events.", retry_after=5)
        return self._follow()

    async def _follow(self) -> AsyncIterator[bytes]:
        self.watchers += 1
        try:
            yield message("history", list(self.service.learning.pulse.history))
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
    """Return an event as it goes over the wire; JSON in one line has no line ends."""
    return b"event: " + name.encode() + b"\ndata: " + encode(data) + b"\n\n"
