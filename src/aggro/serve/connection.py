"""One HTTP/1.1 connection on httptools and asyncio, with deadlines.

A request is checked when its head is complete and answered when its body is complete. Requests
that arrive before the previous answer is sent wait in a queue, so answers keep their order.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httptools

from aggro.serve.messages import FAILED, Reply, Request, RequestError, log

if TYPE_CHECKING:
    from aggro.serve.server import Server

PIECE = 1 << 16  # bytes of a large body that are written at a time
LINGER = 2.0  # seconds for a client to close a connection after its last answer
NEVER = math.inf
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
MALFORMED = "This is not an HTTP/1.1 request."
TIMEOUT = "The request did not arrive in time."


class Connection(asyncio.Protocol):
    """A client's connection, between asyncio's transport and the application."""

    def __init__(self, server: Server) -> None:
        self.server, self.application, self.limits = server, server.application, server.limits
        self.loop = asyncio.get_running_loop()
        self.transport: Any = None
        self._parser = httptools.HttpRequestParser(self)
        self._headers: list[tuple[bytes, bytes]] = []
        self._url, self._in_head = b"", True
        self._request: Request | None = None  # the one whose body is being received
        self._upgrade = False  # the client offers to change the protocol
        self._unparsed = 0  # bytes received since the last complete head or part of a body
        self._receiving = False  # a request is incomplete
        self._last = False  # nothing more is read
        self._busy = False  # a request is being answered
        self._waiting: deque[Request] = deque()
        self._stream: asyncio.Task[None] | None = None
        self._room: asyncio.Future[None] | None = None  # for more bytes in the transport's buffer
        self._due, self._idle, self._write_due = NEVER, False, NEVER

    # -- deadlines ------------------------------------------------------------------------------

    def _wait(self, seconds: float, idle: bool = False) -> None:
        self._due, self._idle = self.loop.time() + seconds, idle

    def check_deadlines(self, now: float) -> None:
        """Disconnect a client that is too slow; the server calls this several times a second."""
        if now > self._write_due:
            self.transport.abort()
        elif now > self._due:
            if self._last:
                self.transport.abort()
            elif self._idle:
                self._close()
            else:
                self._reject(RequestError(408, TIMEOUT))

    # -- the transport --------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        self.transport = transport
        self.server.connections.add(self)
        self._wait(self.limits.request_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a stream; other pending answers are completed and dropped."""
        self.server.connections.discard(self)
        self._waiting.clear()
        if self._stream is not None:
            self._stream.cancel()

    def pause_writing(self) -> None:
        """Set a deadline for a client that does not read."""
        self._write_due = self.loop.time() + self.limits.request_seconds
        self._room = self.loop.create_future()

    def resume_writing(self) -> None:
        """Continue sending."""
        self._write_due = NEVER
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self._room = None
        if self._waiting and not self._busy:
            self._answer_next()

    def eof_received(self) -> bool:
        """Answer the requests received before the client closed its side."""
        self._last = True
        return self._busy or bool(self._waiting)

    def data_received(self, data: bytes) -> None:
        """Parse; reject invalid requests immediately, without waiting for their body."""
        if self._last:
            return
        self._unparsed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as stop:
            if not self._last:
                self._ignore_upgrade(data[stop.args[0] :])
        except httptools.HttpParserCallbackError as error:
            self._reject(RequestError(500, FAILED))
            log.error("a request could not be read", exc_info=error)
        except httptools.HttpParserError:
            if not self._last:
                self._reject(RequestError(400, MALFORMED))
        request = self._request
        if request is not None and request.error is not None:
            self._reject(request.error)
        elif self._unparsed > self.limits.head and not self._last:
            self._reject(self._head_too_large())

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse a request again without its upgrade header.

        The parser skips the body of a request that offers an upgrade. RFC 9110, 7.8: a server may
        ignore the offer.
        """
        version = self._parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self._parser.get_method(), self._url, version)]
        lines += [b"%b: %b" % pair for pair in self._headers if pair[0] != b"upgrade"]
        self._parser = httptools.HttpRequestParser(self)
        self._unparsed = 0
        self.data_received(b"\r\n".join([*lines, b"", b""]) + rest)

    # -- the parser -----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Wait for the rest of the request."""
        self._receiving = True
        self._url, self._headers, self._in_head = b"", [], True
        self._wait(self.limits.request_seconds)

    def on_url(self, url: bytes) -> None:
        """Add a part of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Trailers, which follow the body, are not headers."""
        if self._in_head:
            self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """Check the head."""
        self._in_head = False
        method = self._parser.get_method()
        self._upgrade = self._parser.should_upgrade() and method != b"CONNECT"
        if self._upgrade:
            return
        headers = dict(self._headers)
        request = self._request = Request(method, self._url, headers)
        try:
            self._check_size()
            self.application.admit(request, self._headers)
        except RequestError as error:
            request.error = error
            return
        self._unparsed = 0
        if headers.get(b"expect", b"").lower() == b"100-continue" and not self._blocked:
            self.transport.write(CONTINUE)

    def _check_size(self) -> None:
        if len(self.server.connections) > self.limits.connections:
            raise RequestError(503, "Too many connections are open; try again.", retry_after=1)
        if self._unparsed > self.limits.head:
            size = len(self._url) + sum(len(name) + len(value) for name, value in self._headers)
            if size > self.limits.head:
                raise self._head_too_large()

    def _head_too_large(self) -> RequestError:
        return RequestError(
            431, f"A request line and its headers have at most {self.limits.head:,} bytes."
        )

    def on_body(self, body: bytes) -> None:
        """Add a part of the body, unless it is too large."""
        request = self._request
        if request is None or request.error is not None:
            return
        self._unparsed = 0
        if not request.body:
            request.body = body
        else:
            if isinstance(request.body, bytes):
                request.body = bytearray(request.body)
            request.body += body
        if len(request.body) > self.limits.body:
            request.error = self.application.too_large()

    def on_message_complete(self) -> None:
        """Answer the request, or queue it."""
        request = self._request
        if self._upgrade or request is None:
            return
        self._request, self._receiving, self._unparsed, self._due = None, False, 0, NEVER
        parser = self._parser
        request.keep_alive = parser.should_keep_alive() and parser.get_http_version() == "1.1"
        if request.method == b"CONNECT":
            request.keep_alive = False
        self._last = not request.keep_alive
        self._take(request)

    # -- answers --------------------------------------------------------------------------------

    @property
    def _blocked(self) -> bool:
        """Whether a new request must wait for others or for the client to read."""
        return self._busy or bool(self._waiting) or self._room is not None

    def _take(self, request: Request) -> None:
        if not self._blocked:
            self._answer(request)
            return
        if not self._waiting:
            self.transport.pause_reading()
        self._waiting.append(request)

    def _answer(self, request: Request) -> None:
        self._busy = True
        self.application.answer(request, self._send)

    def _answer_next(self) -> None:
        if self._busy or self._room is not None or not self._waiting:
            return
        request = self._waiting.popleft()
        if not self._waiting:
            self.transport.resume_reading()
        self._answer(request)

    def _reject(self, error: RequestError) -> None:
        """Reject an incomplete request and read nothing more."""
        request = self._request or Request()
        request.error, request.keep_alive = error, False
        self._request, self._last, self._due = None, True, NEVER
        self._take(request)

    def _send(self, request: Request, reply: Reply) -> None:
        """Send the answer to a request and continue with the next one."""
        if self.transport.is_closing():
            return
        keep_alive = request.keep_alive and reply.parts is None and not self.server.stopping
        head = self._head_of(reply, keep_alive)
        if request.method == b"HEAD":
            self.transport.write(head)
        elif reply.parts is None and len(reply.body) <= PIECE:
            self.transport.write(head + reply.body)
        else:
            parts = pieces(reply.body) if reply.parts is None else reply.parts
            self._stream = self.loop.create_task(self._send_parts(head, parts, keep_alive))
            return
        self._sent(keep_alive)

    def _head_of(self, reply: Reply, keep_alive: bool) -> bytes:
        own = b"".join([b"%b: %b\r\n" % header for header in reply.headers])
        if not keep_alive:
            own += b"connection: close\r\n"
        if reply.parts is None:
            own += b"content-length: %d\r\n" % len(reply.body)
        return b"%b%b%bcontent-type: %b\r\n\r\n" % (
            STATUS[reply.status], self.server.common_headers, own, reply.kind,
        )  # fmt: skip

    async def _send_parts(self, head: bytes, parts: Any, keep_alive: bool) -> None:
        """Send a large body or a stream, as fast as the client reads."""
        self.transport.write(head)
        async with contextlib.aclosing(parts):
            async for part in parts:
                self.transport.write(part)
                if self._room is not None:
                    await self._room
        self._stream = None
        if not self.transport.is_closing():
            self._sent(keep_alive)

    def _sent(self, keep_alive: bool) -> None:
        self._busy = False
        if not keep_alive:
            self._close()
        elif self._waiting:
            self.loop.call_soon(self._answer_next)
        elif self._last:
            self._close()
        elif not self._receiving:
            self._wait(self.limits.idle_seconds, idle=True)

    # -- the end --------------------------------------------------------------------------------

    def _close(self) -> None:
        """Close the sending side; discard what arrives until the client closes, too.

        Closing at once would reset the connection of a client that is still sending, which may
        discard the answer that it has not read yet.
        """
        self._last = True
        if self._waiting:
            self._waiting.clear()
            self.transport.resume_reading()
        self._wait(LINGER)
        if self.server.stopping or not self.transport.can_write_eof():
            self.transport.close()
        else:
            self.transport.write_eof()

    def drain(self) -> None:
        """Close now, or after pending answers; the server is stopping."""
        if not (self._busy or self._waiting):
            self._close()


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """Yield a large body in pieces."""
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
