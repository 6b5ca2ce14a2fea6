"""One thread at a time, for what takes several steps outside the compiled core."""

from __future__ import annotations

import threading


class Turns:
    """A lock that a thread cannot take twice: a signal handler must not learn amid learning."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0

    @property
    def mine(self) -> bool:
        """Whether this very thread has its turn."""
        return self._owner == threading.get_ident()

    def __enter__(self) -> None:
        if self.mine:
            raise RuntimeError(
                "The model is learning: a signal handler may predict with it, not change it."
            )
        self._lock.acquire()
        self._owner = threading.get_ident()

    def __exit__(self, *error: object) -> None:
        self._owner = 0
        self._lock.release()

    def __repr__(self) -> str:
        return "Turns()"
