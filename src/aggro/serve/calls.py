"""The calls: types of requests and answers, the table of calls, and its OpenAPI description.

The types of requests depend on the adapter and on the limits, so they are made when the server
starts. Routing, security and the description use only the table ``CALLS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from math import prod
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

import aggro
from aggro.serve.adapters import Adapter, ArrayAdapter, Output, StreamAdapter, TextAdapter
from aggro.serve.config import Limits
from aggro.serve.messages import Failure, RequestError

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
    if adapter.takes_sets and not adapter.regression:
        label |= Annotated[list[label], Meta(max_length=limits.classes)]
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


# -- the Open Inference Protocol ----------------------------------------------------------------

# Version 2. Each feature of a dict model is an input of shape [n] or [n, 1]; arrays are one input
# ``features`` of shape [n, d]; texts are one input ``text`` of shape [n].
NAME = "aggro"  # of the model
INTEGERS = ("INT64", "INT32", "INT16", "INT8")
DATATYPES = {
    *("FP64", "FP32", "FP16", "BOOL", "BYTES"),
    *INTEGERS,
    *(f"U{name}" for name in INTEGERS),
}
INPUTS = {  # name, type and shape of the input
    StreamAdapter: ("(any feature)", "FP64", [-1]),
    ArrayAdapter: ("features", "FP64", [-1, -1]),
    TextAdapter: ("text", "BYTES", [-1]),
}


class Tensor(Struct):
    """An input: its data in one list, row after row."""

    name: str
    shape: list[int]
    datatype: str
    data: list[float | bool | str]


class Infer(Struct):
    """A request of the protocol; parameters and requested outputs are ignored."""

    inputs: list[Tensor]
    id: str | None = None


def server_metadata() -> dict[str, Any]:
    """Return the metadata of the server."""
    return {"name": NAME, "version": aggro.__version__, "extensions": []}


def model_metadata(adapter: Adapter, version: int) -> dict[str, Any]:
    """Return the metadata of the model."""
    name, datatype, shape = INPUTS[type(adapter)]
    kind = "FP64" if adapter.regression else "BYTES"
    return {
        "name": NAME,
        "versions": [str(version)],
        "platform": "aggro",
        "inputs": [{"name": name, "datatype": datatype, "shape": shape}],
        "outputs": [{"name": "prediction", "datatype": kind, "shape": [-1]}],
    }


def examples_of(asked: Infer, adapter: Adapter, limits: Limits) -> list[Any]:
    """Return the examples of a request, validated like those of /predict."""
    counts = {_rows(tensor, limits) for tensor in asked.inputs}
    if len(counts) != 1:
        raise RequestError(422, "Give one or more inputs of the same first dimension.")
    (count,) = counts
    first = asked.inputs[0].data
    rows: list[Any]
    if isinstance(adapter, ArrayAdapter):
        width = len(first) // count
        rows = [first[i * width : (i + 1) * width] for i in range(count)]
    elif any(len(tensor.data) != count for tensor in asked.inputs):
        raise RequestError(422, "An input has one value per row: give it the shape [n] or [n, 1].")
    elif isinstance(adapter, TextAdapter):
        rows = list(first)
    else:
        rows = [{tensor.name: tensor.data[i] for tensor in asked.inputs} for i in range(count)]
    try:
        return [msgspec.convert(row, adapter.input_type(limits)) for row in rows]
    except msgspec.ValidationError as error:
        raise RequestError(422, str(error)) from error


def _rows(tensor: Tensor, limits: Limits) -> int:
    if not tensor.shape or min(tensor.shape) < 1 or len(tensor.shape) > 2:
        raise RequestError(422, "A shape has one or two positive dimensions.")
    if prod(tensor.shape) != len(tensor.data):
        raise RequestError(422, "The data do not fill the shape.")
    if tensor.shape[0] > limits.batch:
        raise RequestError(422, f"A batch has at most {limits.batch:,} rows.")
    if tensor.datatype not in DATATYPES:
        raise RequestError(422, "The datatype is none of the protocol's.")
    return tensor.shape[0]


def inferred(asked: Infer, version: int, values: list[Any]) -> dict[str, Any]:
    """Return the answer of the protocol for these predictions."""
    numeric = all(isinstance(v, float) for v in values)
    data = values if numeric else [_as_text(v) for v in values]
    datatype = "FP64" if numeric else "BYTES"
    output = {"name": "prediction", "shape": [len(data)], "datatype": datatype, "data": data}
    given = {"id": asked.id} if asked.id else {}
    return {"model_name": NAME, "model_version": str(version), **given, "outputs": [output]}


def _as_text(value: Any) -> str:
    """Return a prediction as text; several labels as JSON."""
    if value is None:
        return ""
    return msgspec.json.encode(value).decode() if isinstance(value, list) else str(value)


# -- the table of calls ------------------------------------------------------------------------


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
