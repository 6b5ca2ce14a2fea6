"""HTTP in, verbs of the service, HTTP out."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec

from aggro.models.record import Record, write_record
from aggro.serve import calls, metrics, oip
from aggro.serve.errors import CODES, Refused
from aggro.serve.events import Events
from aggro.serve.learning import REFUSALS
from aggro.serve.limits import Limits
from aggro.serve.openapi import describe
from aggro.serve.saver import settle
from aggro.serve.service import Service

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

NAME = "aggro"  # of the model, in the Open Inference Protocol
encode = msgspec.json.Encoder().encode
JSON = b"application/json"


class Reply(msgspec.Struct):
    """What is sent."""

    body: bytes
    status: int = 200
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def json(value: Any, status: int = 200) -> Reply:
    """Return a reply in JSON."""
    return Reply(encode(value), status)


def refusal(error: Refused) -> Reply:
    """Return the reply to a request that cannot be fulfilled."""
    problem = calls.Problem(CODES[error.status], error.message)
    after = error.retry_after
    headers = () if after is None else ((b"retry-after", str(after).encode()),)
    if error.status == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    return Reply(encode(calls.Failure(problem)), error.status, JSON, headers)


class Endpoints:
    """A method for each row of the table of calls."""

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self.events_ = Events(service, limits.watchers)
        types = calls.shapes(service.learning.face, limits)
        self.decoders = {
            **{verb: msgspec.json.Decoder(kind) for verb, kind in vars(types).items()},
            "infer": msgspec.json.Decoder(oip.Infer),
        }
        self._description = encode(describe(types))
        self._downloads = asyncio.Semaphore(2)
        self._registry = metrics.registry_of(service)

    # -- predictions and lessons ----------------------------------------------------------------

    async def predict(self, scope: Scope, receive: Receive) -> Reply:
        """Answer at once: no prediction waits for a disk."""
        asked = await self._read("predict", scope, receive)
        many = isinstance(asked, list)
        try:
            return json(
                await self.service.predict(asked) if many else self.service.predict_one(asked)
            )
        except REFUSALS as error:
            raise Refused(422, str(error)) from error

    async def learn(self, scope: Scope, receive: Receive) -> Reply:
        """Answer when it is on the disk and in the model."""
        return await self._taught(self.service.lesson, await self._read("learn", scope, receive))

    async def label(self, scope: Scope, receive: Receive) -> Reply:
        """Answer when it is on the disk and in the model."""
        return await self._taught(self.service.truth, await self._read("label", scope, receive))

    async def _taught(self, entry_of: Callable[[Any], Any], asked: Any) -> Reply:
        many = isinstance(asked, list)
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        entries = [entry_of(one) for one in (asked if many else [asked])]
        self.service.teach(entries, lambda found: settle(told, found))
        receipts = await told
        return json(receipts) if many else receipt_of(receipts)

    async def _read(self, verb: str, scope: Scope, receive: Receive) -> Any:
        return self.decode(verb, await read_body(scope, receive, self.limits.body))

    def decode(self, verb: str, body: bytes) -> Any:
        """Return what is asked."""
        try:
            return self.decoders[verb].decode(body)
        except msgspec.ValidationError as error:
            raise Refused(422, str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"The body is not JSON in UTF-8: {_short(error)}") from error

    # -- the model ------------------------------------------------------------------------------

    async def explain(self, scope: Scope, receive: Receive) -> Reply:
        """Explain the prediction of the id in the query."""
        query = parse_qs(scope["query_string"].decode("latin-1"), errors="replace")
        ids = query.get("id", [])
        if len(ids) != 1 or not 1 <= len(ids[0]) <= self.limits.id:
            raise Refused(422, "Give one id: /explain?id=ID.")
        return json(await self.service.explain(ids[0]))

    async def model(self, scope: Scope, receive: Receive) -> Reply:
        """What the model is."""
        return json(self.service.facts())

    async def file(self, scope: Scope, receive: Receive) -> Reply:
        """The model of this moment; the file is made in another thread."""
        async with self._downloads:
            frozen, version, _ = self.service.learning.freeze()
            loop, folder = asyncio.get_running_loop(), self.service.folder
            body = await loop.run_in_executor(None, file_of, frozen, folder)
        name = f'attachment; filename="model-{version}.aggro"'.encode()
        headers = ((b"content-disposition", name), (b"x-aggro-version", str(version).encode()))
        return Reply(body, 200, b"application/octet-stream", headers)

    async def snapshot(self, scope: Scope, receive: Receive) -> Reply:
        """Write a snapshot now."""
        return json(calls.Snapshot(await self.service.saver.save()))

    # -- the server -----------------------------------------------------------------------------

    async def metrics(self, scope: Scope, receive: Receive) -> Reply:
        """For Prometheus."""
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        return Reply(metrics.text_of(self._registry), 200, kind)

    async def health(self, scope: Scope, receive: Receive) -> Reply:
        """The process lives."""
        return json({"live": True})

    async def ready(self, scope: Scope, receive: Receive) -> Reply:
        """It takes requests, until it is told to stop."""
        if self.service.stopping:
            raise Refused(503, "The server is stopping.", retry_after=1)
        return json({"ready": True})

    async def openapi(self, scope: Scope, receive: Receive) -> Reply:
        """The description."""
        return Reply(self._description)

    async def events(self, scope: Scope, receive: Receive) -> Any:
        """What the page shows; the shield sends it as it comes."""
        return self.events_.follow()

    # -- the Open Inference Protocol ------------------------------------------------------------

    async def v2_server(self, scope: Scope, receive: Receive) -> Reply:
        """The server."""
        return json(oip.server())

    async def v2_model(self, scope: Scope, receive: Receive) -> Reply:
        """The model."""
        _check_name(scope)
        service = self.service
        return json(oip.metadata(NAME, service.learning.face, service.version))

    async def v2_ready(self, scope: Scope, receive: Receive) -> Reply:
        """Whether the model is ready."""
        _check_name(scope)
        return json({"name": NAME, "ready": True})

    async def v2_infer(self, scope: Scope, receive: Receive) -> Reply:
        """Predict; nothing is kept."""
        _check_name(scope)
        asked = await self._read("infer", scope, receive)
        learning = self.service.learning
        rows = oip.examples(asked, learning.face, self.limits)
        try:
            said = [learning.predict(x) for x in rows]
        except REFUSALS as error:
            raise Refused(422, str(error)) from error
        learning.pulse.counts["predictions"] += len(said)
        return json(oip.answer(asked, NAME, self.service.version, said))


def _check_name(scope: Scope) -> None:
    if scope["path_params"].get("model") != NAME:
        raise Refused(404, f"There is no such model; this one is called {NAME}.")


def receipt_of(receipts: list[calls.Receipt]) -> Reply:
    """Return the answer to one lesson; in a batch each has a status of its own."""
    (receipt,) = receipts
    if receipt.status != 200:
        raise Refused(receipt.status, receipt.error or "")
    return json(receipt)


def check_kind(headers: Mapping[bytes, bytes]) -> None:
    """Refuse what is not said to be JSON: web pages may send other kinds without asking."""
    kind = headers.get(b"content-type", b"")
    if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
        raise Refused(415, "Send JSON, with the header Content-Type: application/json.")


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the body of a request; refuse one that is too large before it is read."""
    headers = dict(scope["headers"])
    check_kind(headers)
    too_large = Refused(413, f"A request has at most {most:,} bytes.")
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        raise too_large
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(408, "The request did not arrive.")
        body += message.get("body", b"")
        if len(body) > most:
            raise too_large
        if not message.get("more_body"):
            return bytes(body)


def file_of(frozen: Callable[[], Record], folder: Path) -> bytes:
    """Return a model file as bytes."""
    path = folder / f".model-{secrets.token_hex(6)}.tmp"  # a start removes what a crash leaves
    try:
        write_record(frozen(), path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def _short(error: Exception) -> str:
    return "too deep" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
