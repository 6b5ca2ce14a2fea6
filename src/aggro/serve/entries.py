"""What the journal is given, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Prediction:
    """A prediction that may get its truth later."""

    id: str
    at: float
    features: bytes
    served: bytes
    new: bool = False  # the id was made here, so nobody has used it


@dataclass(slots=True)
class Truth:
    """The truth of a prediction that was kept."""

    id: str
    label: bytes
    weight: float


@dataclass(slots=True)
class Lesson:
    """Features and truth together."""

    id: str
    label: bytes
    weight: float
    features: bytes
    new: bool = False  # the id was made here, so nobody has used it


@dataclass(slots=True)
class Question:
    """A search for the features of a prediction, or of a lesson that still has them."""

    id: str


@dataclass(slots=True)
class Refusal:
    """A note that the model refused an example."""

    seq: int
    reason: str


@dataclass(slots=True)
class Saved:
    """A note that snapshots hold all examples up to ``seq``; the tallies belong to ``newest``."""

    seq: int
    newest: int
    tallies: str


@dataclass(slots=True)
class Row:
    """An example of the journal, as it is learned."""

    seq: int
    id: str
    label: bytes
    weight: float
    features: bytes
    served: bytes | None = None
    delay: float | None = None


@dataclass(slots=True)
class Again:
    """The id was learned before, with this truth; or it was refused, for this reason."""

    id: str
    seq: int
    refused: str | None


@dataclass(slots=True)
class Conflict:
    """The id was learned before, with another truth or other features."""

    id: str


@dataclass(slots=True)
class Unknown:
    """There is no such prediction, or it has expired."""

    id: str


@dataclass(slots=True)
class Found:
    """The features of a prediction, and what was served."""

    features: bytes
    served: bytes | None


Entry = Prediction | Truth | Lesson | Question | Refusal | Saved
Outcome = Row | Again | Conflict | Unknown | Found | None
