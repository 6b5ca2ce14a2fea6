"""One thread at a time, for what takes several steps outside the compiled core."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary


class OwnedLock:
    """A lock that a thread cannot take twice: a signal handler must not learn amid learning.

    ``with turns.take(): ...`` enters and leaves a lock of the interpreter itself, so that no signal
    can come between the lock and the block that it guards.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def take(self) -> AbstractContextManager[Any]:
        """Return the lock; raise if this very thread has it."""
        if self._lock._is_owned():  # type: ignore[attr-defined]  # as threading.Condition asks
            raise RuntimeError(
                "The model is learning: a signal handler may predict with it, not change it."
            )
        return self._lock

    def __repr__(self) -> str:
        return "OwnedLock()"


_ALL: WeakKeyDictionary[object, OwnedLock] = WeakKeyDictionary()
_MAKING = threading.RLock()


def lock_of(owner: object) -> OwnedLock:
    """Return the turns of an object, which are no part of it: a copy has its own."""
    with _MAKING:
        return _ALL.setdefault(owner, OwnedLock())
