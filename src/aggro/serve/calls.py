"""The calls: types of requests and answers, the table of calls, and its OpenAPI description.

The types of requests depend on the adapter and on the limits, so they are made when the server
starts. Routing, security and the description use only the table ``CALLS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

import aggro
from aggro.serve.adapters import Adapter, Output
from aggro.serve.config import Limits
from aggro.serve.messages import Failure
from aggro.serve.oip import NAME, Infer

MOST_PARTS = 200  # of an explanation
WHOLE = 2**53  # largest whole number that a double represents exactly

Label = str | bool | int | float


class Answer(Struct, omit_defaults=True):
    """A prediction."""

    id: str
    prediction: Any
    version: int
    stored: bool = True  # false: too busy, so /label does not know the id
    scores: dict[str, float | None] | None = None
    probabilities: dict[str, float | None] | None = None


class Receipt(Struct, omit_defaults=True):
    """The result of an update: 200 learned, 404 unknown id, 409 another label, 422 rejected."""

    id: str
    status: int
    version: int
    duplicate: bool = False  # the id was learned before, and nothing was learned now
    error: str | None = None


class Part(Struct):
    """The contribution of one feature to a score."""

    feature: str
    value: Any
    contribution: float | None


class Explanation(Struct):
    """A score as a sum of the intercept and contributions of features."""

    id: str
    label: Any
    score: float | None
    intercept: float | None
    contributions: list[Part]
    version: int
    served: Any
    served_version: int | None


class Snapshot(Struct):
    """The version of a snapshot on disk."""

    snapshot: int


@dataclass(frozen=True)
class Shapes:
    """The types of requests for one model."""

    predict: Any
    learn: Any
    label: Any


def shapes(adapter: Adapter, limits: Limits) -> Shapes:
    """Return the types of the requests."""
    id = Annotated[str, Meta(min_length=1, max_length=limits.id)]
    name = Annotated[str, Meta(max_length=limits.name)]
    whole = Annotated[int, Meta(ge=-WHOLE, le=WHOLE)]
    label: Any = float if adapter.regression else name | bool | whole | float
    weight = Annotated[float, Meta(ge=0)]
    x = (adapter.field, adapter.input_type(limits))
    optional = ("id", id | None, None)
    made: dict[str, list[Any]] = {
        "predict": [x, optional],
        "learn": [x, ("label", label), optional, ("weight", weight, 1.0)],
        "label": [("id", id), ("label", label), ("weight", weight, 1.0)],
    }
    types = {}
    for verb, fields in made.items():
        one = msgspec.defstruct(f"{verb.title()}Request", fields, forbid_unknown_fields=True)
        many = Annotated[list[one], Meta(min_length=1, max_length=limits.batch)]  # type: ignore[valid-type]  # made above
        types[verb] = one | many
    return Shapes(**types)


def answer_of(id: str, output: Output, version: int, stored: bool) -> Answer:
    """Return the answer to a prediction."""
    return Answer(id, output.prediction, version, stored, output.scores, output.probabilities)  # type: ignore[arg-type]  # a float is a float or None


@dataclass(frozen=True)
class Call:
    """A row of the table of calls."""

    method: str
    path: str
    handler: str  # a method of the endpoints
    summary: str
    statuses: tuple[int, ...]
    answer: Any = None  # None: not JSON
    request: str | None = None  # a field of the shapes, or "infer"
    writes: bool = False
    open: bool = False  # needs no token
    content: str = "application/json"


READ = (200, 401, 403)
ASKED = (*READ, 400, 408, 413, 415, 422)
WRITTEN = (*ASKED, 409, 429, 503)
V2 = f"/v2/models/{NAME}"
CALLS = (
    Call("POST", "/predict", "predict", "Predict one example, or a list of them.",
         ASKED, Answer, "predict"),
    Call("POST", "/label", "label", "Send the label of a prediction; it is learned once.",
         (*WRITTEN, 404), Receipt, "label", writes=True),
    Call("POST", "/learn", "learn", "Learn an example, or a list of them; each id once.",
         WRITTEN, Receipt, "learn", writes=True),
    Call("GET", "/explain", "explain", "Return the contribution of each feature to a prediction.",
         (*READ, 404, 422, 429, 503), Explanation),
    Call("GET", "/model", "model", "Describe the model.", READ, dict),
    Call("GET", "/model/file", "file", "Download the model as a file.",
         (*READ, 503), content="application/octet-stream"),
    Call("POST", "/model/snapshot", "snapshot", "Write a snapshot now.",
         (*READ, 503), Snapshot, writes=True),
    Call("GET", "/metrics", "metrics", "Counters and latencies for Prometheus.",
         READ, content="text/plain"),
    Call("GET", "/health", "health", "Return 200 while the process runs.",
         (200, 403), dict, open=True),
    Call("GET", "/ready", "ready", "Return 200 while the server accepts requests.",
         (200, 403, 503), dict, open=True),
    Call("GET", "/openapi.json", "openapi", "Return this description.", READ, dict),
    Call("GET", "/events", "events", "Stream the data of the page (server-sent events).",
         (*READ, 429), content="text/event-stream"),
    Call("GET", "/v2", "v2_server", "Open Inference Protocol: describe the server.", READ, dict),
    Call("GET", "/v2/health/live", "health", "… whether the process runs.",
         (200, 403), dict, open=True),
    Call("GET", "/v2/health/ready", "ready", "… whether the server is ready.",
         (200, 403, 503), dict, open=True),
    Call("GET", V2, "v2_model", "… inputs and outputs of the model.", READ, dict),
    Call("GET", V2 + "/ready", "v2_ready", "… whether the model is ready.", READ, dict),
    Call("POST", V2 + "/infer", "v2_infer", "… predict, without storing anything.",
         ASKED, dict, "infer"),
)  # fmt: skip


# -- OpenAPI ------------------------------------------------------------------------------------

BATCHES = ("predict", "learn", "label")
ID = {"name": "id", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1}}


def describe(shapes: Shapes) -> dict[str, Any]:
    """Return the description of all calls."""
    requests = {call: _request(call, shapes) for call in CALLS if call.request}
    answers = {call: _answer(call) for call in CALLS}
    types = [*requests.values(), *answers.values(), Failure]
    found, parts = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema = dict(zip(map(repr, types), found, strict=True))
    paths: dict[str, Any] = {}
    for call in CALLS:
        request = schema[repr(requests[call])] if call in requests else None
        operation = _operation(call, request, schema[repr(answers[call])], schema[repr(Failure)])
        paths.setdefault(call.path, {})[call.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "aggro serve", "version": aggro.__version__},
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _request(call: Call, shapes: Shapes) -> Any:
    assert call.request is not None
    return Infer if call.request == "infer" else getattr(shapes, call.request)


def _answer(call: Call) -> Any:
    """Return the type of an answer; requests with a list get a list."""
    answer = str if call.answer is None else call.answer
    return answer | list.__class_getitem__(answer) if call.request in BATCHES else answer


def _operation(call: Call, request: Any, answer: Any, failure: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": call.summary,
        "operationId": f"{call.method.lower()}{call.path.replace('/', '_')}",
        "responses": {str(s): _response(call, s, answer, failure) for s in sorted(call.statuses)},
    }
    if call.path == "/explain":
        operation["parameters"] = [ID]
    if request is not None:
        content = {"application/json": {"schema": request}}
        operation["requestBody"] = {"required": True, "content": content}
    if not call.open:
        operation["security"] = [{"token": []}, {}]
    return operation


def _response(call: Call, status: int, answer: Any, failure: Any) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if status == 200:
        response["content"] = {call.content: {"schema": answer}}
    else:
        response["content"] = {"application/json": {"schema": failure}}
    if status in (429, 503):
        response["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return response
