"""Records that the journal is given, and their outcomes.

Thousands of them exist for some milliseconds, and none is part of a cycle: ``gc=False`` excludes
them from garbage collection.
"""

from __future__ import annotations

import os
import time
from typing import Any

from msgspec import Struct


class Prediction(Struct, gc=False):
    """A prediction whose label may follow."""

    id: str
    at: float
    features: bytes
    served: bytes
    new: bool = False  # the id was made by the server, so it is unused


class DelayedLabel(Struct, gc=False):
    """The label of a stored prediction."""

    id: str
    label: bytes
    weight: float


class Example(Struct, gc=False):
    """Features and their label."""

    id: str
    label: bytes
    weight: float
    features: bytes
    new: bool = False  # the id was made by the server, so it is unused
    x: Any = None  # the decoded features, which saves decoding them again


class Lookup(Struct, gc=False):
    """A search for the features of a prediction or of an update."""

    id: str


class Rejection(Struct, gc=False):
    """The model rejected an example."""

    seq: int
    reason: str


class SnapshotWritten(Struct, gc=False):
    """All kept snapshots contain the examples up to ``seq``.

    The rejections in the newest one are repeated here, in case one was not written.
    """

    seq: int
    rejected: list[Rejection]


class Row(Struct, gc=False):
    """An example in the journal, in the order of learning."""

    seq: int
    id: str
    label: bytes
    weight: float
    features: bytes
    served: bytes | None = None
    checksum: int = 0  # of this row and all previous ones
    rejected: str | None = None  # why the model rejected it, in a replay
    delay: float | None = None
    x: Any = None  # the decoded features, if they came with the label


class Duplicate(Struct, gc=False):
    """The id was learned before with this label, or rejected for this reason."""

    id: str
    seq: int
    rejected: str | None


class Conflict(Struct, gc=False):
    """The id was learned before with another label or other features."""

    id: str


class Unknown(Struct, gc=False):
    """There is no such prediction, or it has expired."""

    id: str


class Found(Struct, gc=False):
    """The features of a prediction, and the answer that was served."""

    features: bytes
    served: bytes | None


Entry = Prediction | DelayedLabel | Example | Lookup | Rejection | SnapshotWritten
Outcome = Row | Duplicate | Conflict | Unknown | Found | None


RANDOM = 10  # random bytes of an id
IDS_AT_ONCE = 200  # for one call of the operating system


class Ids:
    """Makes ids that cannot be guessed.

    They start with the time, so that the index of the journal grows at its end.
    """

    def __init__(self) -> None:
        self._ready: list[str] = []

    def new(self) -> str:
        """Return a new id."""
        if not self._ready:
            digits, length = os.urandom(RANDOM * IDS_AT_ONCE).hex(), 2 * RANDOM
            self._ready = [digits[k : k + length] for k in range(0, len(digits), length)]
        return f"{int(time.time() * 1000):011x}{self._ready.pop()}"
