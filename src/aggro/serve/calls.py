"""The calls: what may be asked and what is answered, typed by msgspec.

The shapes of requests depend on the model's face (dicts, lists or texts) and on the limits, so
they are made when the server starts. The table ``CALLS`` is all that routing, security and the
OpenAPI description need to know of a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from aggro.serve.faces import Face, Said
from aggro.serve.limits import Limits

SHOWN = 200  # parts of an explanation
WHOLE = 2**53  # whole numbers up to this are the same in every language

Label = str | bool | int | float


class Answer(Struct, omit_defaults=True):
    """A prediction."""

    id: str
    prediction: Any
    version: int
    kept: bool = True  # false: too busy to keep it, so /label will not know it
    scores: dict[str, float | None] | None = None
    probabilities: dict[str, float | None] | None = None


class Receipt(Struct, omit_defaults=True):
    """What became of a lesson: 200 learned, 404 unknown id, 409 another truth, 422 refused."""

    id: str
    status: int
    version: int
    again: bool = False  # the id was known already: nothing was learned twice
    error: str | None = None


class Part(Struct):
    """What one feature adds to a score."""

    feature: str
    value: Any
    contribution: float | None


class Explanation(Struct):
    """A score as a sum: the intercept, and what each feature adds."""

    id: str
    label: Any
    score: float | None
    intercept: float | None
    contributions: list[Part]
    version: int
    served: Any
    served_version: int | None


class Snapshot(Struct):
    """A snapshot that is on the disk."""

    snapshot: int


class Problem(Struct):
    """What is wrong with a request."""

    code: str
    message: str


class Failure(Struct):
    """The body of every error."""

    error: Problem


@dataclass(frozen=True)
class Shapes:
    """What a request may be, for one model."""

    predict: Any
    learn: Any
    label: Any


def shapes(face: Face, limits: Limits) -> Shapes:
    """Return the types of the requests."""
    id = Annotated[str, Meta(min_length=1, max_length=limits.id)]
    name = Annotated[str, Meta(max_length=limits.name)]
    whole = Annotated[int, Meta(ge=-WHOLE, le=WHOLE)]
    label: Any = float if face.regression else name | bool | whole | float
    weight = Annotated[float, Meta(ge=0)]
    x = (face.field, face.input_type(limits))
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


def answer_of(id: str, said: Said, version: int, kept: bool) -> Answer:
    """Return what is answered to a prediction."""
    return Answer(id, said.prediction, version, kept, said.scores, said.probabilities)  # type: ignore[arg-type]  # a float is a float or None


@dataclass(frozen=True)
class Call:
    """A row of the table."""

    method: str
    path: str
    handler: str  # a method of the endpoints
    what: str
    statuses: tuple[int, ...]
    answer: Any = None  # None: not JSON
    request: str | None = None  # a field of the shapes, or "infer"
    writes: bool = False
    open: bool = False  # needs no token
    content: str = "application/json"


READ = (200, 401, 403)
ASKED = (*READ, 400, 408, 413, 415, 422)
WRITTEN = (*ASKED, 409, 429, 503)
V2 = "/v2/models/{model}"
CALLS = (
    Call("POST", "/predict", "predict", "Predict one example, or a list of them.",
         ASKED, Answer, "predict"),
    Call("POST", "/label", "label", "Tell the truth of a prediction; it is learned once.",
         (*WRITTEN, 404), Receipt, "label", writes=True),
    Call("POST", "/learn", "learn", "Learn an example, or a list of them; each id once.",
         WRITTEN, Receipt, "learn", writes=True),
    Call("GET", "/explain", "explain", "Say what each feature adds to the score of a prediction.",
         (*READ, 404, 422, 429, 503), Explanation),
    Call("GET", "/model", "model", "What the model is and what it has learned.", READ, dict),
    Call("GET", "/model/file", "file", "The model as a file, consistent and complete.",
         (*READ, 503), content="application/octet-stream"),
    Call("POST", "/model/snapshot", "snapshot", "Write a snapshot now.",
         (*READ, 503), Snapshot, writes=True),
    Call("GET", "/metrics", "metrics", "Counters and latencies for Prometheus.",
         READ, content="text/plain"),
    Call("GET", "/health", "health", "Whether the process lives.", (200, 403), dict, open=True),
    Call("GET", "/ready", "ready", "Whether it takes requests.", (200, 403, 503), dict, open=True),
    Call("GET", "/openapi.json", "openapi", "This description.", READ, dict),
    Call("GET", "/events", "events", "What the page shows, each second (server-sent events).",
         (*READ, 429), content="text/event-stream"),
    Call("GET", "/v2", "v2_server", "Open Inference Protocol: the server.", READ, dict),
    Call("GET", "/v2/health/live", "health", "… whether it lives.", (200, 403), dict, open=True),
    Call("GET", "/v2/health/ready", "ready", "… whether it is ready.",
         (200, 403, 503), dict, open=True),
    Call("GET", V2, "v2_model", "… what the model reads and answers.", (*READ, 404), dict),
    Call("GET", V2 + "/ready", "v2_ready", "… whether the model is ready.", (*READ, 404), dict),
    Call("POST", V2 + "/infer", "v2_infer", "… predict; nothing is kept.",
         (*ASKED, 404), dict, "infer"),
)  # fmt: skip
