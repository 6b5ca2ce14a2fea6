"""A model as plain data: its class, its parameters and its fitted state.

``aggro.persistence.store`` converts between estimators and records.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import aggro
from aggro.persistence import container
from aggro.persistence.container import ModelFileError
from aggro.persistence.schema import check_type
from aggro.persistence.values import Arrays, decode, encode
from aggro.variants import ESTIMATORS, LINEAR

FORMAT = 1
CLASSIFIERS = tuple(name for name, kind in LINEAR.items() if not kind.regression)
REGRESSORS = tuple(name for name, kind in LINEAR.items() if kind.regression)
KERNELS = tuple(name for name, kind in ESTIMATORS.items() if kind.kernel)
TEXTS = ("TextClassifier", "TextRegressor")
DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError, IndexError)


@dataclasses.dataclass
class Record:
    """A model: the name of its class, its parameters, its fitted attributes.

    ``notes`` is JSON about the file rather than the model.
    """

    name: str
    params: dict[str, Any]
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def examples(self) -> int:
        """Number of examples learned; zero for an unfitted model."""
        return int(self.attributes["_learner"].examples) if "_learner" in self.attributes else 0


def write_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a model to a file, atomically."""
    container.write(path, *_content(record))


def bytes_of(record: Record) -> bytes:
    """Return the bytes of a model file."""
    return b"".join(container.pieces_of(*_content(record)))


def _content(record: Record) -> tuple[str, Arrays]:
    """Return the header and the arrays of a model file."""
    arrays: Arrays = {}
    header = {
        "format": FORMAT,
        "aggro": aggro.__version__,
        "class": record.name,
        "params": {name: encode(value, name, arrays) for name, value in record.params.items()},
        "attributes": {
            name: encode(value, name, arrays) for name, value in record.attributes.items()
        },
    }
    if record.notes:
        header["notes"] = record.notes
    for name, value in record.params.items():
        if not hasattr(value, "item"):  # convert NumPy's numbers to Python's
            check_type(name, value)
    return json.dumps(header), arrays


def read_record(path: str | os.PathLike[str]) -> Record:
    """Read a model from a file; raise ModelFileError if it is not a model file."""
    text, arrays = container.read(path)
    try:
        return parse_record(text, arrays)
    except DAMAGED as error:
        raise ModelFileError(f"{os.fspath(path)}: cannot be read: {error}") from error


def parse_record(text: str, arrays: Arrays) -> Record:
    """Return the model that the header and the arrays of a model file describe."""
    header = json.loads(text)
    if header["format"] != FORMAT:
        raise ModelFileError(
            f"it has format {header['format']!r}, but aggro {aggro.__version__} reads format "
            f"{FORMAT}; load it with aggro {header.get('aggro')!r}, which wrote it"
        )
    params = {name: decode(value, arrays) for name, value in header["params"].items()}
    for name, value in params.items():
        check_type(name, value)
    attributes = {name: decode(value, arrays) for name, value in header["attributes"].items()}
    return Record(str(header["class"]), params, attributes, dict(header.get("notes", {})))
