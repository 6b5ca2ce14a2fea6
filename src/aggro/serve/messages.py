"""Requests and replies, independent of how they travel."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from aggro.serve.calls import Call, Failure, Problem
from aggro.serve.errors import CODES, FAILED, Refused

encode = msgspec.json.Encoder().encode
log = logging.getLogger("aggro.serve")
JSON = b"application/json"
Pairs = tuple[tuple[bytes, bytes], ...]


class Request(msgspec.Struct):
    """A request; ``refused`` is set as soon as it is known that it cannot be fulfilled."""

    method: bytes = b""
    target: bytes = b""
    headers: dict[bytes, bytes] = {}
    body: bytes | bytearray = b""
    keep_alive: bool = False
    call: Call | None = None
    handler: Any = None  # Callable[[Request], Reply | Awaitable[Reply]]
    parameter: bytes = b""  # the variable part of the path
    query: bytes = b""
    refused: Refused | None = None


class Reply(msgspec.Struct):
    """A reply: a body, or parts that are sent as they are made until the connection closes."""

    body: bytes
    status: int = 200
    kind: bytes = JSON
    headers: Pairs = ()
    parts: AsyncIterator[bytes] | None = None


def json(value: Any) -> Reply:
    """Return a reply in JSON."""
    return Reply(encode(value))


def refusal(error: Refused) -> Reply:
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


def failure(path: str, error: BaseException) -> Reply:
    """Return the reply to a call that raised; only the log has details of the implementation."""
    if isinstance(error, Refused):
        return refusal(error)
    log.error("%s failed", path, exc_info=error)
    return refusal(Refused(500, FAILED))
