"""Errors as clients see them: a status, a short code, one sentence. Nothing of the inside."""

from __future__ import annotations

CODES = {
    400: "bad_request",
    401: "token_missing",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "not_json",
    422: "not_valid",
    429: "busy",
    431: "head_too_large",
    500: "internal",
    503: "unavailable",
}


class Refused(Exception):
    """A request that cannot be fulfilled, and why."""

    def __init__(
        self,
        status: int,
        message: str,
        retry_after: int | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.retry_after, self.allow = retry_after, allow


FAILED = "The server failed; its log says why."
BUSY = "Too many lessons wait for the disk; try again."
STOPPING = "The server is stopping; try again."
NO_DISK = "The journal cannot be written now; nothing was learned. Try again."
NO_FILE = (
    "The model file cannot be made: the memory or the disk is full. Free some, then try again."
)
NO_SNAPSHOT = (
    "The snapshot cannot be written: the disk or the memory is full. Free some; try again."
)
UNKNOWN = (
    "There is no prediction of this id that waits for its truth: it was never made, or it has "
    "expired. Send features and label to /learn."
)
CONFLICT = "This id was learned already, with another truth or other features."
