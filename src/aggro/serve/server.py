"""uvicorn around the application: its settings, slow clients, signals, the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import uvicorn

from aggro.serve.app import Application
from aggro.serve.connection import Connection
from aggro.serve.limits import Limits

SWITCH = 0.0002  # seconds after which a thread that computes lets another one go on
HANDLED = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """A server that drains when it is told to stop, and then returns."""

    def __init__(self, application: Application, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.application = application

    async def on_tick(self, counter: int) -> bool:
        """Several times a second: look for clients that are too slow."""
        now = asyncio.get_running_loop().time()
        for connection in list(self.server_state.connections):
            connection.end_if_due(now)  # type: ignore[union-attr]  # it is one of ours
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving; afterwards they are over, not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain; uvicorn stops when nothing is under way."""
        super().handle_exit(sig, frame)
        self.application.drain()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; errors are told before anything is served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except OSError:
        place.close()
        raise
    return place


def make_server(application: Application, limits: Limits) -> Server:
    """Return a server; ``run`` serves until a signal says stop, drains, snapshots, returns."""
    sys.setswitchinterval(SWITCH)
    protocol = type("Protocol", (Connection,), {"limits": limits, "quick": application.quick})
    config = uvicorn.Config(
        application,
        http=protocol,
        ws="none",
        lifespan="on",
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=int(limits.drain_seconds),
    )
    return Server(application, config)
