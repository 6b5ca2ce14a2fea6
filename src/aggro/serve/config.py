"""Configuration of a server: limits, retention, tokens; the standard library is enough."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_FEATURES = 1 << 18  # of a new model, so that clients cannot fill the memory
SHORTEST_TOKEN = 16  # characters
TOKEN = re.compile("[!-~]*")


@dataclass(frozen=True)
class Limits:
    """Limits of requests and resources."""

    body: int = 1 << 20  # bytes of a request
    head: int = 1 << 16  # bytes of a request's line and headers
    batch: int = 1000  # examples in a request
    features: int = 10_000  # features of an example
    name: int = 256  # characters of a feature's name or text value, and of a class
    text: int = 100_000  # characters of a text
    id: int = 128  # characters of an id
    classes: int = 1000  # classes of a model
    waiting: int = 10_000  # records that wait for the journal
    connections: int = 1000  # open connections
    watchers: int = 32  # pages that follow the events
    request_seconds: float = 10.0  # for a request to arrive, and for a client to read its answer
    idle_seconds: float = 30.0  # between two requests
    drain_seconds: float = 10.0  # to complete current requests on shutdown


@dataclass(frozen=True)
class Retention:
    """What is stored on disk, and for how long."""

    predictions: int = 100_000  # predictions without a label
    seconds: float = 7 * 86_400.0  # … and for how long
    ids: int = 1_000_000  # ids of learned updates
    snapshot_examples: int = 10_000  # updates between two snapshots
    snapshot_seconds: float = 300.0  # longest time between an update and a snapshot


@dataclass(frozen=True)
class Plan:
    """All settings of a server."""

    model: str | None  # a file or the name of a variant; None to continue with the folder's model
    data: Path
    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    write_token: str | None = None
    open: bool = False  # whether other machines need no token
    params: dict[str, Any] = field(default_factory=dict)  # of a new model
    limits: Limits = field(default_factory=Limits)
    retention: Retention = field(default_factory=Retention)


def check_token(token: str, source: str) -> None:
    """Raise ValueError unless a token is long enough and can be sent in a header."""
    if len(token) < SHORTEST_TOKEN or not TOKEN.fullmatch(token):
        raise ValueError(
            f"The token in {source} is not usable: give {SHORTEST_TOKEN} or more ASCII letters, "
            "digits or punctuation marks, without spaces."
        )


def token_from(variable: str, path: str | None) -> str | None:
    """Return a token from a file, or from the environment; never from the command line."""
    text = Path(path).read_text(encoding="utf-8") if path else os.environ.get(variable, "")
    if not text and path is None:
        return None
    token = text.strip()
    check_token(token, path or variable)
    return token
