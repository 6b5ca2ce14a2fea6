"""The server process: model, sockets, deadlines, signals, shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import aggro
from aggro.serve.adapters import ADAPTERS, StreamAdapter, TextAdapter
from aggro.serve.app import Application
from aggro.serve.config import MAX_FEATURES, Limits, Plan, check_token
from aggro.serve.connection import Connection
from aggro.serve.folder import JOURNAL
from aggro.serve.messages import LOOPBACK, SAFE, Guard
from aggro.serve.service import Service
from aggro.variants import find

SWITCH = 0.0002  # seconds between two switches of threads
TICK = 0.1  # seconds between two checks of the deadlines
BACKLOG = 2048  # connections that wait to be accepted
HANDLED = (signal.SIGINT, signal.SIGTERM)


class Server:
    """Serves until it is stopped; then completes current requests and returns."""

    def __init__(self, application: Application, limits: Limits) -> None:
        self.application, self.limits = application, limits
        self.connections: set[Connection] = set()
        self.started = self.stopping = False
        self.common_headers = b""  # of all replies
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve on sockets until a signal or ``stop`` ends it."""
        sys.setswitchinterval(SWITCH)
        loop_run()(self._serve(sockets))

    def stop(self) -> None:
        """Stop soon; may be called from any thread."""
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
        """Wait for pending answers, for a limited time."""
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
        """Stop on a signal; restore the previous signal handlers afterwards."""
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
    """Return the function that runs a coroutine: uvloop's if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket, so that errors appear before anything is served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((host, port))
    except OSError:
        place.close()
        raise
    return place


def run(plan: Plan, ready: Callable[[str, Server], None]) -> None:
    """Serve until a signal; before that, call ``ready`` with the address and the server."""
    guard = guard_of(plan)
    model, origin = first_model(plan)
    listening = listen(plan.host, plan.port)
    try:
        service = Service(plan.data, model, origin, plan.limits, plan.retention)
        application = Application(service, guard, plan.limits)
        listening.listen(BACKLOG)
        host, port = listening.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        server = Server(application, plan.limits)
        ready(f"http://{name}:{port}", server)
        server.run(sockets=[listening])
    finally:
        listening.close()


def guard_of(plan: Plan) -> Guard:
    """Return the access rules; raise if others can connect without a token by accident."""
    for name in ("token", "write_token"):
        token = getattr(plan, name)
        if token is not None:
            check_token(token, name)
    loopback = is_loopback(plan.host)
    if not loopback and plan.token is None and not plan.open:
        raise ValueError(
            f"With --host {plan.host}, other machines can connect: set the token AGGRO_TOKEN (or "
            "--token-file), or give --no-token."
        )
    return Guard(plan.token, plan.write_token, loopback)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def first_model(plan: Plan) -> tuple[Any, str | None]:
    """Return the model of a new folder and a text that identifies it.

    Without a name, an existing folder keeps its model (None, None), and a new one gets a
    ``StreamClassifier``.
    """
    model, params = plan.model, plan.params
    if model is None and (plan.data / JOURNAL).exists():
        _check_no_params(plan, f"{plan.data} has a model")
        return None, None
    path = Path(model or "")
    if path.is_file():
        _check_no_params(plan, f"{model} has its settings")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return aggro.load(path), f"the file {path.name} ({digest[:16]})"
    name = model or "StreamClassifier"
    if ADAPTERS.get(name) is TextAdapter:
        return getattr(aggro, name)(**params), _identity(name, params)
    settings = {"max_features": MAX_FEATURES, **params}
    if ADAPTERS.get(name) is StreamAdapter:
        return getattr(aggro, name)(**settings), _identity(name, settings)
    try:
        variant = find(name)
    except ValueError as error:
        if os.sep in name or path.suffix:
            raise FileNotFoundError(2, "there is no such file", name) from error
        raise
    regression = variant.estimator.endswith("Regressor")
    kind = aggro.StreamRegressor if regression else aggro.StreamClassifier
    return kind(variant.name, **settings), _identity(variant.name, settings)


def _identity(name: str, params: dict[str, Any]) -> str:
    return f"{name} {json.dumps(params, sort_keys=True)}"


def _check_no_params(plan: Plan, reason: str) -> None:
    if plan.params:
        option = next(iter(plan.params)).replace("_", "-")
        raise ValueError(f"--{option} is for a new model, and {reason} already; leave it out.")
