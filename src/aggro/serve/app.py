"""The application: routing, admission and dispatch of all calls, made from the table of calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from aggro.serve.calls import CALLS, Call
from aggro.serve.endpoints import Endpoints
from aggro.serve.errors import Refused
from aggro.serve.limits import Limits
from aggro.serve.messages import JSON, Reply, Request, failure, refusal
from aggro.serve.security import Guard, check_repeated
from aggro.serve.service import Service

PAGE = {  # path: file, content type
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/page/page.css": ("page.css", b"text/css; charset=utf-8"),
    "/page/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/page/charts.js": ("charts.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.js": ("uPlot.iife.min.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.css": ("uPlot.min.css", b"text/css; charset=utf-8"),
}
VARIABLE = b"{model}"  # a part of a path

Handler = Callable[[Request], Reply | Awaitable[Reply]]
Route = tuple[Call, Handler]


class Application:
    """All calls of the server."""

    def __init__(self, service: Service, guard: Guard, limits: Limits) -> None:
        self.service, self.guard, self.limits = service, guard, limits
        self.endpoints = Endpoints(service, limits)
        self._routes: dict[bytes, dict[bytes, Route]] = {}  # by path, by method
        for call in CALLS:
            self._add(call, getattr(self.endpoints, call.handler))
        for path in PAGE:
            self._add(Call("GET", path, "", "", (200,), open=True), page_of(path))
        self._variable = [path.partition(VARIABLE) for path in self._routes if VARIABLE in path]
        self._tasks: set[asyncio.Future[Reply]] = set()
        self._beat: asyncio.Task[None] | None = None

    def _add(self, call: Call, handler: Handler) -> None:
        methods = (b"GET", b"HEAD") if call.method == "GET" else (call.method.encode(),)
        self._routes.setdefault(call.path.encode(), {}).update(
            dict.fromkeys(methods, (call, handler))
        )

    # -- requests -------------------------------------------------------------------------------

    def admit(self, request: Request, headers: list[tuple[bytes, bytes]]) -> None:
        """Find the call of a request whose head is complete; raise Refused if it may not be made.

        ``headers`` are those of the request as they were sent, with repetitions.
        """
        if len(headers) != len(request.headers):
            check_repeated(headers)
        self._find(request)
        call = request.call
        assert call is not None
        self.guard.check(request.headers, call.writes, call.open)
        if call.request is not None:
            kind = request.headers.get(b"content-type", b"")
            # Web pages may send other types without asking the server first.
            if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
                raise Refused(415, "Send JSON, with the header Content-Type: application/json.")
        length = request.headers.get(b"content-length")
        if length is not None and int(length) > self.limits.body:  # the parser has checked it
            raise self.too_large()

    def too_large(self) -> Refused:
        """Return the error for a body of too many bytes."""
        return Refused(413, f"A request has at most {self.limits.body:,} bytes.")

    def _find(self, request: Request) -> None:
        target = request.target
        if not target.startswith(b"/"):
            target = _origin_form(request)
        path, _, request.query = target.partition(b"?")
        if b"%" in path:
            path = unquote_to_bytes(path)
        methods = self._routes.get(path)
        if methods is None:
            path, request.parameter = self._match(path)
            methods = self._routes.get(path)
        if methods is None:
            raise Refused(404, "There is no such call; see /openapi.json.")
        found = methods.get(request.method)
        if found is None:
            allowed = ", ".join(sorted(method.decode() for method in methods))
            raise Refused(405, f"This call is for {allowed}.", allow=allowed)
        request.call, request.handler = found

    def _match(self, path: bytes) -> tuple[bytes, bytes]:
        """Return the path in the table that has a variable part, and the value of that part."""
        for before, name, after in self._variable:
            value = path[len(before) : len(path) - len(after)]
            if path == before + value + after and value and b"/" not in value:
                return before + name + after, value
        return b"", b""

    def answer(self, request: Request, send: Callable[[Request, Reply], None]) -> None:
        """Answer a request; ``send`` is called once, now or later."""
        begin = time.perf_counter()
        try:
            if request.refused is None:
                found = request.handler(request)
            else:
                found = refusal(request.refused)
        except Exception as error:
            found = failure(_path_of(request), error)
        if isinstance(found, Reply):
            self._finish(request, begin, send, found)
        else:
            task = asyncio.ensure_future(found)
            self._tasks.add(task)
            task.add_done_callback(partial(self._done, request, begin, send))

    def _done(self, request: Request, begin: float, send: Any, task: asyncio.Future[Reply]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # the server has ended
            return
        error = task.exception()
        reply = task.result() if error is None else failure(_path_of(request), error)
        self._finish(request, begin, send, reply)

    def _finish(self, request: Request, begin: float, send: Any, reply: Reply) -> None:
        send(request, reply)
        if request.call is not None:
            seconds = time.perf_counter() - begin
            self.service.learning.pulse.answered(request.call.path, reply.status, seconds)

    # -- start and end --------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to write the journal and to take samples; call it on the event loop."""
        self.service.writer.start()
        self._beat = asyncio.ensure_future(self.endpoints.events_.run())

    def drain(self) -> None:
        """Accept no more updates and end the pages' events; what is under way is finished."""
        self.service.stopping = True
        self.endpoints.events_.stop()

    async def stop(self) -> None:
        """Learn all that was accepted, write a snapshot, close the journal."""
        if self._beat is not None:
            self._beat.cancel()
        await self.service.stop()


def page_of(path: str) -> Handler:
    """Return a handler for a file of the page, which has no secrets: it needs no token."""
    name, kind = PAGE[path]
    body = resources.files("aggro.serve").joinpath("page").joinpath(name).read_bytes()
    reply = Reply(body, 200, kind)
    return lambda request: reply


def _origin_form(request: Request) -> bytes:
    """Return path and query of an absolute target, whose host takes the place of the header's."""
    try:
        url = httptools.parse_url(request.target)
    except httptools.HttpParserError:
        url = None
    if url is None or not url.host or request.method == b"CONNECT":
        raise Refused(400, "The request target is not a path of this server.")
    port = b"" if url.port is None else b":%d" % url.port
    user = b"" if url.userinfo is None else url.userinfo + b"@"
    request.headers[b"host"] = user + url.host + port
    return (url.path or b"/") + (b"?" + url.query if url.query else b"")


def _path_of(request: Request) -> str:
    return request.call.path if request.call is not None else "a request"
