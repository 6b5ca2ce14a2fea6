"""What the journal is given, and what becomes of it.

Thousands of these live for some milliseconds, and none is part of a cycle: ``gc=False`` keeps them
out of the garbage collector's rounds.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Prediction(Struct, gc=False):
    """A prediction that may get its truth later."""

    id: str
    at: float
    features: bytes
    served: bytes
    new: bool = False  # the id was made here, so nobody has used it


class Truth(Struct, gc=False):
    """The truth of a prediction that was kept."""

    id: str
    label: bytes
    weight: float


class Lesson(Struct, gc=False):
    """Features and truth together."""

    id: str
    label: bytes
    weight: float
    features: bytes
    new: bool = False  # the id was made here, so nobody has used it
    x: Any = None  # the features as they were read, which saves reading them again


class Question(Struct, gc=False):
    """A search for the features of a prediction, or of a lesson that still has them."""

    id: str


class Refusal(Struct, gc=False):
    """A note that the model refused an example."""

    seq: int
    reason: str


class Saved(Struct, gc=False):
    """A note that all kept snapshots hold the examples up to ``seq``.

    It repeats the rejections that the newest one holds, in case one was not written.
    """

    seq: int
    rejected: list[Refusal]


class Row(Struct, gc=False):
    """An example of the journal, as it is learned."""

    seq: int
    id: str
    label: bytes
    weight: float
    features: bytes
    served: bytes | None = None
    checksum: int = 0  # of this row and all before it
    refused: str | None = None  # why the model rejected it, in a replay
    delay: float | None = None
    x: Any = None  # the features as they were read, if they came with the lesson


class Again(Struct, gc=False):
    """The id was learned before, with this truth; or it was refused, for this reason."""

    id: str
    seq: int
    refused: str | None


class Conflict(Struct, gc=False):
    """The id was learned before, with another truth or other features."""

    id: str


class Unknown(Struct, gc=False):
    """There is no such prediction, or it has expired."""

    id: str


class Found(Struct, gc=False):
    """The features of a prediction, and what was served."""

    features: bytes
    served: bytes | None


Entry = Prediction | Truth | Lesson | Question | Refusal | Saved
Outcome = Row | Again | Conflict | Unknown | Found | None
