"""uvicorn around the application: timeouts of slow clients, signals, the end."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from aggro.serve.app import Application
from aggro.serve.limits import Limits

SWITCH = 0.0002  # seconds after which a thread that computes lets another one go on
TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = TIMEOUT.replace(b"408 Request Timeout", b"431 Request Header Fields Too Large")
HANDLED = (signal.SIGINT, signal.SIGTERM)


class PatientProtocol(HttpToolsProtocol):
    """A connection that must send each request, and read its answer, within some seconds."""

    limits = Limits()

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._timer: Any = None
        self._stuck: Any = None
        self._head = 0
        self._in_head = True
        self._complete = 0  # requests
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read; a head without an end is too large."""
        complete = self._complete
        super().data_received(data)
        if self._in_head and self._complete == complete:
            self._head += len(data)
            if self._head > self.limits.head:
                self._end(TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the request."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is there."""
        super().on_message_complete()
        self._in_head, self._head = True, 0
        self._complete += 1
        self._rest()

    def pause_writing(self) -> None:
        """The client does not read: it has some seconds to begin again."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self.limits.request_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stuck.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._rest()
        if self._stuck is not None:
            self._stuck.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._rest()
        self._timer = self.loop.call_later(self.limits.request_seconds, self._end, TIMEOUT)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self, last_words: bytes) -> None:
        """Say why, if nothing was said yet, and hang up."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(last_words)
        self.transport.close()


class Server(uvicorn.Server):
    """A server that drains when it is told to stop, and then returns."""

    def __init__(self, application: Application, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.application = application

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
    protocol = type("Protocol", (PatientProtocol,), {"limits": limits})
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
