"""A connection: uvicorn's own, with deadlines for slow clients and a quick lane."""

from __future__ import annotations

import math
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from aggro.serve.endpoints import Reply
from aggro.serve.limits import Limits
from aggro.serve.quick import QuickLane
from aggro.serve.security import SAFE

TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_LARGE = TIMEOUT.replace(b"408 Request Timeout", b"431 Request Header Fields Too Large")
NEVER = math.inf


class Turn:
    """A request in the quick lane, where uvicorn looks for one that it is answering.

    Requests that arrive on the same connection before the answer wait for it, as ever. So there is
    one at a time, and a connection needs no more than one of these.
    """

    def __init__(self) -> None:
        self.message_event = self
        self.disconnected = False
        self.begin()

    def begin(self) -> None:
        """The next request is there."""
        self.response_complete, self.keep_alive = False, True

    def set(self) -> None:
        """Nobody waits for more of it."""


class Connection(HttpToolsProtocol):
    """A connection that must send each request, and read its answer, within some seconds."""

    limits = Limits()
    quick: QuickLane
    _standing: tuple[Any, bytes] = ([], b"")  # headers of all answers, and what they were made of

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._stuck: Any = None
        self._head = 0
        self._in_head = True
        self._complete = 0  # requests
        self._held = False  # the request may be one of the quick lane
        self._body = b""
        self._turn = Turn()
        self._due, self._last_words = NEVER, b""
        self._wait(self.limits.request_seconds, TIMEOUT)

    # -- deadlines ------------------------------------------------------------------------------

    def _wait(self, seconds: float, last_words: bytes = b"") -> None:
        self._due, self._last_words = self.loop.time() + seconds, last_words

    def end_if_due(self, now: float) -> None:
        """Hang up if the client has been too slow; the server asks several times a second."""
        if now > self._due:
            self._end(self._last_words)

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
        self._due = NEVER
        if self._stuck is not None:
            self._stuck.cancel()
        super().connection_lost(exc)

    def _end(self, last_words: bytes) -> None:
        """Say why, if nothing was said yet, and hang up."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(last_words)
        self.transport.close()

    # -- what arrives ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Read; a head without an end is too large."""
        complete = self._complete
        super().data_received(data)
        if self._held:  # its body comes in pieces
            self._let_go()
        if self._in_head and self._complete == complete:
            self._head += len(data)
            if self._head > self.limits.head:
                self._end(TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the request."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._wait(self.limits.request_seconds, TIMEOUT)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head = False
        if self._is_quick():
            self._held, self._body = True, b""
        else:
            self._let_go()

    def on_body(self, body: bytes) -> None:
        """A part of the body is there."""
        if self._held:
            self._body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        self._in_head, self._head, self._due = True, 0, NEVER
        self._complete += 1
        if self._held and self._body[:1] == b"{" and len(self._body) <= self.limits.body:
            self._held = False
            self._answer()
            return
        if self._held:  # a batch, or nothing that can be answered
            self._let_go()
        super().on_message_complete()

    # -- the quick lane -------------------------------------------------------------------------

    def _is_quick(self) -> bool:
        """Tell whether the connection may answer itself, if the body is one example."""
        parser, most = self.parser, self.config.limit_concurrency
        return (
            self.url in self.quick.calls
            and parser.get_method() == b"POST"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.expect_100_continue
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and (most is None or max(len(self.connections), len(self.tasks)) < most)
        )

    def _let_go(self) -> None:
        """Let uvicorn go on with the request, as if it had come to it at once."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
        if self._held and self._body:
            super().on_body(self._body)
        self._held = False

    def _answer(self) -> None:
        self._turn.begin()
        self.cycle = self._turn  # type: ignore[assignment]  # it has what uvicorn looks at
        self._unset_keepalive_if_required()
        self.quick.answer(self.url, dict(self.headers), self._body, self._send)

    def _send(self, reply: Reply) -> None:
        """Send the answer of the quick lane."""
        turn = self._turn
        turn.response_complete = True
        if self.transport.is_closing():
            return
        self.transport.write(self._message(reply, turn.keep_alive))
        if turn.keep_alive:
            self._go_on()
        else:
            self.transport.close()

    def _go_on(self) -> None:
        """Take the next request: one that waits already, or one that has some time to come."""
        if self.pipeline:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self._wait(self.limits.idle_seconds)

    def _message(self, reply: Reply, keep_alive: bool) -> bytes:
        own = b"".join([b"%b: %b\r\n" % header for header in reply.headers])
        if not keep_alive:
            own += b"connection: close\r\n"
        head = STATUS_LINE[reply.status] + self._standing_headers() + own
        size = len(reply.body)
        return b"%bcontent-type: %b\r\ncontent-length: %d\r\n\r\n%b" % (
            head, reply.kind, size, reply.body,
        )  # fmt: skip

    def _standing_headers(self) -> bytes:
        """The headers of all answers; the date among them changes each second."""
        cls, given = type(self), self.server_state.default_headers
        if cls._standing[0] is not given:
            cls._standing = (given, b"".join(b"%b: %b\r\n" % header for header in [*given, *SAFE]))
        return cls._standing[1]
