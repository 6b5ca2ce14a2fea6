"""The ASGI application: routes made from the table of calls, and the shield around them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

from starlette.routing import Route, Router

from aggro.serve.calls import CALLS, Call
from aggro.serve.endpoints import Endpoints, Receive, Reply, Scope, Send, refusal
from aggro.serve.errors import Refused
from aggro.serve.limits import Limits
from aggro.serve.quick import QuickLane
from aggro.serve.security import SAFE, Guard
from aggro.serve.service import Service
from aggro.serve.shield import Shield, failure

BYTES_AT_ONCE = 1 << 16  # of a large body
PAGE = {  # path: file, content type
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/page/page.css": ("page.css", b"text/css; charset=utf-8"),
    "/page/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/page/charts.js": ("charts.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.js": ("uPlot.iife.min.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.css": ("uPlot.min.css", b"text/css; charset=utf-8"),
}


class Shielded:
    """One call as an ASGI application: checked, counted, and never a trace of the inside."""

    def __init__(self, call: Call, handler: Any, shield: Shield) -> None:
        self.call, self.handler, self.shield = call, handler, shield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        begin = time.perf_counter()
        reply = await self._reply(scope, receive)
        if isinstance(reply, Reply):
            await send_reply(reply, send)
            self.shield.count(self.call.path, reply.status, begin)
        else:
            await send_stream(reply, receive, send)
            self.shield.count(self.call.path, 200, begin)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply | AsyncIterator[bytes]:
        try:
            self.shield.guard.check(dict(scope["headers"]), self.call.writes, self.call.open)
            found: Reply | AsyncIterator[bytes] = await self.handler(scope, receive)
            return found
        except Exception as error:
            return failure(self.call.path, error)


async def send_reply(reply: Reply, send: Send) -> None:
    """Send a reply with the headers that make it safe."""
    own = [(b"content-type", reply.kind), (b"content-length", str(len(reply.body)).encode())]
    headers = [*own, *reply.headers, *SAFE]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    body, last = reply.body, max(len(reply.body) - 1, 0) // BYTES_AT_ONCE * BYTES_AT_ONCE
    for start in range(0, last, BYTES_AT_ONCE):
        piece = body[start : start + BYTES_AT_ONCE]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": body[last:]})


async def send_stream(parts: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
    """Send events until the reader leaves."""
    headers = [(b"content-type", b"text/event-stream"), *SAFE]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        async for part in parts:
            if gone.done():
                return
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        await parts.aclose()  # type: ignore[attr-defined]  # a generator


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class CallRoute(Route):
    """A route that refuses other methods in the words of this server."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer, or say which method is meant."""
        if self.methods and scope["method"] not in self.methods:
            allowed = ", ".join(sorted(self.methods))
            reply = refusal(Refused(405, f"This call is for {allowed}."))
            reply.headers = ((b"allow", allowed.encode()),)
            await send_reply(reply, send)
        else:
            await self.app(scope, receive, send)


async def missing(scope: Any, receive: Any, send: Any) -> None:
    """Say that there is no such call."""
    await send_reply(refusal(Refused(404, "There is no such call; see /openapi.json.")), send)


class Application:
    """The server's ASGI application."""

    def __init__(self, service: Service, guard: Guard, limits: Limits) -> None:
        self.service, self.shield = service, Shield(guard, service)
        self.endpoints = Endpoints(service, limits)
        self.quick = QuickLane(self.endpoints, self.shield)
        routes = [self._route(call) for call in CALLS]
        routes += [CallRoute(path, self._page(path), methods=["GET"]) for path in PAGE]
        self.router = Router(routes, redirect_slashes=False, default=missing)
        self._beat: asyncio.Task[None] | None = None

    def _route(self, call: Call) -> CallRoute:
        handler = getattr(self.endpoints, call.handler)
        return CallRoute(call.path, Shielded(call, handler, self.shield), methods=[call.method])

    def _page(self, path: str) -> Shielded:
        """Files of the page hold no secrets: they need no token, and are read once."""
        name, kind = PAGE[path]
        body = resources.files("aggro.serve").joinpath("page").joinpath(name).read_bytes()
        reply = Reply(body, 200, kind)

        async def handler(scope: Scope, receive: Receive) -> Reply:
            return reply

        return Shielded(Call("GET", path, "", "", (200,), open=True), handler, self.shield)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self.router(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self.service.writer.start()
        self._beat = asyncio.ensure_future(self.endpoints.events_.run())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._beat.cancel()
        await self.service.stop()
        await send({"type": "lifespan.shutdown.complete"})

    def drain(self) -> None:
        """Take no more lessons and let the pages go; what is under way is finished."""
        self.service.stopping = True
        self.endpoints.events_.stop()
