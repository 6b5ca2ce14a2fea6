"""Access control and response headers: tokens, hosts, origins."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from aggro.serve.messages import RequestError

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
