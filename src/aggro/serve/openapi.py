"""The OpenAPI description, made from the table of calls."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

import aggro
from aggro.serve.calls import CALLS, Call, Failure, Shapes
from aggro.serve.oip import Infer

BATCHES = ("predict", "learn", "label")
ID = {"name": "id", "in": "query", "required": True, "schema": {"type": "string", "minLength": 1}}
MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}


def describe(shapes: Shapes) -> dict[str, Any]:
    """Return the description of all calls."""
    asked = {call: _request(call, shapes) for call in CALLS if call.request}
    told = {call: _answer(call) for call in CALLS}
    types = [*asked.values(), *told.values(), Failure]
    found, parts = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema = dict(zip(map(repr, types), found, strict=True))
    paths: dict[str, Any] = {}
    for call in CALLS:
        request = schema[repr(asked[call])] if call in asked else None
        operation = _operation(call, request, schema[repr(told[call])], schema[repr(Failure)])
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
    """Who asks with a list is answered with a list."""
    answer = str if call.answer is None else call.answer
    return answer | list.__class_getitem__(answer) if call.request in BATCHES else answer


def _operation(call: Call, request: Any, answer: Any, failure: Any) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": call.what,
        "operationId": f"{call.method.lower()}{call.path.replace('/', '_')}",
        "responses": {str(s): _response(call, s, answer, failure) for s in sorted(call.statuses)},
    }
    parameters = [MODEL] if "{model}" in call.path else [ID] if call.path == "/explain" else []
    if parameters:
        operation["parameters"] = parameters
    if request is not None:
        content = {"application/json": {"schema": request}}
        operation["requestBody"] = {"required": True, "content": content}
    if not call.open:
        operation["security"] = [{"token": []}, {}]
    return operation


def _response(call: Call, status: int, answer: Any, failure: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if status == 200:
        told["content"] = {call.content: {"schema": answer}}
    else:
        told["content"] = {"application/json": {"schema": failure}}
    if status in (429, 503):
        told["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return told
