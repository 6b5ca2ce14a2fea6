"""What all calls share: who may ask, the counters, and errors that tell nothing of the inside."""

from __future__ import annotations

import logging
import time

from aggro.serve.endpoints import Reply, refusal
from aggro.serve.errors import Refused
from aggro.serve.security import Guard
from aggro.serve.service import Service

log = logging.getLogger("aggro.serve")


class Shield:
    """Who may ask, and the counters."""

    def __init__(self, guard: Guard, service: Service) -> None:
        self.guard, self.pulse = guard, service.learning.pulse

    def count(self, path: str, status: int, begin: float) -> None:
        """Count an answer."""
        self.pulse.answered(path, status, time.perf_counter() - begin)


def failure(path: str, error: Exception) -> Reply:
    """Return the reply to a call that has failed; the log has what the client need not know."""
    if isinstance(error, Refused):
        return refusal(error)
    log.error("%s failed", path, exc_info=error)
    return refusal(Refused(500, "The server failed; its log says why."))
