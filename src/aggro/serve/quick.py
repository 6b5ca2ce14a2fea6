"""The quick lane: one prediction, one lesson, one truth, answered by the connection itself.

The other calls go through ASGI, which costs a task, some messages and a router for each request:
more time than a prediction or a lesson takes. Who may ask and what is answered is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from aggro.serve.calls import CALLS, Call
from aggro.serve.endpoints import Endpoints, Reply, check_kind, json, receipt_of
from aggro.serve.errors import Refused
from aggro.serve.learning import REFUSALS
from aggro.serve.service import Tell
from aggro.serve.shield import Shield, failure

Send = Callable[[Reply], None]


class QuickLane:
    """Answers a request that has arrived in one piece, at once or when the disk has it."""

    def __init__(self, endpoints: Endpoints, shield: Shield) -> None:
        self.endpoints, self.service, self.shield = endpoints, endpoints.service, shield
        verbs = {"predict": self._predict, "learn": self._learn, "label": self._label}
        self.calls: dict[bytes, tuple[Call, Callable[[Any, Tell], Reply | None]]] = {
            call.path.encode(): (call, verbs[call.handler])
            for call in CALLS
            if call.handler in verbs
        }

    def answer(self, path: bytes, headers: dict[bytes, bytes], body: bytes, send: Send) -> None:
        """Answer one request; ``send`` is called once, now or later."""
        call, verb = self.calls[path]
        begin = time.perf_counter()
        try:
            self.shield.guard.check(headers, call.writes, call.open)
            check_kind(headers)
            told = partial(self._told, call.path, begin, send)
            reply = verb(self.endpoints.decode(call.handler, body), told)
        except Exception as error:
            reply = failure(call.path, error)
        if reply is not None:
            self._finish(call.path, begin, send, reply)

    def _finish(self, path: str, begin: float, send: Send, reply: Reply) -> None:
        send(reply)
        self.shield.count(path, reply.status, begin)

    def _told(self, path: str, begin: float, send: Send, found: Any) -> None:
        """The disk has a lesson, or not: send its receipt, or what went wrong."""
        try:
            if isinstance(found, Refused):
                raise found
            reply = receipt_of(found)
        except Exception as error:
            reply = failure(path, error)
        self._finish(path, begin, send, reply)

    def _predict(self, asked: Any, told: Tell) -> Reply:
        try:
            return json(self.service.predict_one(asked))
        except REFUSALS as error:
            raise Refused(422, str(error)) from error

    def _learn(self, asked: Any, told: Tell) -> None:
        self.service.teach([self.service.lesson(asked)], told)

    def _label(self, asked: Any, told: Tell) -> None:
        self.service.teach([self.service.truth(asked)], told)
