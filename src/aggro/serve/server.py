"""The process around the application: sockets, deadlines, signals, the end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

from aggro.serve.app import Application
from aggro.serve.connection import Connection
from aggro.serve.limits import Limits
from aggro.serve.security import SAFE

SWITCH = 0.0002  # seconds after which a thread that computes lets another one go on
TICK = 0.1  # seconds between two checks of the deadlines
BACKLOG = 2048  # connections that wait to be accepted
HANDLED = (signal.SIGINT, signal.SIGTERM)


class Server:
    """Serves until it is told to stop; then it finishes what is under way and returns."""

    def __init__(self, application: Application, limits: Limits) -> None:
        self.application, self.limits = application, limits
        self.connections: set[Connection] = set()
        self.started = self.stopping = False
        self.common_headers = b""  # of all answers
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve on sockets until a signal or ``stop`` ends it."""
        sys.setswitchinterval(SWITCH)
        loop_run()(self._serve(sockets))

    def stop(self) -> None:
        """Stop soon; call it from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def _serve(self, sockets: list[socket.socket]) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        with self._signals():
            self._set_date()
            self.application.start()
            listening = [
                await loop.create_server(lambda: Connection(self), sock=each, backlog=BACKLOG)
                for each in sockets
            ]
            self.started = True
            ticks = loop.create_task(self._tick())
            await self._stop.wait()
            self.stopping = True
            self.application.drain()
            for each in listening:
                each.close()
            await self._drain()
            ticks.cancel()
            await self.application.stop()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._set_date()
            now = loop.time()
            for connection in list(self.connections):
                connection.check_deadlines(now)
            await asyncio.sleep(TICK)

    def _set_date(self) -> None:
        headers = [(b"date", formatdate(usegmt=True).encode()), *SAFE]
        self.common_headers = b"".join(b"%b: %b\r\n" % header for header in headers)

    async def _drain(self) -> None:
        """Wait for the answers that are due, for some seconds at most."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.limits.drain_seconds
        for connection in list(self.connections):
            connection.drain()
        while self.connections and loop.time() < until:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on a signal; afterwards signals do what they did before."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in HANDLED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def loop_run() -> Any:
    """Return the function that runs a coroutine: uvloop's where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound; errors appear before anything is served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except OSError:
        place.close()
        raise
    return place
