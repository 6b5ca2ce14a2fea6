"""The Open Inference Protocol, version 2: predictions that are not stored.

Each feature of a dict model is an input of shape [n] or [n, 1]; arrays are one input
``features`` of shape [n, d]; texts are one input ``text`` of shape [n].
"""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec
from msgspec import Struct

import aggro
from aggro.serve.adapters import Adapter, ArrayAdapter
from aggro.serve.config import Limits
from aggro.serve.messages import RequestError

WHOLE = ("INT64", "INT32", "INT16", "INT8")
DATATYPES = ("FP64", "FP32", "FP16", "BOOL", "BYTES", *WHOLE, *(f"U{name}" for name in WHOLE))


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


def server() -> dict[str, Any]:
    """Return the metadata of the server."""
    return {"name": "aggro", "version": aggro.__version__, "extensions": []}


def metadata(name: str, adapter: Adapter, version: int) -> dict[str, Any]:
    """Return the metadata of the model."""
    inputs = {
        "StreamAdapter": [{"name": "(any feature)", "datatype": "FP64", "shape": [-1]}],
        "ArrayAdapter": [{"name": "features", "datatype": "FP64", "shape": [-1, -1]}],
        "TextAdapter": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
    }[type(adapter).__name__]
    kind = "FP64" if adapter.regression else "BYTES"
    return {
        "name": name,
        "versions": [str(version)],
        "platform": "aggro",
        "inputs": inputs,
        "outputs": [{"name": "prediction", "datatype": kind, "shape": [-1]}],
    }


def examples(asked: Infer, adapter: Adapter, limits: Limits) -> list[Any]:
    """Return the examples of a request, validated like those of /predict."""
    if not asked.inputs:
        raise RequestError(422, "There are no inputs.")
    counts = {_rows(tensor, limits) for tensor in asked.inputs}
    if len(counts) != 1:
        raise RequestError(422, "The inputs differ in their first dimension.")
    (count,) = counts
    rows: list[Any]
    if adapter.field == "text":
        rows = list(asked.inputs[0].data)
    elif isinstance(adapter, ArrayAdapter):
        (tensor,) = asked.inputs[:1]
        width = len(tensor.data) // max(count, 1)
        rows = [tensor.data[i * width : (i + 1) * width] for i in range(count)]
    else:
        if any(len(tensor.data) != count for tensor in asked.inputs):
            raise RequestError(
                422, "A feature has one number per row: give it the shape [n] or [n, 1]."
            )
        rows = [{tensor.name: tensor.data[i] for tensor in asked.inputs} for i in range(count)]
    try:
        read: list[Any] = [msgspec.convert(row, adapter.input_type(limits)) for row in rows]
        return read
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


def answer(asked: Infer, name: str, version: int, values: list[Any]) -> dict[str, Any]:
    """Return the answer of the protocol for these predictions."""
    numeric = all(isinstance(v, float) for v in values)
    data = values if numeric else ["" if v is None else str(v) for v in values]
    output = {"name": "prediction", "shape": [len(data)], "data": data}
    output["datatype"] = "FP64" if numeric else "BYTES"
    given = {"id": asked.id} if asked.id else {}
    return {"model_name": name, "model_version": str(version), **given, "outputs": [output]}
