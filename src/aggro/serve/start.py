"""From the words of the command line to a running server."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aggro
from aggro.serve.app import Application
from aggro.serve.faces import FACES, TextFace
from aggro.serve.limits import MAX_FEATURES, Keeping, Limits
from aggro.serve.security import LOOPBACK, Guard
from aggro.serve.server import BACKLOG, Server, listen
from aggro.serve.service import Service
from aggro.variants import find

log = logging.getLogger("aggro.serve")
SHORTEST_TOKEN = 16  # characters
TOKEN = re.compile("[!-~]*")


@dataclass(frozen=True)
class Plan:
    """All that a server needs to know."""

    model: str | None  # a file, or the name of a variant; none to continue in the folder
    data: Path
    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    write_token: str | None = None
    open: bool = False  # serve other machines without a token
    params: dict[str, Any] = field(default_factory=dict)  # of a new model
    limits: Limits = field(default_factory=Limits)
    keeping: Keeping = field(default_factory=Keeping)


def run(plan: Plan, ready: Callable[[str, Server], None]) -> None:
    """Serve until a signal says stop; ``ready`` is told the address, and the server."""
    guard = guard_of(plan)
    model, origin = first_model(plan.model, plan.params) if plan.model else (None, None)
    if plan.model is None and plan.params:
        name = next(iter(plan.params)).replace("_", "-")
        raise ValueError(f"--{name} is for a new model; give the model, or leave the option out.")
    place = listen(plan.host, plan.port)
    try:
        service = Service(plan.data, model, origin, plan.limits, plan.keeping)
        application = Application(service, guard, plan.limits)
        place.listen(BACKLOG)
        host, port = place.getsockname()[:2]
        name = f"[{host}]" if ":" in host else host
        server = Server(application, plan.limits)
        ready(f"http://{name}:{port}", server)
        server.run(sockets=[place])
    finally:
        place.close()


def guard_of(plan: Plan) -> Guard:
    """Return who may ask; other machines need a token, unless the plan says otherwise."""
    for name in ("token", "write_token"):
        token = getattr(plan, name)
        if token is not None:
            check_token(token, name)
    loopback = is_loopback(plan.host)
    if not loopback and plan.token is None and not plan.open:
        raise ValueError(
            f"--host {plan.host} lets other machines in: set the token AGGRO_TOKEN (or "
            "--token-file), or say --no-token."
        )
    return Guard(plan.token, plan.write_token, loopback)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def first_model(model: str, params: dict[str, Any]) -> tuple[Any, str]:
    """Return the model to begin with, and a text that tells it from others."""
    path = Path(model)
    if path.is_file():
        if params:
            name = next(iter(params)).replace("_", "-")
            raise ValueError(f"--{name} is for a new model; {model} has its settings already.")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return aggro.load(path), f"the file {path.name} ({digest[:16]})"
    if FACES.get(model) is TextFace and model in aggro.__all__:
        return getattr(aggro, model)(**params), f"{model} {json.dumps(params, sort_keys=True)}"
    try:
        variant = find(model)
    except ValueError as error:
        if os.sep in model or path.suffix:
            raise FileNotFoundError(2, "there is no such file", model) from error
        raise
    regression = variant.estimator.endswith("Regressor")
    kind = aggro.StreamRegressor if regression else aggro.StreamClassifier
    settings = {"max_features": MAX_FEATURES, **params}
    made = kind(variant.name, **settings)
    return made, f"{variant.name} {json.dumps(settings, sort_keys=True)}"


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
