"""HTTP in, verbs of the service, HTTP out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import msgspec

from aggro.persistence.record import bytes_of
from aggro.serve import calls, metrics, oip
from aggro.serve.errors import NO_FILE, Refused
from aggro.serve.events import Events
from aggro.serve.learning import REFUSALS
from aggro.serve.limits import Limits
from aggro.serve.messages import Reply, Request, encode, json, log
from aggro.serve.openapi import describe
from aggro.serve.saver import settle
from aggro.serve.service import Service, in_slices

NAME = "aggro"  # of the model, in the Open Inference Protocol


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

    # -- predictions and updates ----------------------------------------------------------------

    def predict(self, request: Request) -> Reply | Awaitable[Reply]:
        """Answer at once: no prediction waits for a disk."""
        asked = self._decode("predict", request)
        if isinstance(asked, list):
            return self._predict_many(asked)
        try:
            return json(self.service.predict_one(asked))
        except REFUSALS as error:
            raise Refused(422, str(error)) from error

    async def _predict_many(self, asked: list[Any]) -> Reply:
        try:
            return Reply(await self.service.predict(asked))
        except REFUSALS as error:
            raise Refused(422, str(error)) from error

    def learn(self, request: Request) -> Awaitable[Reply]:
        """Answer when it is on the disk and in the model."""
        return self._update(self.service.lesson, self._decode("learn", request))

    def label(self, request: Request) -> Awaitable[Reply]:
        """Answer when it is on the disk and in the model."""
        return self._update(self.service.truth, self._decode("label", request))

    def _update(self, entry_of: Callable[[Any], Any], asked: Any) -> Awaitable[Reply]:
        many = isinstance(asked, list)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        reply_of = json if many else receipt_of

        def done(found: Any) -> None:
            settle(answer, found if isinstance(found, Refused) else reply_of(found))

        entries = [entry_of(one) for one in (asked if many else [asked])]
        self.service.teach(entries, done)
        return answer

    def _decode(self, verb: str, request: Request) -> Any:
        """Return what is asked."""
        try:
            return self.decoders[verb].decode(request.body)
        except msgspec.ValidationError as error:
            raise Refused(422, str(error)) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"The body is not JSON in UTF-8: {_short(error)}") from error

    # -- the model ------------------------------------------------------------------------------

    async def explain(self, request: Request) -> Reply:
        """Explain the prediction of the id in the query."""
        query = parse_qs(request.query.decode("latin-1"), errors="replace")
        ids = query.get("id", [])
        if len(ids) != 1 or not 1 <= len(ids[0]) <= self.limits.id:
            raise Refused(422, "Give one id: /explain?id=ID.")
        return json(await self.service.explain(ids[0]))

    def model(self, request: Request) -> Reply:
        """What the model is."""
        return json(self.service.facts())

    async def file(self, request: Request) -> Reply:
        """The model of this moment; the file is made in another thread."""
        async with self._downloads:
            loop = asyncio.get_running_loop()
            try:
                frozen, version, _ = self.service.learning.freeze()
                body = await loop.run_in_executor(None, lambda: bytes_of(frozen()))
            except (OSError, MemoryError) as error:
                log.error("no model file was made: %r", error)
                raise Refused(503, NO_FILE, retry_after=1) from error
        name = f'attachment; filename="model-{version}.aggro"'.encode()
        headers = ((b"content-disposition", name), (b"x-aggro-version", str(version).encode()))
        return Reply(body, 200, b"application/octet-stream", headers)

    async def snapshot(self, request: Request) -> Reply:
        """Write a snapshot now."""
        return json(calls.Snapshot(await self.service.saver.save()))

    # -- the server -----------------------------------------------------------------------------

    def metrics(self, request: Request) -> Reply:
        """For Prometheus."""
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        return Reply(metrics.text_of(self._registry), 200, kind)

    def health(self, request: Request) -> Reply:
        """The process lives."""
        return json({"live": True})

    def ready(self, request: Request) -> Reply:
        """It takes requests, until it is told to stop."""
        if self.service.stopping:
            raise Refused(503, "The server is stopping.", retry_after=1)
        return json({"ready": True})

    def openapi(self, request: Request) -> Reply:
        """The description."""
        return Reply(self._description)

    def events(self, request: Request) -> Reply:
        """What the page shows, as it comes."""
        return Reply(b"", 200, b"text/event-stream", parts=self.events_.follow())

    # -- the Open Inference Protocol ------------------------------------------------------------

    def v2_server(self, request: Request) -> Reply:
        """The server."""
        return json(oip.server())

    def v2_model(self, request: Request) -> Reply:
        """The model."""
        _check_name(request)
        service = self.service
        return json(oip.metadata(NAME, service.learning.face, service.version))

    def v2_ready(self, request: Request) -> Reply:
        """Whether the model is ready."""
        _check_name(request)
        return json({"name": NAME, "ready": True})

    async def v2_infer(self, request: Request) -> Reply:
        """Predict; nothing is kept."""
        _check_name(request)
        asked = self._decode("infer", request)
        learning = self.service.learning
        rows = oip.examples(asked, learning.face, self.limits)
        try:
            values = [learning.face.guess(x) async for x in in_slices(rows)]
        except REFUSALS as error:
            raise Refused(422, str(error)) from error
        learning.pulse.counts["predictions"] += len(values)
        return json(oip.answer(asked, NAME, self.service.version, values))


def _check_name(request: Request) -> None:
    if request.parameter != NAME.encode():
        raise Refused(404, f"There is no such model; this one is called {NAME}.")


def receipt_of(receipts: list[calls.Receipt]) -> Reply | Refused:
    """Return the answer to one update; in a batch each has a status of its own."""
    (receipt,) = receipts
    if receipt.status != 200:
        return Refused(receipt.status, receipt.error or "")
    return json(receipt)


def _short(error: Exception) -> str:
    return "too deep" if isinstance(error, RecursionError) else str(error).partition("\n")[0]
