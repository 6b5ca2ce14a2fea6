"""Requests, replies and errors, independent of the transport, and access to the calls."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

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
REJECTED = {  # updates, by status
    404: "There is no prediction with this id that waits for a label: it was never made, or it has "
    "expired. Send features and label to /learn.",
    409: "An update with this id was learned already, with another label or other features.",
}


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


# -- access: tokens, hosts, origins -------------------------------------------------------------

Headers = list[tuple[bytes, bytes]]
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.~!$&'()*+,;=%-]+))(?::[0-9]*)?", re.ASCII)
ONCE = (b"host", b"authorization", b"origin", b"content-type", b"content-length", b"expect")

# The page may load only files of this server, and no other page may embed it.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", CSP.encode()),
]


@dataclass(frozen=True)
class Guard:
    """Checks tokens, hosts and origins.

    ``token`` is for all calls, ``write_token`` for those that change the model; it may also read.
    Without a token, only this machine is served, and the Host header must be a name of this
    machine. Otherwise any web page could reach the server by DNS rebinding.
    """

    token: str | None = None
    write_token: str | None = None
    loopback: bool = True

    def check(self, headers: dict[bytes, bytes], writes: bool, open: bool) -> None:
        """Raise RequestError unless the request is allowed."""
        self._check_host(headers)
        if open or not (self.token or (writes and self.write_token)):
            return
        wanted = (
            [self.write_token] if writes and self.write_token else [self.token, self.write_token]
        )
        given = headers.get(b"authorization", b"")
        scheme, _, word = given.partition(b" ")
        if scheme.lower() != b"bearer" or not word:
            raise RequestError(401, "This call needs a token: Authorization: Bearer TOKEN.")
        # Make all comparisons, each in constant time, whatever the first result.
        fits = [each is not None and hmac.compare_digest(each.encode(), word) for each in wanted]
        if not any(fits):
            known = self.token is not None and hmac.compare_digest(self.token.encode(), word)
            if known and writes:
                raise RequestError(403, "This token may read, not write.")
            raise RequestError(401, "The token is not valid.")

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        name = _name(host)
        if name is None:
            raise RequestError(400, "Give one header Host: NAME or NAME:PORT.")
        if self.loopback and self.token is None and name not in LOOPBACK:
            raise RequestError(403, "The host name does not belong to this machine.")
        origin = headers.get(b"origin")
        if origin is not None and _origin_host(origin) != host:
            raise RequestError(403, "Other web pages may not call this server.")


def check_repeated(headers: Headers) -> None:
    """Raise RequestError if a header that must have one value is repeated."""
    names = [name for name, _ in headers if name in ONCE]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise RequestError(400, f"The header {twice.decode('latin-1')} is given more than once.")


@lru_cache(maxsize=64)
def _name(host: str) -> str | None:
    """Return the name in a Host header; None if it is not valid."""
    found = HOST.fullmatch(host)
    return None if found is None else (found[1] or found[2]).lower()


def _origin_host(origin: bytes) -> str:
    try:
        return urlsplit(origin.decode("latin-1")).netloc
    except ValueError:
        return ""
