"""The application: routing, admission and the handler of each call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

import httptools
import msgspec
from prometheus_client import generate_latest

from aggro.persistence.record import bytes_of
from aggro.serve import calls
from aggro.serve.calls import CALLS, Call, describe
from aggro.serve.config import Limits
from aggro.serve.messages import (
    JSON,
    NO_FILE,
    Guard,
    Reply,
    Request,
    RequestError,
    check_repeated,
    encode,
    error_reply,
    failure_reply,
    json,
    log,
)
from aggro.serve.monitoring import Events, Metrics
from aggro.serve.service import Service

PAGE = {  # path: file, content type
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/page/page.css": ("page.css", b"text/css; charset=utf-8"),
    "/page/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/page/charts.js": ("charts.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.js": ("uPlot.iife.min.js", b"text/javascript; charset=utf-8"),
    "/page/uplot.css": ("uPlot.min.css", b"text/css; charset=utf-8"),
}

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
        self._tasks: set[asyncio.Future[Reply]] = set()
        self._sampling: asyncio.Task[None] | None = None

    def _add(self, call: Call, handler: Handler) -> None:
        methods = (b"GET", b"HEAD") if call.method == "GET" else (call.method.encode(),)
        self._routes.setdefault(call.path.encode(), {}).update(
            dict.fromkeys(methods, (call, handler))
        )

    # -- requests -------------------------------------------------------------------------------

    def admit(self, request: Request, headers: list[tuple[bytes, bytes]]) -> None:
        """Find the call of a request with a complete head; raise RequestError if not allowed.

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
            # Browsers send other types to foreign servers without a preflight request.
            if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
                raise RequestError(
                    415, "Send JSON, with the header Content-Type: application/json."
                )
        length = request.headers.get(b"content-length")
        if length is not None and int(length) > self.limits.body:  # the parser has validated it
            raise self.too_large()

    def too_large(self) -> RequestError:
        """Return the error for a body of too many bytes."""
        return RequestError(413, f"A request has at most {self.limits.body:,} bytes.")

    def _find(self, request: Request) -> None:
        target = request.target
        if not target.startswith(b"/"):
            target = _origin_form(request)
        path, _, request.query = target.partition(b"?")
        if b"%" in path:
            path = unquote_to_bytes(path)
        methods = self._routes.get(path)
        if methods is None:
            raise RequestError(404, "There is no such call; see /openapi.json.")
        found = methods.get(request.method)
        if found is None:
            allowed = ", ".join(sorted(method.decode() for method in methods))
            raise RequestError(405, f"This call is for {allowed}.", allow=allowed)
        request.call, request.handler = found

    def answer(self, request: Request, send: Callable[[Request, Reply], None]) -> None:
        """Answer a request; ``send`` is called once, now or later."""
        begin = time.perf_counter()
        try:
            if request.error is None:
                found = request.handler(request)
            else:
                found = error_reply(request.error)
        except Exception as error:
            found = failure_reply(_path_of(request), error)
        if isinstance(found, Reply):
            self._finish(request, begin, send, found)
        else:
            task = asyncio.ensure_future(found)
            self._tasks.add(task)
            task.add_done_callback(partial(self._done, request, begin, send))

    def _done(self, request: Request, begin: float, send: Any, task: asyncio.Future[Reply]) -> None:
        self._tasks.discard(task)
        if task.cancelled():  # the server has stopped
            return
        error = task.exception()
        reply = task.result() if error is None else failure_reply(_path_of(request), error)
        self._finish(request, begin, send, reply)

    def _finish(self, request: Request, begin: float, send: Any, reply: Reply) -> None:
        send(request, reply)
        if request.call is not None:
            seconds = time.perf_counter() - begin
            self.service.learning.stats.answered(request.call.path, reply.status, seconds)

    # -- start and end --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the journal thread and the samples; call it on the event loop."""
        self.service.writer.start()
        self._sampling = asyncio.ensure_future(self.endpoints.events_.run())

    def drain(self) -> None:
        """Accept no more updates and end the streams of events; complete what has started."""
        self.service.stopping = True
        self.endpoints.events_.stop()

    async def stop(self) -> None:
        """Learn all accepted updates, write a snapshot, close the journal."""
        if self._sampling is not None:
            self._sampling.cancel()
        await self.service.stop()


def page_of(path: str) -> Handler:
    """Return a handler for a file of the page."""
    name, kind = PAGE[path]
    body = resources.files("aggro.serve").joinpath("page").joinpath(name).read_bytes()
    reply = Reply(body, 200, kind)
    return lambda request: reply


def _origin_form(request: Request) -> bytes:
    """Return path and query of an absolute target; its host replaces the header."""
    try:
        url = httptools.parse_url(request.target)
    except httptools.HttpParserError:
        url = None
    if url is None or not url.host or request.method == b"CONNECT":
        raise RequestError(400, "The request target is not a path of this server.")
    port = b"" if url.port is None else b":%d" % url.port
    user = b"" if url.userinfo is None else url.userinfo + b"@"
    request.headers[b"host"] = user + url.host + port
    return (url.path or b"/") + (b"?" + url.query if url.query else b"")


