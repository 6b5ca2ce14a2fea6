"""Every bound of the server, in one place: what a request may be, what is kept, who must wait."""

from __future__ import annotations

from dataclasses import dataclass

MAX_FEATURES = 1 << 18  # of a new model: whoever may teach may not fill the memory


@dataclass(frozen=True)
class Limits:
    """What a client may ask for."""

    body: int = 1 << 20  # bytes of a request
    head: int = 1 << 16  # bytes of a request's line and headers
    batch: int = 1000  # examples of a request
    features: int = 10_000  # features of an example
    name: int = 256  # characters of a feature's name or text value, and of a class
    text: int = 100_000  # characters of a text
    id: int = 128  # characters of an id
    classes: int = 1000  # classes that may ever appear
    waiting: int = 10_000  # entries that wait for the journal
    connections: int = 1000  # open connections
    watchers: int = 32  # pages that follow the events
    request_seconds: float = 10.0  # for a request to arrive, and for a client to read its answer
    idle_seconds: float = 30.0  # between two requests
    drain_seconds: float = 10.0  # for what is under way when the server is told to stop


@dataclass(frozen=True)
class Keeping:
    """What is kept on the disk, and for how long."""

    predictions: int = 100_000  # predictions that wait for their truth
    seconds: float = 7 * 86_400.0  # … and for how long
    ids: int = 1_000_000  # ids remembered after they were learned
    snapshot_examples: int = 10_000  # a snapshot after so many examples
    snapshot_seconds: float = 300.0  # … or after so long, if anything was learned
