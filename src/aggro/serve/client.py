"""A client with safe retries: every update has an id, and an id is learned once."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from aggro.atomic import replacing

RETRIED = (429, 503)  # status codes
LONGEST_WAIT = 10.0

Features = Mapping[str, Any] | Sequence[float] | str


class ServerError(Exception):
    """The server rejected a call.

    >>> from aggro.serve import ServerError
    >>> print(ServerError(404, "unknown_id", "no prediction has this id"))
    404 unknown_id: no prediction has this id
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class Client:
    """Client of ``aggro serve`` that retries calls after network errors and status 429 or 503.

    Retries never learn an update twice: updates without an id get one before the first attempt.

    Parameters
    ----------
    url : str
        Address of the server, for example ``http://127.0.0.1:8080``.
    token : str, optional
        Token for all calls, or the one for writing; ``AGGRO_TOKEN`` if it is not given.
    timeout : float, default=10.0
        Seconds to wait for an answer.
    retries : int, default=5
        Maximum number of retries.
    transport : httpx.BaseTransport, optional
        Transport of the requests, for tests.

    Examples
    --------
    >>> import httpx
    >>> from aggro.serve import Client
    >>> served = httpx.MockTransport(lambda request: httpx.Response(200, json={"id": "1"}))
    >>> with Client("http://127.0.0.1:8080", transport=served) as server:
    ...     answer = server.predict({"money": 2.0})  # then server.label(answer["id"], "spam")
    >>> answer["id"]
    '1'
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        token = token or os.environ.get("AGGRO_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.retries = retries
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )

    # -- one example ----------------------------------------------------------------------------

    def predict(self, x: Features, id: str | None = None) -> dict[str, Any]:
        """Predict one example: a dict, a list of numbers or a text, depending on the model.

        The answer has ``prediction``, ``scores`` or ``probabilities``, ``version`` and the ``id``
        that ``label`` needs later.
        """
        return dict(self._post("/predict", {**_input(x), "id": id or _new_id()}))

    def label(self, id: str, label: Any, weight: float = 1.0) -> dict[str, Any]:
        """Send the label of a prediction; return when it is on disk and in the model."""
        return dict(self._post("/label", {"id": id, "label": label, "weight": weight}))

    def learn(
        self, x: Features, label: Any, weight: float = 1.0, id: str | None = None
    ) -> dict[str, Any]:
        """Learn one example; return when it is on disk and in the model."""
        body = {**_input(x), "label": label, "weight": weight, "id": id or _new_id()}
        return dict(self._post("/learn", body))

    # -- many -----------------------------------------------------------------------------------

    def predict_many(self, xs: Sequence[Features]) -> list[dict[str, Any]]:
        """Predict many examples in one request."""
        return list(self._post("/predict", [{**_input(x), "id": _new_id()} for x in xs]))

    def learn_many(self, xs: Sequence[Features], labels: Sequence[Any]) -> list[dict[str, Any]]:
        """Learn many examples in one request; each receipt has its own ``status``."""
        pairs = zip(xs, labels, strict=True)
        return list(
            self._post("/learn", [{**_input(x), "label": y, "id": _new_id()} for x, y in pairs])
        )

    def label_many(self, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Send the labels of many predictions, by id."""
        return list(self._post("/label", [{"id": id, "label": y} for id, y in labels.items()]))

    # -- the model ------------------------------------------------------------------------------

    def model(self) -> dict[str, Any]:
        """Return the description of the model."""
        return dict(self._call("GET", "/model").json())

    def explain(self, id: str) -> dict[str, Any]:
        """Return the contribution of each feature to a prediction."""
        return dict(self._call("GET", "/explain", params={"id": id}).json())

    def snapshot(self) -> int:
        """Write a snapshot on the server; return its version."""
        return int(self._call("POST", "/model/snapshot").json()["snapshot"])

    def download(self, path: str | Path) -> None:
        """Save the model to a file that ``aggro.load`` reads."""
        content = self._call("GET", "/model/file").content
        with replacing(path) as file:
            file.write(content)

    def ready(self) -> bool:
        """Return whether the server accepts requests; does not retry."""
        try:
            return self._http.get("/ready").status_code == 200
        except httpx.TransportError:
            return False

    # -- calls ----------------------------------------------------------------------------------

    def _post(self, path: str, body: Any) -> Any:
        return self._call("POST", path, json=body).json()

    def _call(self, method: str, path: str, **parts: Any) -> httpx.Response:
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            wait = min(0.1 * 2**attempt, LONGEST_WAIT)
            try:
                answer = self._http.request(method, path, **parts)
            except httpx.TransportError:
                if last:
                    raise
            else:
                if answer.status_code not in RETRIED or last:
                    return _checked(answer)
                wait = min(float(answer.headers.get("retry-after", wait)), LONGEST_WAIT)
            time.sleep(wait)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _input(x: Features) -> dict[str, Any]:
    if isinstance(x, str):
        return {"text": x}
    return {"features": dict(x) if isinstance(x, Mapping) else [float(v) for v in x]}


def _new_id() -> str:
    return uuid.uuid4().hex


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    try:
        problem = answer.json()["error"]
        code, message = problem["code"], problem["message"]
    except (ValueError, KeyError, TypeError):
        code, message = "unknown", answer.text[:200]
    raise ServerError(answer.status_code, code, message)
