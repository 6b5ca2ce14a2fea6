"""Requests, replies and errors, independent of the transport."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from aggro.serve.calls import Call

encode = msgspec.json.Encoder().encode
log = logging.getLogger("aggro.serve")
JSON = b"application/json"
Pairs = tuple[tuple[bytes, bytes], ...]
CODES = {
    400: "bad_request",
    401: "token_missing",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "not_json",
    422: "not_valid",
    429: "busy",
    431: "head_too_large",
    500: "internal",
    503: "unavailable",
}
FAILED = "The server failed; its log says why."
BUSY = "Too many updates wait for the disk; try again."
STOPPING = "The server is stopping; try again."
NO_DISK = "The journal cannot be written now; nothing was learned. Try again."
NO_FILE = (
    "The model file cannot be made: the memory or the disk is full. Free some, then try again."
)
NO_SNAPSHOT = (
    "The snapshot cannot be written: the disk or the memory is full. Free some; try again."
)
UNKNOWN = (
    "There is no prediction with this id that waits for a label: it was never made, or it has "
    "expired. Send features and label to /learn."
)
CONFLICT = "An update with this id was learned already, with another label or other features."


class RequestError(Exception):
    """A request that cannot be fulfilled: a status and one sentence for the client."""

    def __init__(
        self,
        status: int,
        message: str,
        retry_after: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.retry_after, self.allow = retry_after, allow


class Problem(msgspec.Struct):
    """The error of a request."""

    code: str
    message: str


class Failure(msgspec.Struct):
    """The body of every error."""

    error: Problem


class Request(msgspec.Struct):
    """A request; ``error`` is set as soon as it is known that it cannot be fulfilled."""

    method: bytes = b""
    target: bytes = b""
    headers: dict[bytes, bytes] = {}
    body: bytes | bytearray = b""
    keep_alive: bool = False
    call: Call | None = None
    handler: Any = None  # Callable[[Request], Reply | Awaitable[Reply]]
    query: bytes = b""
    error: RequestError | None = None


class Reply(msgspec.Struct):
    """A reply: a body, or parts that are streamed until the connection closes."""

    body: bytes
    status: int = 200
    kind: bytes = JSON
    headers: Pairs = ()
    parts: AsyncIterator[bytes] | None = None


def json(value: Any) -> Reply:
    """Return a reply in JSON."""
    return Reply(encode(value))


def error_reply(error: RequestError) -> Reply:
    """Return the reply to a request that cannot be fulfilled."""
    headers: Pairs = ()
    if error.retry_after is not None:
        headers = ((b"retry-after", str(error.retry_after).encode()),)
    elif error.allow is not None:
        headers = ((b"allow", error.allow.encode()),)
    elif error.status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    problem = Problem(CODES[error.status], error.message)
    return Reply(encode(Failure(problem)), error.status, JSON, headers)


def failure_reply(path: str, error: BaseException) -> Reply:
    """Return the reply to a call that raised; only the log contains details."""
    if isinstance(error, RequestError):
        return error_reply(error)
    log.error("%s failed", path, exc_info=error)
    return error_reply(RequestError(500, FAILED))