def _path_of(request: Request) -> str:
    return request.call.path if request.call is not None else "a request"


class Endpoints:
    """A method for each row of the table of calls."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self.events_ = Events(service, limits.watchers)
        types = calls.shapes(service.learning.adapter, limits)
        self.decoders = {
            **{verb: msgspec.json.Decoder(kind) for verb, kind in vars(types).items()},
            "infer": msgspec.json.Decoder(calls.Infer),
        }
        self._description = encode(describe(types))
        self._downloads = asyncio.Semaphore(2)

    # -- predictions and updates ----------------------------------------------------------------

    def predict(self, request: Request) -> Reply | Awaitable[Reply]:
        """Answer immediately: predictions do not wait for the disk."""
        asked = self._decode("predict", request)
        if isinstance(asked, list):
            return self._predict_many(asked)
        return json(self.service.predict_one(asked))

    async def _predict_many(self, asked: list[Any]) -> Reply:
        return Reply(await self.service.predict(asked))

    async def learn(self, request: Request) -> Reply:
        """Answer when the update is on disk and in the model."""
        return await self._update(self.service.example_record, self._decode("learn", request))

    async def label(self, request: Request) -> Reply:
        """Answer when the update is on disk and in the model."""
        return await self._update(self.service.label_record, self._decode("label", request))

    async def _update(self, record_of: Callable[[Any], Any], asked: Any) -> Reply:
        """Learn one update, or several, each of which has its own status."""
        if isinstance(asked, list):
            return json(await self.service.update([record_of(one) for one in asked]))
        (receipt,) = await self.service.update([record_of(asked)])
        if receipt.status != 200:
            raise RequestError(receipt.status, receipt.error or "")
        return json(receipt)

    def _decode(self, verb: str, request: Request) -> Any:
        """Return the decoded body."""
        try:
            return self.decoders[verb].decode(request.body)
        except msgspec.ValidationError as error:
            raise RequestError(422, str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RequestError(400, f"The body is not JSON in UTF-8: {_short(error)}") from error

    # -- the model ------------------------------------------------------------------------------

    async def explain(self, request: Request) -> Reply:
        """Explain the prediction of the id in the query."""
        query = parse_qs(request.query.decode("latin-1"), errors="replace")
        ids = query.get("id", [])
        if len(ids) != 1 or not 1 <= len(ids[0]) <= self.limits.id:
            raise RequestError(422, "Give one id: /explain?id=ID.")
        return json(await self.service.explain(ids[0]))

    def model(self, request: Request) -> Reply:
        """Describe the model."""
        return json(self.service.facts())

    async def file(self, request: Request) -> Reply:
        """Return the current model; another thread makes the file."""
        async with self._downloads:
            loop = asyncio.get_running_loop()
            try:
                frozen, version, _ = self.service.learning.freeze()
                body = await loop.run_in_executor(None, lambda: bytes_of(frozen()))
            except (OSError, MemoryError) as error:
                log.error("no model file was made: %r", error)
                raise RequestError(503, NO_FILE, retry_after=1) from error
        name = f'attachment; filename="model-{version}.aggro"'.encode()
        headers = ((b"content-disposition", name), (b"x-aggro-version", str(version).encode()))
        return Reply(body, 200, b"application/octet-stream", headers)

    async def snapshot(self, request: Request) -> Reply:
        """Write a snapshot now."""
        return json(calls.Snapshot(await self.service.scheduler.save()))

    # -- the server -----------------------------------------------------------------------------

    def metrics(self, request: Request) -> Reply:
        """Return the metrics for Prometheus."""
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        return Reply(generate_latest(Metrics(self.service)), 200, kind)

    def health(self, request: Request) -> Reply:
        """Report that the process runs."""
        return json({"live": True})

    def ready(self, request: Request) -> Reply:
        """Report whether requests are accepted."""
        if self.service.stopping:
            raise RequestError(503, "The server is stopping.", retry_after=1)
        return json({"ready": True})

    def openapi(self, request: Request) -> Reply:
        """Return the OpenAPI description."""
        return Reply(self._description)

    def events(self, request: Request) -> Reply:
        """Stream the data of the page."""
        return Reply(b"", 200, b"text/event-stream", parts=self.events_.follow())

    # -- the Open Inference Protocol ------------------------------------------------------------

    def v2_server(self, request: Request) -> Reply:
        """Describe the server."""
        return json(calls.server_metadata())

    def v2_model(self, request: Request) -> Reply:
        """Describe the inputs and outputs of the model."""
        return json(calls.model_metadata(self.service.learning.adapter, self.service.version))

    def v2_ready(self, request: Request) -> Reply:
        """Report that the model is ready."""
        return json({"name": calls.NAME, "ready": True})

    async def v2_infer(self, request: Request) -> Reply:
        """Predict without storing anything."""
        asked = self._decode("infer", request)
        rows = calls.examples_of(asked, self.service.learning.adapter, self.limits)
        values = await self.service.infer(rows)
        return json(calls.inferred(asked, self.service.version, values))


def _short(error: Exception) -> str:
    return "too deep" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
