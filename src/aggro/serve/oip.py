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
from aggro.serve.adapters import Adapter, ArrayAdapter, StreamAdapter, TextAdapter
from aggro.serve.config import Limits
from aggro.serve.messages import RequestError

NAME = "aggro"  # of the model
WHOLE = ("INT64", "INT32", "INT16", "INT8")
DATATYPES = ("FP64", "FP32", "FP16", "BOOL", "BYTES", *WHOLE, *(f"U{name}" for name in WHOLE))
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


def server() -> dict[str, Any]:
    """Return the metadata of the server."""
    return {"name": NAME, "version": aggro.__version__, "extensions": []}


def metadata(adapter: Adapter, version: int) -> dict[str, Any]:
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


def examples(asked: Infer, adapter: Adapter, limits: Limits) -> list[Any]:
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


def answer(asked: Infer, version: int, values: list[Any]) -> dict[str, Any]:
    """Return the answer of the protocol for these predictions."""
    numeric = all(isinstance(v, float) for v in values)
    data = values if numeric else ["" if v is None else str(v) for v in values]
    datatype = "FP64" if numeric else "BYTES"
    output = {"name": "prediction", "shape": [len(data)], "datatype": datatype, "data": data}
    given = {"id": asked.id} if asked.id else {}
    return {"model_name": NAME, "model_version": str(version), **given, "outputs": [output]}
